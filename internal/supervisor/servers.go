package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"rcsupervisor/channel"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
)

// servers is what profiles share: what is known of each server, and the places
// to dial from. The lock guards the models, which ask nobody anything
// themselves; questions are asked, and profiles released, without it.
type servers struct {
	jitter  healthcheck.Jitter
	env     channel.Env
	release func(names []string)
	budgets *budgets
	agents  *agents

	mu     sync.Mutex
	known  map[string]*healthcheck.Server
	ways   map[string]channel.Start // by profile: how it reaches its server, while it waits for it
	freed  []string                 // to be released
	dials  *healthcheck.Dials
	turns  map[string]chan struct{} // by profile: closed when it may dial
	checks map[string]*rate.Limiter // by server

	poke chan struct{} // capacity 1: something may be due sooner
}

func newServers(env channel.Env, j healthcheck.Jitter, a *agents, release func([]string)) *servers {
	return &servers{
		jitter: j, env: env, release: release, budgets: newBudgets(), agents: a, poke: make(chan struct{}, 1),
		known: make(map[string]*healthcheck.Server), ways: make(map[string]channel.Start),
		dials: healthcheck.NewDials(), turns: make(map[string]chan struct{}), checks: make(map[string]*rate.Limiter),
	}
}

// with calls f on the model of one server.
func (s *servers) with(server string, f func(*healthcheck.Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known[server]
	if m == nil {
		m = healthcheck.NewServer()
		s.known[server] = m
	}
	f(m)
	s.wake()
}

// wake makes run look again at what is due. Call it with the lock or without.
func (s *servers) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

func (s *servers) down(server string) (down bool) {
	s.with(server, func(m *healthcheck.Server) { down = m.Down() })
	return down
}

func (s *servers) unreachable(server, name string, way channel.Start) {
	s.with(server, func(m *healthcheck.Server) {
		s.ways[name] = way
		m.Unreachable(name, time.Now(), s.jitter)
	})
}

func (s *servers) refused(server, name string, way channel.Start) (common bool, limit time.Duration, others []string) {
	s.with(server, func(m *healthcheck.Server) {
		s.ways[name] = way
		common, limit, others = m.Refused(name, time.Now(), s.jitter)
	})
	return common, limit, others
}

// connected says that a profile is online: its server is there, and takes
// tokens.
func (s *servers) connected(server, name string) {
	s.with(server, func(m *healthcheck.Server) { s.freed = append(s.freed, m.Online(name, time.Now())...) })
	s.dialed(name)
}

// leave says that a profile waits for nothing any more.
func (s *servers) leave(name string) {
	s.mu.Lock()
	for _, m := range s.known {
		m.Leave(name, time.Now())
	}
	delete(s.ways, name)
	s.mu.Unlock()
	s.dialed(name)
}

// dialed gives a place to dial from back.
func (s *servers) dialed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials.Done(name)
	delete(s.turns, name)
	s.wake()
}

// mayDial returns when a profile may begin its attempt. Its place is given
// back by dialed, when the attempt has come to something.
func (s *servers) mayDial(ctx context.Context, server, name string) error {
	s.mu.Lock()
	turn := s.turns[name]
	if turn == nil {
		turn = make(chan struct{})
		s.turns[name] = turn
		s.dials.Ask(server, name)
	}
	s.wake()
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		s.dialed(name)
		return context.Cause(ctx)
	}
}

// allow draws on the host's budgets for a profile, and returns when it may go
// on.
func (s *servers) allow(ctx context.Context, server, name string, p channel.Permit) error {
	switch p.Kind {
	case channel.PermitDial:
		return s.mayDial(ctx, server, name)
	case channel.PermitCheck:
		return s.mayCheck(ctx, server)
	case channel.PermitREST:
		return s.budgets.allow(ctx, server, p.Route, name)
	case channel.PermitLimited:
		s.budgets.limited(server, p.Route, p.For)
	case channel.PermitAgent:
		return s.agents.allow(ctx, name)
	case channel.PermitAgentOver:
		s.agents.over(name)
	}
	return nil
}

// checksAMinute bounds how often a server is asked whether its bots' tokens are
// good, all profiles together. Confirming a refusal is not among it.
const checksAMinute = 5

// mayCheck returns when a profile may ask whether its token is good.
func (s *servers) mayCheck(ctx context.Context, server string) error {
	s.mu.Lock()
	l := s.checks[server]
	if l == nil {
		l = rate.NewLimiter(rate.Every(time.Minute/checksAMinute), checksAMinute)
		s.checks[server] = l
	}
	s.mu.Unlock()
	return l.Wait(ctx)
}

// run asks what is due, and releases who waited for the answer, until ctx ends.
func (s *servers) run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	defer s.budgets.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.poke:
		case <-timer.C:
		}
		next, questions := s.take(time.Now())
		for server, q := range questions {
			asking.Go(func() { s.ask(ctx, server, q) })
		}
		s.releaseFreed()
		if next >= 0 {
			timer.Reset(next)
		}
	}
}

// take collects what is due now, lets those dial whose turn has come, and says
// how long it is to the next, -1 for no clock.
func (s *servers) take(now time.Time) (next time.Duration, due map[string]healthcheck.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = -1
	sooner := func(d time.Duration) {
		if next < 0 || d < next {
			next = d
		}
	}
	due = make(map[string]healthcheck.Question)
	for server, m := range s.known {
		if q, ok, released := m.Take(now); ok {
			due[server] = q
		} else {
			s.freed = append(s.freed, released...)
		}
		if d, ok := m.Due(now); ok {
			sooner(d)
		}
	}
	for {
		name, wait, ok := s.dials.Take(now)
		if !ok {
			if wait > 0 {
				sooner(wait)
			}
			return next, due
		}
		close(s.turns[name])
	}
}

func (s *servers) releaseFreed() {
	s.mu.Lock()
	names := s.freed
	s.freed = nil
	s.mu.Unlock()
	if len(names) > 0 {
		s.release(names)
	}
}

// ask puts one question to a server, over the way of the profile named.
func (s *servers) ask(ctx context.Context, server string, q healthcheck.Question) {
	s.mu.Lock()
	way := s.ways[q.Name]
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, healthcheck.ProbeLimit)
	defer cancel()
	yes := false
	if client, err := s.client(way); err == nil {
		defer client.Close()
		if q.Kind == healthcheck.Token {
			_, err = client.Me(ctx)
		} else {
			_, err = client.Info(ctx)
		}
		yes = err == nil || q.Kind == healthcheck.Reach && !errors.Is(err, rest.ErrUnavailable)
	}
	s.with(server, func(m *healthcheck.Server) {
		s.freed = append(s.freed, m.Answer(q, yes, time.Now(), s.jitter)...)
	})
}

// token asks whether a server takes a profile's token.
func (s *servers) token(ctx context.Context, way channel.Start) healthcheck.Answer {
	ctx, cancel := context.WithTimeout(ctx, healthcheck.ProbeLimit)
	defer cancel()
	client, err := s.client(way)
	if err != nil {
		return healthcheck.Unsure
	}
	defer client.Close()
	_, err = client.Me(ctx)
	switch {
	case err == nil:
		return healthcheck.Taken
	case errors.Is(err, rest.ErrRefused):
		return healthcheck.Denied
	}
	return healthcheck.Unsure
}

func (s *servers) client(way channel.Start) (*rest.Client, error) {
	return rest.New(rest.Config{
		Server: way.Credentials.Server, UserID: way.Credentials.UserID, Token: way.Credentials.Token,
		Network: &dial.Network{CAFile: way.CA, Proxy: way.Settings.Proxy, DialContext: s.env.Dial},
	})
}

// dump writes what is known of servers, for people who debug.
func (s *servers) dump(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range slices.Sorted(maps.Keys(s.known)) {
		m := s.known[server]
		fmt.Fprintf(w, "server %s down=%v doubted=%v waiting=%d\n", server, m.Down(), m.Doubted(), m.Waiting())
	}
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	known  map[path]*healthcheck.Server
	ways   map[string]channel.Start // by profile: how it reaches its server, while it waits for it
	paths  map[string]path          // by profile: the way of its last attempt
	freed  []string                 // to be released
	dials  *healthcheck.Dials
	turns  map[string]*turn         // by profile: while it waits to dial, and dials
	away   map[string]bool          // by profile: turned away, and not yet told
	checks map[string]*rate.Limiter // by server

	poke chan struct{} // capacity 1: something may be due sooner
}

func newServers(env channel.Env, j healthcheck.Jitter, a *agents, release func([]string)) *servers {
	return &servers{
		jitter: j, env: env, release: release, budgets: newBudgets(), agents: a, poke: make(chan struct{}, 1),
		known: make(map[path]*healthcheck.Server), ways: make(map[string]channel.Start), paths: make(map[string]path),
		dials: healthcheck.NewDials(), turns: make(map[string]*turn), away: make(map[string]bool), checks: make(map[string]*rate.Limiter),
	}
}

// wake makes run look again at what is due. Call it with the lock or without.
func (s *servers) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// down reports whether nobody dials by a profile's way.
func (s *servers) down(way channel.Start) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known[pathOf(way)]
	return m != nil && m.Down()
}

// unreachable says that a profile's way led nowhere. It waits from now on, and
// whoever wants to take the same way waits with it.
func (s *servers) unreachable(name string, way channel.Start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, p := time.Now(), pathOf(way)
	s.ways[name] = way
	s.belief(p.server).Leave(name, now)
	s.model(p).Unreachable(name, now, s.jitter)
	s.turnAllAway(p)
	s.wake()
}

func (s *servers) refused(name string, way channel.Start) (common bool, limit time.Duration, others []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ways[name] = way
	s.wake()
	return s.belief(way.Credentials.Server).Refused(name, time.Now(), s.jitter)
}

// connected says that a profile is online: its server is there, and takes
// tokens.
func (s *servers) connected(name string, way channel.Start) {
	s.mu.Lock()
	now := time.Now()
	s.freed = append(s.freed, s.model(pathOf(way)).Connected(name, now)...)
	s.freed = append(s.freed, s.belief(way.Credentials.Server).Taken(name, now)...)
	s.mu.Unlock()
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

// forget says that a profile is no more.
func (s *servers) forget(name string) {
	s.leave(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paths, name)
	delete(s.away, name)
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
		for p, q := range questions {
			asking.Go(func() { s.ask(ctx, p, q) })
		}
		s.releaseFreed()
		if next >= 0 {
			timer.Reset(next)
		}
	}
}

// take collects what is due now, lets those dial whose turn has come, and says
// how long it is to the next, -1 for no clock.
func (s *servers) take(now time.Time) (next time.Duration, due map[path]healthcheck.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = -1
	sooner := func(d time.Duration) {
		if next < 0 || d < next {
			next = d
		}
	}
	due = make(map[path]healthcheck.Question)
	for p, m := range s.known {
		if q, ok, released := m.Take(now); ok {
			due[p] = q
		} else {
			s.freed = append(s.freed, released...)
		}
		if d, ok := m.Due(now); ok {
			sooner(d)
		} else if m.Idle(now) {
			delete(s.known, p)
		}
	}
	if d := s.giveTurns(now); d > 0 {
		sooner(d)
	}
	return next, due
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
func (s *servers) ask(ctx context.Context, p path, q healthcheck.Question) {
	s.mu.Lock()
	way := s.ways[q.Name]
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, healthcheck.ProbeLimit)
	defer cancel()
	yes := false
	if q.Kind == healthcheck.Token {
		yes = s.token(ctx, way) == healthcheck.Taken
	} else {
		yes = s.there(ctx, way)
	}
	s.mu.Lock()
	s.freed = append(s.freed, s.model(p).Answer(q, yes, time.Now(), s.jitter)...)
	s.mu.Unlock()
	s.wake()
}

// probeConnect bounds a probe's connecting. Where packets go nowhere the kernel
// tries again less and less often, and a server that is back need not wait for
// that.
const probeConnect = 4 * time.Second

// there asks, once, whether a server is there: any answer of its own will do.
func (s *servers) there(ctx context.Context, way channel.Start) bool {
	c := rest.Config{Once: true, Network: &dial.Network{DialContext: s.knock}}
	client, err := s.client(way, c)
	if err != nil {
		return false
	}
	defer client.Close()
	_, err = client.Info(ctx)
	return err == nil || !errors.Is(err, rest.ErrUnavailable)
}

// knock makes a probe's connection.
func (s *servers) knock(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, probeConnect)
	defer cancel()
	if s.env.Dial != nil {
		return s.env.Dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// token asks whether a server takes a profile's token.
func (s *servers) token(ctx context.Context, way channel.Start) healthcheck.Answer {
	ctx, cancel := context.WithTimeout(ctx, healthcheck.ProbeLimit)
	defer cancel()
	client, err := s.client(way, rest.Config{Network: &dial.Network{DialContext: s.env.Dial}})
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

// client is one that goes a profile's way, by its name.
func (s *servers) client(way channel.Start, c rest.Config) (*rest.Client, error) {
	c.Server, c.UserID, c.Token = way.Credentials.Server, way.Credentials.UserID, way.Credentials.Token
	c.Network.CAFile, c.Network.Proxy = way.CA, way.Settings.Proxy
	return rest.New(c)
}

// dump writes what is known of servers, for people who debug.
func (s *servers) dump(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, 0, len(s.known))
	for p, m := range s.known {
		by := ""
		if p != (path{server: p.server}) {
			by = " by a way of its own"
		}
		lines = append(lines, fmt.Sprintf("server %s%s down=%v doubted=%v waiting=%d", p.server, by, m.Down(), m.Doubted(), m.Waiting()))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

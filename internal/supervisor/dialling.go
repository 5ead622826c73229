package supervisor

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// A path is a way to a server. Through another proxy, or with other roots, the
// same server may be out of reach for one profile and there for the rest.
type path struct {
	server string
	proxy  string
	roots  [sha256.Size]byte
}

func pathOf(way channel.Start) path {
	p := path{server: way.Credentials.Server, proxy: way.Settings.Proxy}
	if len(way.CA) > 0 {
		p.roots = sha256.Sum256(way.CA)
	}
	return p
}

// A turn is a profile's wish to dial.
type turn struct {
	path  path
	ready chan struct{} // closed when it may, or is turned away
	told  bool          // ready is closed
	away  bool          // its server can't be reached: no dial is made
}

// errAway is what a channel is told instead of dialling.
var errAway = errors.New("its server can't be reached")

// heads says which way a profile's next attempt goes.
func (s *servers) heads(name string, way channel.Start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[name] = pathOf(way)
	delete(s.away, name)
}

// mayDial returns when a profile may begin its attempt. Its place is given back
// by dialed, when the attempt has come to something. Nobody dials while the
// server is known to be away: errAway, see turnedAway.
func (s *servers) mayDial(ctx context.Context, server, name string) error {
	s.mu.Lock()
	t := s.turns[name]
	if t == nil {
		t = &turn{path: s.paths[name], ready: make(chan struct{})}
		s.turns[name] = t
		if m := s.known[t.path]; m != nil && m.Down() {
			s.turnAway(name, t)
		} else {
			s.dials.Ask(server, name)
		}
	}
	s.wake()
	s.mu.Unlock()
	select {
	case <-t.ready:
		if t.away {
			return errAway
		}
		return nil
	case <-ctx.Done():
		s.dialed(name)
		return context.Cause(ctx)
	}
}

// turnAway has a profile wait for its server instead. Call it with the lock.
func (s *servers) turnAway(name string, t *turn) {
	s.dials.Done(name)
	s.away[name] = true
	t.away, t.told = true, true
	close(t.ready)
}

// turnAllAway does so with all who want to take a path. Call it with the lock.
func (s *servers) turnAllAway(p path) {
	for name, t := range s.turns {
		if t.path == p && !t.told {
			s.turnAway(name, t)
		}
	}
}

// turnedAway reports, once, whether a profile's attempt ended without a dial
// because its server was away.
func (s *servers) turnedAway(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	away := s.away[name]
	delete(s.away, name)
	return away
}

// dialed gives a place to dial from back.
func (s *servers) dialed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials.Done(name)
	delete(s.turns, name)
	s.wake()
}

// giveTurns lets those dial whose turn has come, and returns how long it is to
// the next, 0 when no clock says. Call it with the lock.
func (s *servers) giveTurns(now time.Time) time.Duration {
	for {
		name, wait, ok := s.dials.Take(now)
		if !ok {
			s.dials.Forget(now)
			return wait
		}
		t := s.turns[name]
		t.told = true
		close(t.ready)
	}
}

// model is what is known of one path. Call it with the lock.
func (s *servers) model(p path) *healthcheck.Server {
	m := s.known[p]
	if m == nil {
		m = healthcheck.NewServer()
		s.known[p] = m
	}
	return m
}

// belief is what is known of whether a server takes tokens, by whatever way it
// is asked. Call it with the lock.
func (s *servers) belief(server string) *healthcheck.Server { return s.model(path{server: server}) }

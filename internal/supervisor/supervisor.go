package supervisor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// Config is what a supervisor runs with.
type Config struct {
	Homes   []Home
	Env     channel.Env   // the world of the channels; the zero Env is the real one
	Drain   time.Duration // how long running turns may take at the end
	People  People        // what strangers' requests and codes come to; nil refuses them
	Observe func(Event)   // called for everything that happens; never blocks, any goroutine
	Log     *slog.Logger
	Jitter  healthcheck.Jitter // nil: none
}

// A Home is one profile to run. Load reads it from the start and again
// whenever something may have changed; its error is a [*Unready].
type Home struct {
	Name string
	Load func(context.Context) (channel.Start, error)
}

// An Unready is why a home can't run as it is.
type Unready struct {
	Reason healthcheck.Reason // unsealed, bad-config, duplicate, …
	Err    error
}

func (u *Unready) Error() string { return u.Err.Error() }
func (u *Unready) Unwrap() error { return u.Err }

// People is where a channel's requests about people are written down.
type People interface {
	Ask(ctx context.Context, profile string, r channel.Request) (channel.Reply, error)
}

// An Event is something that happened to a profile: a new state, a report of
// its channel, or a line of its log.
type Event struct {
	Time    time.Time
	Profile string
	History healthcheck.History // as it is now
	Report  *channel.Report     // the latest, nil before the first
	Record  *channel.Record     // a line of the log, nil if it is none
	Changed bool                // the state or its reason is another than before
}

// A Supervisor runs profiles. Make it with [New].
type Supervisor struct {
	config  Config
	servers *servers
	keepers map[string]*keeper
	group   sync.WaitGroup
}

// New returns a Supervisor that runs nothing yet.
func New(c Config) *Supervisor {
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Supervisor{config: c, keepers: make(map[string]*keeper)}
	s.servers = newServers(c.Env, c.Jitter, s.release)
	for _, h := range c.Homes {
		s.keepers[h.Name] = newKeeper(s, h)
	}
	return s
}

// Run runs all profiles until ctx ends, and then lets what runs come to its end
// within the drain time.
func (s *Supervisor) Run(ctx context.Context) error {
	shared, stop := context.WithCancel(context.Background())
	s.group.Go(func() { s.servers.run(shared) })
	var keepers sync.WaitGroup
	for _, k := range s.keepers {
		keepers.Go(func() { k.run(ctx) })
	}
	keepers.Wait()
	stop()
	s.group.Wait()
	return nil
}

// Changed says that a profile's files may be others than before.
func (s *Supervisor) Changed(name string) {
	if k := s.keepers[name]; k != nil {
		k.tell(k.changed)
	}
}

// release tells the profiles that waited for a server.
func (s *Supervisor) release(names []string) {
	for _, name := range names {
		if k := s.keepers[name]; k != nil {
			k.tell(func() { k.decide(k.history.Released(time.Now())) })
		}
	}
}

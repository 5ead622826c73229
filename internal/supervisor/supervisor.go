package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// A Supervisor runs profiles. Make it with [New] and run it with
// [Supervisor.Run]; every other method may be called from any goroutine while
// that runs.
type Supervisor struct {
	config   Config
	registry *registry
	ledger   *profile.Ledger // the registry's goroutine's, once that runs
	servers  *servers
	watcher  watcher
	watch    watchman
	feed     feed
	kin      kin
	polled   atomic.Bool // files are watched by polling

	agentsOfOurs atomic.Int32 // profiles whose agent runs as our own user

	seals chan struct{} // places to open envelopes at the same time
	group sync.WaitGroup
	work  context.Context // ends when nothing of the supervisor shall go on; set by Run
	began time.Time

	mu      sync.Mutex
	keepers map[string]*keeper
	stage   stage
	around  Surroundings
	reload  ReloadResult
	first   chan struct{} // closed when all homes were looked at once

	sync chan chan struct{} // what is sent is closed once all updates before it are with the keepers
}

// A watcher tells of homes that come, go and change: a [profile.Watcher], or a
// test's.
type watcher interface {
	Run(context.Context) error
	Updates() <-chan profile.Update
	Look(context.Context) (snap *profile.Snapshot, told <-chan struct{}, err error)
}

// A stage of a supervisor's life.
type stage int

const (
	running  stage = iota
	draining       // nothing is begun any more
)

// Surroundings are what was found of homes that is no profile.
type Surroundings struct {
	Unnamed  []profile.Unnamed
	Problems []string
	Polling  string // why homes are only polled, "" when they are watched
}

// New returns a Supervisor that runs nothing yet. It reads the ledger.
func New(c Config) (*Supervisor, error) {
	c.setDefaults()
	r, ledger, err := newRegistry(c.State)
	if err != nil {
		return nil, err
	}
	s := &Supervisor{
		config: c, registry: r, ledger: ledger, keepers: make(map[string]*keeper),
		seals: make(chan struct{}, sealsAtOnce()), began: time.Now(), first: make(chan struct{}),
		sync: make(chan chan struct{}),
	}
	s.servers = newServers(c.Env, c.Jitter, newAgents(c.Host.Agents.Max, c.Host.Agents.Starting), s.release)
	held := make(map[string]string)
	for _, name := range r.names() {
		e, _ := r.entry(name)
		held[name] = e.Path
	}
	s.watcher = profile.NewWatcher(profile.Options{Sources: c.Sources, Host: c.homes(), Held: held}, c.Log)
	return s, nil
}

// Run runs all profiles until ctx ends, and then lets what runs come to its end
// within the drain time. A second reason to end, which hurry brings, cuts that
// short; it may be nil.
func (s *Supervisor) Run(ctx context.Context, hurry <-chan struct{}) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.work = work
	var shared, saving sync.WaitGroup
	saved, stopSaving := context.WithCancel(work)
	defer stopSaving()
	saving.Go(func() { s.registry.run(saved, s.ledger) })
	shared.Go(func() { s.servers.run(work) })
	shared.Go(func() { s.watch.run(work) })
	shared.Go(func() { s.shareSiblings(work) })
	shared.Go(func() { s.spareAgents(work) })
	watched, unwatch := context.WithCancel(work)
	shared.Go(func() { _ = s.watcher.Run(watched) })
	s.follow(ctx)
	unwatch()
	s.drain(hurry)
	s.config.Carrier.Close()
	stop()
	shared.Wait()
	s.group.Wait()
	stopSaving()
	saving.Wait()
	return nil
}

// follow brings what happens to homes to their keepers, until ctx ends.
func (s *Supervisor) follow(ctx context.Context) {
	keys := time.NewTicker(profile.RescanEvery)
	defer keys.Stop()
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case u, ok := <-s.watcher.Updates():
			if !ok {
				return
			}
			s.update(u, first)
			if first {
				first = false
				close(s.first)
			}
		case reached := <-s.sync:
			close(reached)
		case <-keys.C:
			if s.config.Keys.Missing() && s.config.Keys.Refresh() {
				s.each(func(k *keeper) { k.tell(k.woken) })
			}
			s.lookForHermes()
		}
	}
}

// update takes one update of the watcher in.
func (s *Supervisor) update(u profile.Update, first bool) {
	s.mu.Lock()
	s.around = Surroundings{Unnamed: u.Unnamed, Polling: u.Polling}
	for _, err := range u.Problems {
		s.around.Problems = append(s.around.Problems, err.Error())
	}
	s.mu.Unlock()
	if first {
		// Before any of them begins: of two with one bot the one goes on that
		// had it.
		for _, c := range u.Changes {
			if e, ok := s.registry.entry(c.Name); ok && healthcheck.Runs(true, e.Wanted, e.Suspended) {
				s.registry.reserve(c.Name)
			}
		}
	}
	polling := u.Polling != ""
	if s.polled.Swap(polling) != polling {
		s.each(func(k *keeper) { k.tell(func() { k.observe(false) }) })
	}
	for _, c := range u.Changes {
		s.happened(c)
	}
	s.noteReload(u)
	s.feed.publish("")
}

// happened tells the keeper of one home what happened to it.
func (s *Supervisor) happened(c profile.HomeChange) {
	switch k := s.keeper(c.Name); {
	case c.Kind == profile.Gone && k != nil:
		k.tell(k.homeGone)
	case c.Kind == profile.Gone:
	case c.Kind == profile.Renamed:
		s.renamed(c)
	case k == nil:
		s.begin(c.Now)
	case !k.tell(func() { k.changed(c.Now, c.Moved) }):
		s.begin(c.Now) // it has just ended
	}
}

// renamed goes on with a home under its new name, once what ran under the old
// one is over.
func (s *Supervisor) renamed(c profile.HomeChange) {
	adopted := s.registry.rename(c.From, c.Name, c.Now.Home)
	s.config.Log.Info("a home was renamed", "from", c.From, "to", c.Name, "adopted", adopted)
	old := s.keeper(c.From)
	if old == nil {
		s.group.Go(func() { s.begin(s.adoptRenamed(c.Now, c.From)) })
		return
	}
	old.tell(func() {
		old.then = func() {
			r := c.Now
			if adopted {
				r = s.adoptRenamed(r, c.From)
			}
			s.begin(r)
		}
		old.homeGone()
	})
}

// begin makes a keeper for a home and sets it to work.
func (s *Supervisor) begin(r profile.Reading) {
	s.mu.Lock()
	if s.stage != running || s.keepers[r.Name] != nil {
		k := s.keepers[r.Name]
		s.mu.Unlock()
		if k != nil {
			k.tell(func() { k.changed(r, true) })
		}
		return
	}
	defer s.mu.Unlock()
	k := newKeeper(s, r)
	k.open()
	s.keepers[r.Name] = k
}

// left takes a keeper that has ended off the list.
func (s *Supervisor) left(k *keeper) {
	s.mu.Lock()
	if s.keepers[k.name] == k {
		delete(s.keepers, k.name)
	}
	s.mu.Unlock()
	k.ring.end()
	s.feed.publish(k.name)
}

// keeper returns the keeper of a profile, nil for none.
func (s *Supervisor) keeper(name string) *keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepers[name]
}

// each calls f for every keeper.
func (s *Supervisor) each(f func(*keeper)) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.keepers))
	s.mu.Unlock()
	for _, k := range all {
		f(k)
	}
}

// release tells the profiles that waited for a server.
func (s *Supervisor) release(names []string) {
	for _, name := range names {
		if k := s.keeper(name); k != nil {
			k.tell(func() { k.decide(k.history.Released(time.Now())) })
		}
	}
}

// Ready is closed when all homes have been looked at once.
func (s *Supervisor) Ready() <-chan struct{} { return s.first }

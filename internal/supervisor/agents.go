package supervisor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel"
)

// agents shares out the places for agents' processes: so many at a time on the
// whole host, and so many of them starting, which is when they cost most. Its
// methods may be called from any goroutine.
type agents struct {
	max      int
	starting int

	mu    sync.Mutex
	live  map[string]int       // processes, by profile
	total int                  // of live
	new   map[string]time.Time // profiles whose agent starts, and since when
	turns turns
	short chan struct{} // capacity 1: somebody waits for a place
}

// startingAgents is how many may start at a time; startingLast is when one
// counts as started though it said nothing.
const (
	startingAgents = 2
	startingLast   = time.Minute
)

func newAgents(most, starting int) *agents {
	if most <= 0 {
		most = max(1, int(totalMemory()>>30))
	}
	if starting <= 0 {
		starting = startingAgents
	}
	return &agents{max: most, starting: starting, live: make(map[string]int), new: make(map[string]time.Time), short: make(chan struct{}, 1)}
}

// totalMemory is the host's, in bytes; 1 GiB where it can't be told.
func totalMemory() uint64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		if f := strings.Fields(string(data)); len(f) > 1 && f[0] == "MemTotal:" {
			if kib, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 1 << 30
}

// allow returns when a profile may start one more process.
func (a *agents) allow(ctx context.Context, name string) error {
	a.mu.Lock()
	w := a.turns.join(name)
	a.serve(time.Now())
	a.mu.Unlock()
	for {
		// One that never says that it has started must not keep others waiting.
		again := time.NewTimer(startingLast)
		select {
		case <-w.ready:
			again.Stop()
			return nil
		case <-again.C:
			a.mu.Lock()
			a.serve(time.Now())
			a.mu.Unlock()
		case <-ctx.Done():
			again.Stop()
			a.mu.Lock()
			defer a.mu.Unlock()
			if !a.turns.leave(w) {
				a.drop(name)
				a.serve(time.Now())
			}
			return context.Cause(ctx)
		}
	}
}

// serve lets those go for whom there is a place. Called with the lock.
func (a *agents) serve(now time.Time) {
	for name, since := range a.new {
		if now.Sub(since) >= startingLast {
			delete(a.new, name)
		}
	}
	for !a.turns.empty() && a.total < a.max && len(a.new) < a.starting {
		w := a.turns.next()
		a.live[w.name]++
		a.total++
		a.new[w.name] = now
	}
	if a.isShort() {
		select {
		case a.short <- struct{}{}:
		default:
		}
	}
}

// isShort reports whether somebody waits because all places are taken. Called
// with the lock.
func (a *agents) isShort() bool { return !a.turns.empty() && a.total >= a.max }

// holders are the profiles that have a place, while somebody waits for one.
func (a *agents) holders() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isShort() {
		return nil
	}
	have := make(map[string]bool, len(a.live))
	for name := range a.live {
		have[name] = true
	}
	return have
}

// drop gives one place of a profile back. Called with the lock.
func (a *agents) drop(name string) {
	if a.live[name] == 0 {
		return
	}
	a.total--
	if a.live[name]--; a.live[name] == 0 {
		delete(a.live, name)
		delete(a.new, name)
	}
}

// over gives one place of a profile back.
func (a *agents) over(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(name)
	a.serve(time.Now())
}

// started says that a profile's agent does not start any more.
func (a *agents) started(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.new[name]; ok {
		delete(a.new, name)
		a.serve(time.Now())
	}
}

// forget gives all places of a profile back, whose run is over.
func (a *agents) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total -= a.live[name]
	delete(a.live, name)
	delete(a.new, name)
	a.serve(time.Now())
}

// restEvery is how long one that was asked to give its place up may take before
// the next is asked.
const restEvery = time.Second

// spareAgents has the agent that was quiet for longest end its process whenever
// somebody waits for a place, until ctx ends. One that is at work keeps it, and
// the next is asked.
func (s *Supervisor) spareAgents(ctx context.Context) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	asked := make(map[string]bool)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.servers.agents.short:
		case <-tick.C:
		}
		have := s.servers.agents.holders()
		if have == nil {
			clear(asked)
			continue
		}
		if k := s.quietest(have, asked); k != nil {
			asked[k.name] = true
			k.tell(k.rest)
		} else {
			clear(asked) // all were: from the start again
		}
	}
}

// quietest is the keeper among those that have an agent that did nothing for
// longest and was not asked yet.
func (s *Supervisor) quietest(have, asked map[string]bool) *keeper {
	views := slices.DeleteFunc(s.views(Everybody), func(v *view) bool { return !have[v.name] || asked[v.name] })
	if len(views) == 0 {
		return nil
	}
	return s.keeper(slices.MinFunc(views, func(a, b *view) int { return cmp.Compare(a.busy.UnixNano(), b.busy.UnixNano()) }).name)
}

// rest has the run's agent end its process if it answers nothing.
func (k *keeper) rest() {
	if k.live != nil {
		k.live.Command(channel.Rest{})
	}
}

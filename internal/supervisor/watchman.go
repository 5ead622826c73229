package supervisor

import (
	"context"
	"sync"
	"time"

	"rcsupervisor/channel"
)

// When a run counts as hung.
const (
	answerWithin = 5 * time.Second  // a command that is not taken for so long
	heardWithin  = 30 * time.Second // or nothing heard for so long
	beatEvery    = 12 * time.Second // how often a quiet run is asked to say something
	watchTick    = time.Second
)

// A watchman goes round all runs once a second, has quiet ones say something,
// and tells the keepers of those that hang. One for all is a thousand timers
// less. When its own round comes late, because the host slept or was busy, no
// run is to blame: all clocks start anew.
type watchman struct {
	mu    sync.Mutex
	runs  map[*run]*watched
	since time.Time // nothing before it counts
	last  time.Time // when it last went round
}

// A watched run. Guarded by the watchman's lock.
type watched struct {
	beat  time.Time // when it was last asked to say something
	endBy time.Time // when it is to be over; zero for never
}

func (w *watchman) add(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = make(map[*run]*watched)
	}
	w.runs[r] = &watched{beat: time.Now()}
}

func (w *watchman) remove(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r)
}

// endBy says when a run that was told to end has to be over. The earliest time
// that was said counts.
func (w *watchman) endBy(r *run, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.runs[r]; x != nil && (x.endBy.IsZero() || at.Before(x.endBy)) {
		x.endBy = at
	}
}

// run goes round until ctx ends.
func (w *watchman) run(ctx context.Context) {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		late := now.Sub(last) > 3*watchTick || now.Round(0).Sub(last.Round(0)) > 3*watchTick
		last = now
		for r, why := range w.round(now, late) {
			k := r.ear.keeper
			k.tell(func() { k.hung(r, why) })
		}
	}
}

// round looks at all runs and returns those that hang, each with what was
// noticed.
func (w *watchman) round(now time.Time, late bool) map[*run]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = now
	if late {
		w.since = now
	}
	var hung map[*run]string
	for r, x := range w.runs {
		p := r.Pulse()
		why := ""
		switch {
		case !x.endBy.IsZero() && now.After(x.endBy):
			why = "it was told to end and did not"
			if late {
				why, x.endBy = "", now.Add(answerWithin)
			}
		case !p.Asked.IsZero() && now.Sub(w.later(p.Asked)) > answerWithin:
			why = "it takes no commands"
		case now.Sub(w.later(p.Heard)) > heardWithin:
			why = "nothing was heard of it"
		case now.Sub(p.Heard) > beatEvery && now.Sub(x.beat) > beatEvery/2:
			x.beat = now
			r.Command(channel.Beat{})
		}
		if why != "" {
			if hung == nil {
				hung = make(map[*run]string)
			}
			hung[r] = why
		}
	}
	return hung
}

// later is t, or when all clocks were started anew.
func (w *watchman) later(t time.Time) time.Time {
	if t.Before(w.since) {
		return w.since
	}
	return t
}

// Alive reports whether the supervisor goes round, as it does once a second.
func (s *Supervisor) Alive() bool {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return time.Since(s.watch.last) < answerWithin
}

package healthcheck

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFound(t *testing.T) {
	want := map[Reason]State{
		Unsealed: NeedsToken, BadConfig: NeedsConfig, Duplicate: Held, Identity: Held, Moved: Held,
		Rebound: Held, RolledBack: Held, Suspended: Held, NameTaken: Held, LedgerLost: Held, Gone: Off,
	}
	if len(want) != len(holds) {
		t.Fatalf("%d reasons hold, %d are tested", len(holds), len(want))
	}
	for r, state := range want {
		do := Rest
		if r == Gone {
			do = Leave
		}
		// Found before there was a run, as well as in the midst of one.
		_, h := New(day).Start(day)
		d, h := Next(h.Began(day, nil), Ended{Reason: r, Detail: "found\nso", Over: true}, day, flat)
		if (d != Decision{Do: do}) || h.State != state || h.Reason != r || h.Alive || h.Error != "found so" {
			t.Errorf("%s at the start: %+v, %+v", r, d, h)
		}
		for name, h := range map[string]History{
			"online": online(day), "connecting": started(day), "waiting": refusedTwice(),
		} {
			d, h := Next(h, Ended{Reason: r, Detail: "found"}, day, flat)
			if (d != Decision{Do: Halt}) || h.State != Stopping || h.Reason != r {
				t.Errorf("%s when %s: %+v, %+v", r, name, d, h)
			}
			// The connection goes first; only the end of the run counts.
			d, h = Next(h, Ended{Reason: Closed}, day, flat)
			if d.Do != Halt || h.State != Stopping {
				t.Errorf("%s when %s: its connection ended: %+v, %+v", r, name, d, h)
			}
			d, h = Next(h, Ended{Reason: Crashed, Detail: "killed"}, day, flat)
			if (d != Decision{Do: do}) || h.State != state || h.Reason != r || h.Alive || h.Error != "found" || h.Streak != 0 {
				t.Errorf("%s when %s: its run ended: %+v, %+v", r, name, d, h)
			}
		}
	}
}

// A run that hangs where it can't be killed is held, and nothing starts beside
// it, whatever anybody says, until it is over.
func TestStuck(t *testing.T) {
	stuck := func(h History) History {
		d, h := Next(h, Ended{Reason: Hung, Stuck: true}, day, flat)
		if d.Do != Rest || h.State != Held || h.Reason != Hung || !h.Alive {
			t.Fatalf("stuck: %+v, %+v", d, h)
		}
		return h
	}
	_, stopped := online(day).Stop(Operator, day)
	for _, c := range []struct {
		name string
		h    History
		tell func(History) (Decision, History)
		do   Do
		end  State
	}{
		{"alone", online(day), nil, Begin, Starting},
		{"while waiting", refusedTwice(), nil, Probe, NeedsToken},
		{"while stopping", stopped, nil, Rest, Off},
		{"start", stopped, func(h History) (Decision, History) { return h.Start(day) }, Begin, Starting},
		{"restart", online(day), func(h History) (Decision, History) { return h.Restart(day) }, Begin, Starting},
		{"stop", online(day), func(h History) (Decision, History) { return h.Stop(Operator, day) }, Rest, Off},
		{"suspend", online(day), func(h History) (Decision, History) { return h.Stop(Suspended, day) }, Rest, Held},
		{"gone", online(day), func(h History) (Decision, History) { return h.Stop(Gone, day) }, Leave, Off},
		{"changed", online(day), func(h History) (Decision, History) { return h.Changed(day) }, Begin, Starting},
		{"hung again", online(day), func(h History) (Decision, History) {
			return Next(h, Ended{Reason: Hung, Stuck: true}, day, flat)
		}, Begin, Starting},
	} {
		h := stuck(c.h)
		if c.tell != nil {
			var d Decision
			if d, h = c.tell(h); d.Do != Rest || h.State != Held || h.Reason != Hung {
				t.Errorf("%s: %+v, %+v", c.name, d, h)
			}
		}
		if again := h.Began(day, nil); again != h {
			t.Errorf("%s: something began", c.name)
		}
		d, h := Next(h, Ended{Reason: Hung}, day, flat)
		if d.Do != c.do || h.State != c.end || h.Alive {
			t.Errorf("%s: over: %+v, %+v", c.name, d, h)
		}
	}
}

// Reports that come late or twice change nothing.
func TestStaleReports(t *testing.T) {
	_, waiting := Next(online(day), Ended{Reason: Closed}, day, flat)
	_, waiting = Next(waiting.Began(day, flat), Ended{Reason: Closed}, day, flat)
	_, crashed := Next(waiting.Began(day, flat), Ended{Reason: Crashed}, day, flat)
	for _, h := range []History{New(day), held(BadConfig), held(Suspended), waiting, crashed, refusedTwice()} {
		for _, r := range ends {
			if r == Identity {
				continue // found, whenever
			}
			e := Ended{Reason: r}
			if h.Alive && e.over() {
				continue
			}
			if d, got := Next(h, e, day, flat); got != h || d.Do != h.Plan {
				t.Errorf("%s/%s ended by %s: %+v, %s", h.State, h.Reason, r, d, cmp.Diff(h, got))
			}
		}
		if got := h.Online(day); got != h {
			t.Errorf("%s/%s went online", h.State, h.Reason)
		}
		if got := h.Dialing(day); got != h {
			t.Errorf("%s/%s dials", h.State, h.Reason)
		}
	}
}

// A worker that dies while it waits is made anew when its time has come, not
// before, and a refused token is not forgotten over it.
func TestLost(t *testing.T) {
	limited := func() History {
		_, h := Next(online(day), Ended{Reason: RateLimited, Limit: 10 * time.Minute}, day, flat)
		return h
	}()
	unreached := func() History {
		_, h := Next(started(day), Ended{Reason: Unreachable}, day, flat)
		return h
	}()
	distant := func() History {
		h := started(day)
		h.Misses = 3
		_, h = Next(h, Ended{Reason: Unreachable}, day, flat)
		_, h = h.Released(day)
		return h
	}()
	backoff := func() History {
		h := started(day)
		h.Streak = 5
		_, h = Next(h, Ended{Reason: Closed}, day, flat)
		return h
	}()
	for _, c := range []struct {
		h    History
		want Decision
	}{
		{limited, Decision{Begin, limited.Wait}},
		{unreached, Decision{Await, 0}},
		{distant, Decision{Begin, 5 * time.Second}}, // what was left, longer than the crash's own step
		{refusedTwice(), Decision{Probe, time.Minute}},
		{backoff, Decision{Begin, time.Minute}}, // the crash's own step, longer than what was left
	} {
		d, h := Next(c.h, Ended{Reason: Crashed}, day, flat)
		if d != c.want || h.Alive || h.State != c.h.State {
			t.Errorf("%s/%s lost: %+v, %+v", c.h.State, c.h.Reason, d, h)
		}
	}
	_, h := Next(unreached, Ended{Reason: Crashed}, day, flat)
	if d, h := h.Released(day); d.Do != Begin {
		t.Errorf("released without a worker: %+v, %+v", d, h)
	}
	_, h = Next(refusedTwice(), Ended{Reason: Crashed}, day, flat)
	if d, h := h.Probed(Taken, day); d.Do != Begin {
		t.Errorf("taken without a worker: %+v, %+v", d, h)
	}
}

// A worker can say anything.
func TestNonsense(t *testing.T) {
	for _, r := range []Reason{"", "?", "online", Reason([]byte{0xff, 0})} {
		d, h := Next(online(day), Ended{Reason: r, Detail: "a\x1b[31m\u202eb\xff"}, day, flat)
		if d.Do != Dial || h.Reason != Dropped || h.Error != "a [31m b\ufffd" {
			t.Errorf("%q: %+v, %+v", r, d, h)
		}
	}
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'x'
	}
	_, h := Next(online(day), Ended{Reason: Closed, Detail: string(long)}, day, flat)
	if len(h.Error) != maxError {
		t.Errorf("an error of %d bytes", len(h.Error))
	}
}

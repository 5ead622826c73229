package healthcheck

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// day is a time without a monotonic reading, as a model's clock gives it.
var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// flat is no jitter, early and late are its ends.
func flat() float64  { return 0 }
func early() float64 { return -1 }
func late() float64  { return 1 }

// started is a profile whose worker is making its first connection at now.
func started(now time.Time) History {
	_, h := New(now).Start(now)
	return h.Began(now, nil).Dialing(now)
}

// online is a profile that has been online since now.
func online(now time.Time) History { return started(now).Online(now) }

// again carries out what is planned, however far off, and returns the time.
func again(t *testing.T, d Decision, h History, now time.Time) (History, time.Time) {
	t.Helper()
	switch d.Do {
	case Begin, Dial, Reread:
	default:
		t.Fatalf("%+v: nothing to carry out in %+v", d, h)
	}
	now = now.Add(d.After)
	return h.Began(now, nil).Dialing(now), now
}

// ladder is the waits of the table's first row.
var ladder = []time.Duration{0, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, time.Minute, time.Minute}

func TestStepsWithoutOnline(t *testing.T) {
	for _, r := range []Reason{Silent, Deaf, Closed, Dropped, Hung, Busy} {
		t.Run(string(r), func(t *testing.T) {
			h, now := started(day), day
			for i, want := range ladder {
				var d Decision
				d, h = Next(h, Ended{Reason: r}, now, flat)
				if d.After != want {
					t.Fatalf("wait %d: %v, want %v", i, d.After, want)
				}
				wantDo := Dial
				if r == Hung || r == Busy {
					wantDo = Begin
				}
				if d.Do != wantDo || h.Flapping || h.Reason != r || h.Streak != i+1 {
					t.Fatalf("wait %d: %+v, %+v", i, d, h)
				}
				if want > 0 && (h.State != Backoff || !h.RetryAt.Equal(now.Add(want))) {
					t.Fatalf("wait %d: %+v", i, h)
				}
				h, now = again(t, d, h, now)
				if h.Restarts != uint64(i+1) {
					t.Fatalf("wait %d: %d restarts", i, h.Restarts)
				}
			}
		})
	}
}

// It stays at its last step for ever (js.SDK#163, hermes-agent#46561: a client
// that gave up after so many tries, silently; pm2#1676: one that never slowed
// down).
func TestNeverGivesUp(t *testing.T) {
	h, now := started(day), day
	var d Decision
	for range 100_000 {
		d, h = Next(h, Ended{Reason: Dropped}, now, flat)
		h, now = again(t, d, h, now)
	}
	if d.After != time.Minute || h.Restarts != 100_000 {
		t.Errorf("%v, %d restarts", d.After, h.Restarts)
	}
}

// Profiles that fell together don't rise together (ReactNative#7443).
func TestJitterOfSteps(t *testing.T) {
	for i, want := range ladder {
		h := started(day)
		h.Streak = i
		for _, c := range []struct {
			j    Jitter
			want time.Duration
		}{
			{nil, want},
			{early, want * 85 / 100},
			{late, want * 115 / 100},
			{func() float64 { return 1000 }, want * 115 / 100},
			{func() float64 { return math.Inf(-1) }, want * 85 / 100},
			{math.NaN, want},
		} {
			d, _ := Next(h, Ended{Reason: Closed}, day, c.j)
			if diff := d.After - c.want; diff < -time.Microsecond || diff > time.Microsecond {
				t.Errorf("step %d: %v, want %v", i, d.After, c.want)
			}
		}
	}
}

func TestFlapping(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason Reason
		online bool
		flaps  bool
	}{
		{"silent after online", Silent, true, true},
		{"deaf after online", Deaf, true, true},
		{"closed after online", Closed, true, true},
		{"dropped after online", Dropped, true, true},
		{"hung after online", Hung, true, true},
		{"crashed after online", Crashed, true, true},
		{"crashed before online", Crashed, false, true},
		{"rate-limited after online", RateLimited, true, true},
		{"closed before online", Closed, false, false},
		{"dropped before online", Dropped, false, false},
		{"hung before online", Hung, false, false},
		{"busy", Busy, false, false},
		{"operator", Operator, true, false},
		{"reload", Reload, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, now := started(day), day
			var d Decision
			for n := 1; n <= 7; n++ {
				if c.online {
					h = h.Online(now)
				}
				d, h = Next(h, Ended{Reason: c.reason}, now, flat)
				if h.Flapping != (c.flaps && n == 7) {
					t.Fatalf("end %d: flapping is %v", n, h.Flapping)
				}
				h, now = again(t, d, h, now)
			}
			if !c.flaps {
				return
			}
			if d.After != FlapPause {
				t.Errorf("flapping waits %v", d.After)
			}
			// It goes on so, though no more than two ends lie within ten minutes,
			for range 20 {
				if c.online {
					h = h.Online(now)
				}
				d, h = Next(h, Ended{Reason: c.reason}, now, flat)
				if !h.Flapping || d.After != FlapPause {
					t.Fatalf("flapping ended by itself: %+v", h)
				}
				h, now = again(t, d, h, now)
			}
			// until it was online for a minute.
			h = h.Online(now)
			if s := h.Settled(now.Add(Steady - 1)); !s.Flapping {
				t.Errorf("flapping ended early")
			}
			d, h = Next(h, Ended{Reason: Closed}, now.Add(Steady), flat)
			if d.After != 0 || h.Flapping || h.Streak != 1 {
				t.Errorf("after a steady minute: %+v, %+v", d, h)
			}
		})
	}
}

// Seven ends in more than ten minutes are not flapping, though they may follow
// connections that were long enough to be steady.
func TestFlappingWindow(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		flaps bool
	}{
		{70 * time.Second, true}, // silent, always at the first moment
		{99 * time.Second, true},
		{100 * time.Second, false},
		{5 * time.Minute, false},
	} {
		h, now := online(day), day
		flapped := false
		for range 30 {
			now = now.Add(c.every)
			d, next := Next(h, Ended{Reason: Silent}, now, flat)
			flapped = flapped || next.Flapping
			if next.Flapping {
				break
			}
			if d.After != 0 {
				t.Fatalf("every %v: a first end waits %v", c.every, d.After)
			}
			h = next.Began(now, nil).Online(now)
		}
		if flapped != c.flaps {
			t.Errorf("every %v: flapping is %v", c.every, flapped)
		}
	}
}

// The streak is forgotten by a steady minute and nothing less (moby#22283: a
// back-off that never came down again; ReactNative#7443: one that came down with
// every dial).
func TestStreakEnds(t *testing.T) {
	bad := started(day)
	bad.Streak, bad.Misses, bad.Refusals, bad.Probes = 5, 4, 3, 2
	now := day
	for _, c := range []struct {
		name  string
		after func() History
		want  int
	}{
		{"59 s online", func() History { return bad.Online(now).Settled(now.Add(59 * time.Second)) }, 5},
		{"60 s online", func() History { return bad.Online(now).Settled(now.Add(60 * time.Second)) }, 0},
		{"60 s connecting", func() History { return bad.Settled(now.Add(60 * time.Second)) }, 5},
		{"a changed file", func() History { _, h := bad.Changed(now); return h }, 0},
		{"start", func() History { _, h := bad.Start(now); return h }, 0},
		{"restart", func() History { _, h := bad.Restart(now); return h }, 0},
		{"a late report of online", func() History { _, h := bad.Stop(Suspended, now); return h.Online(now).Settled(now.Add(time.Hour)) }, 5},
	} {
		h := c.after()
		if h.Streak != c.want {
			t.Errorf("%s: streak %d, want %d", c.name, h.Streak, c.want)
		}
		if zero := h.Misses+h.Refusals+h.Probes == 0; zero != (c.want == 0) {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}

func TestRateLimited(t *testing.T) {
	for _, c := range []struct {
		named, least, most time.Duration
	}{
		{-time.Hour, time.Second, 1050 * time.Millisecond}, // nothing named: the steps, at least 1 s
		{0, time.Second, 1050 * time.Millisecond},
		{time.Nanosecond, time.Second, 1050 * time.Millisecond},
		{34 * time.Second, 34 * time.Second, 35700 * time.Millisecond},
		{15 * time.Minute, 15 * time.Minute, 15 * time.Minute},
		{1 << 62, 15 * time.Minute, 15 * time.Minute}, // a time in the wrong unit
	} {
		for _, j := range []Jitter{early, flat, late} {
			d, h := Next(online(day), Ended{Reason: RateLimited, Limit: c.named}, day, j)
			if d.Do != Dial || d.After < c.least || d.After > c.most {
				t.Errorf("named %v: %+v", c.named, d)
			}
			if h.State != Backoff || h.Reason != RateLimited {
				t.Errorf("named %v: %+v", c.named, h)
			}
		}
	}
}

// A server that limits and names no time is asked ever more seldom.
func TestRateLimitedWithoutTime(t *testing.T) {
	h, now := started(day), day
	for i, want := range []time.Duration{1, 1, 2, 5, 10, 30, 60, 60} {
		var d Decision
		d, h = Next(h, Ended{Reason: RateLimited}, now, flat)
		if d.After != want*time.Second {
			t.Fatalf("wait %d: %v", i, d.After)
		}
		h, now = again(t, d, h, now)
	}
}

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

// A clock that is set back or forward, without a monotonic reading to tell,
// costs no more than one wait.
func TestClockSteps(t *testing.T) {
	h := started(day)
	h.Streak = 6
	_, h = Next(h, Ended{Reason: Closed}, day, flat)
	for _, step := range []time.Duration{-24 * time.Hour, -time.Hour, 0, time.Second, 24 * time.Hour} {
		d, _ := h.standing(day.Add(step))
		if d.After < 0 || d.After > time.Minute {
			t.Errorf("a step of %v leaves %v", step, d.After)
		}
	}
	// Set back while online, it doesn't forget; what is in the future counts.
	o := online(day)
	o.Streak = 3
	if o.Settled(day.Add(-time.Hour)).Streak != 3 {
		t.Error("forgotten before it began")
	}
	now := day
	for range 6 {
		_, o = Next(o, Ended{Reason: Closed}, now, flat)
		o = o.Began(now, flat).Online(now)
	}
	if _, o = Next(o, Ended{Reason: Closed}, now.Add(-time.Hour), flat); !o.Flapping {
		t.Error("a clock that was set back hides flapping")
	}
	// A probe of one that flaps is not put off for ever.
	p := refusedTwice()
	p.Flapping = true
	for _, step := range []time.Duration{-time.Hour, 0, time.Minute, time.Hour} {
		if d, _ := p.Probed(Taken, day.Add(step)); d.After < 0 || d.After > FlapPause {
			t.Errorf("a step of %v: %v", step, d.After)
		}
	}
}

// A History is a value: its JSON holds all of it, and Next leaves what it is
// given as it was.
func TestHistoryIsAValue(t *testing.T) {
	h := refusedTwice()
	h = h.tallied(day)
	before := h
	_, _ = Next(h.Began(day, flat), Ended{Reason: Crashed}, day, flat)
	if h != before {
		t.Error("Next changed its argument")
	}
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var got History
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Errorf("through JSON (-want +got):\n%s", diff)
	}
}

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
func flat() float64 { return 0 }

func early() float64 { return -1 }

func late() float64 { return 1 }

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

package healthcheck

import (
	"testing"
	"time"
)

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

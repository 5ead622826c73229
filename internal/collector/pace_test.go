package collector

import (
	"testing"
	"time"
)

const (
	ms = time.Millisecond
	mb = 1 << 20
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		busy bool
		live uint64
		want int
	}{
		{false, 0, 100},
		{false, 1 * mb, 100},
		{false, 8 * mb, 100},
		{false, 16 * mb, 50},
		{false, 32 * mb, 25},
		{false, 40 * mb, 20},
		{false, 1 << 40, 20},
		{true, 0, 100},
		{true, 40 * mb, 100},
	} {
		if got := (pace{busy: c.busy}).percent(c.live); got != c.want {
			t.Errorf("busy %v, %d MB alive: %d %%, want %d", c.busy, c.live/mb, got, c.want)
		}
	}
}

// A course is looks in which collections cost the same, and what is to come of
// them.
type course struct {
	seconds int
	cost    time.Duration // of each second
	busy    bool          // at the end
	frees   int           // on the way
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		live    uint64
		courses []course
	}{
		"a quiet process gives memory back three times, and then lets it be": {40 * mb, []course{
			{14, 0, false, 0}, {1, 0, false, 1}, {15, 0, false, 1}, {15, 0, false, 1}, {1000, 0, false, 0},
		}},
		"a collection now and then is calm": {40 * mb, []course{
			{1, 60 * ms, false, 0}, {14, 3 * ms, false, 1},
		}},
		"a process that does something stays quiet and keeps its memory": {40 * mb, []course{
			{1000, 100 * ms, false, 0}, {15, 0, false, 1},
		}},
		"a busy one has room at once, and for as long as it is busy": {40 * mb, []course{
			{1, 501 * ms, true, 0}, {1000, 100 * ms, true, 0},
		}},
		"what it would cost in the quiet setting counts": {40 * mb, []course{
			{1, 900 * ms, true, 0}, {100, 51 * ms, true, 0}, {5, 49 * ms, false, 0},
		}},
		"a small heap that is busy is as one that is not": {mb, []course{
			{1, 900 * ms, true, 0}, {100, 251 * ms, true, 0}, {5, 249 * ms, false, 0},
		}},
		"whoever was busy gives back anew": {40 * mb, []course{
			{1000, 0, false, 3}, {1, 900 * ms, true, 0}, {1000, 0, false, 3},
		}},
		"a burst begins the stretch of calm anew": {40 * mb, []course{
			{14, 0, false, 0}, {5, 200 * ms, false, 0}, {14, 0, false, 0},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var p pace
			for i, c1 := range c.courses {
				frees := 0
				for range c1.seconds {
					var free bool
					if p, free = p.next(c1.cost, time.Second, time.Second, c.live); free {
						frees++
					}
				}
				if p.busy != c1.busy || frees != c1.frees {
					t.Errorf("course %d: busy %v, given back %d times; want %v, %d", i, p.busy, frees, c1.busy, c1.frees)
				}
			}
		})
	}
}

// A process that gets little of a crowded host, and spends most of it on
// collections, is busy; one that does little is not, whatever it is.
func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		cost, used time.Duration
		busy       bool
	}{
		{120 * ms, 200 * ms, true},
		{90 * ms, 200 * ms, false},
		{40 * ms, 50 * ms, false},
	} {
		if p, _ := (pace{}).next(c.cost, c.used, time.Second, 40*mb); p.busy != c.busy {
			t.Errorf("%v of %v: busy %v", c.cost, c.used, p.busy)
		}
	}
}

// A look that comes at once, or late, divides by nothing and blames nobody.
func TestOddLooks(t *testing.T) {
	if p, free := (pace{}).next(0, 0, 0, 0); p.busy || free {
		t.Errorf("busy %v, free %v", p.busy, free)
	}
	if p, _ := (pace{}).next(time.Second, time.Second, time.Hour, mb); p.busy {
		t.Error("a second of an hour is no share")
	}
}

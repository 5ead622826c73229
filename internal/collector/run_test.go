package collector

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// setting is what the collector is set to.
func setting() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// lives is something large that lives, so that the quiet setting is another than
// Go's.
func lives(t *testing.T) {
	large := make([]byte, 64<<20)
	runtime.GC()
	t.Cleanup(func() { runtime.KeepAlive(large) })
}

func TestRun(t *testing.T) {
	t.Setenv("GOGC", "")
	lives(t)
	synctest.Test(t, func(t *testing.T) {
		before := setting()
		over := make(chan struct{})
		var work sync.WaitGroup
		work.Go(func() { Run(over) })
		synctest.Wait()
		if got := setting(); got != quietPercent {
			t.Errorf("set to %d", got)
		}
		Run(over) // another one, which leaves it to the first
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := setting(); got != quietPercent {
			t.Errorf("set to %d after a minute", got)
		}
		close(over)
		work.Wait()
		if got := setting(); got != before {
			t.Errorf("left at %d; it was %d", got, before)
		}
	})
}

// An operator's own setting is left alone.
func TestGOGC(t *testing.T) {
	lives(t)
	t.Setenv("GOGC", "70")
	before := setting()
	Run(nil)
	if got := setting(); got != before {
		t.Errorf("set to %d; it was %d", got, before)
	}
}

// Collections are seen, and so is what lives.
func TestRead(t *testing.T) {
	lives(t)
	before := read()
	for range 5 {
		runtime.GC()
	}
	after := read()
	if cost := after.cost(before); cost <= 0 || after.live < 64<<20 {
		t.Errorf("five collections cost %v; %d bytes live", cost, after.live)
	}
}

func TestCost(t *testing.T) {
	was := reading{collecting: time.Second, working: 5 * time.Second, used: 4 * time.Second}
	for name, c := range map[string]struct{ collecting, working, used, want time.Duration }{
		"nothing":            {0, 0, 0, 0},
		"alone":              {100 * ms, 400 * ms, 400 * ms, 100 * ms},
		"in system calls":    {100 * ms, 400 * ms, 900 * ms, 100 * ms},
		"others run as well": {400 * ms, 800 * ms, 200 * ms, 100 * ms},
		"no work noted":      {100 * ms, 0, 400 * ms, 100 * ms},
	} {
		now := reading{collecting: was.collecting + c.collecting, working: was.working + c.working, used: was.used + c.used}
		if got := now.cost(was); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

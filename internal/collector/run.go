package collector

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// running is held by whoever paces: a process has one collector.
var running sync.Mutex

// Run paces this process's collector until over is closed, and then leaves it as
// it was. It returns at once where the environment sets GOGC, or another Run
// paces already.
func Run(over <-chan struct{}) {
	if os.Getenv("GOGC") != "" || !running.TryLock() {
		return
	}
	defer running.Unlock()
	was := read()
	var p pace
	percent := p.percent(was.live)
	before := debug.SetGCPercent(percent)
	defer func() { debug.SetGCPercent(before) }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for looked := time.Now(); ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		now := read()
		var cost, used time.Duration
		if now.collecting != was.collecting {
			cost, used, was = now.cost(was), now.used-was.used, now
		}
		next, free := p.next(cost, used, time.Since(looked), now.live)
		p, looked = next, time.Now()
		if free {
			debug.FreeOSMemory()
			was = read() // our own doing, which says nothing of the process
		}
		if to := p.percent(now.live); to != percent {
			percent = to
			debug.SetGCPercent(percent)
		}
	}
}

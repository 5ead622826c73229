package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who waits for more than a second is told what for, once for each thing that
// takes so long, and never after the end.
func TestWaitingIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out words
		w := &waiting{out: &out}
		w.done()
		w.say("looking")
		time.Sleep(900 * time.Millisecond)
		w.say("sealing")
		time.Sleep(1100 * time.Millisecond)
		w.say("proving")
		time.Sleep(100 * time.Millisecond)
		w.done()
		time.Sleep(time.Minute)
		if got := out.b.String(); got != "rcsupervisor: sealing …\n" {
			t.Errorf("%q", got)
		}
	})
}

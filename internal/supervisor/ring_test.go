package supervisor

import (
	"testing"
	"time"

	"rcsupervisor/channel"
)

// Who waits for more lines is woken by one, and by the end of the profile; and
// one who read another ring of that name reads this one from its beginning.
func TestTheRingOfALog(t *testing.T) {
	r := newRing()
	say := func(text string) { r.add(channel.Record{Time: time.Now(), Message: text}) }
	woken := func(more <-chan struct{}) bool {
		select {
		case <-more:
			return true
		default:
			return false
		}
	}
	_, more := r.after(0)
	if woken(more) {
		t.Error("woken for nothing")
	}
	say("one")
	if !woken(more) {
		t.Error("a line wakes nobody")
	}
	lines, _ := r.after(0)
	if len(lines) != 1 || lines[0].Text != "one" || lines[0].Number != 1 {
		t.Errorf("%+v", lines)
	}
	if lines, _ := r.after(1); len(lines) != 0 {
		t.Errorf("nothing is new, and it has %+v", lines)
	}
	say("two")
	if lines, _ := r.after(500); len(lines) != 2 {
		t.Errorf("of a ring that was before: %+v", lines)
	}
	_, more = r.after(2)
	r.end()
	if !woken(more) {
		t.Error("the end wakes nobody")
	}
}

package worker

import (
	"sync"
	"time"

	"rcsupervisor/channel"
)

// The order in which waiting commands are handed over: what to do before how
// to end.
const (
	slotApply = iota
	slotConnect
	slotRest
	slotBeat
	slotDrain
	slotStop
	slots
)

func slotOf(c channel.Command) int {
	switch c.(type) {
	case channel.Apply:
		return slotApply
	case channel.Connect:
		return slotConnect
	case channel.Rest:
		return slotRest
	case channel.Drain:
		return slotDrain
	case channel.Stop:
		return slotStop
	default:
		return slotBeat
	}
}

// waiting is commands that were not handed over: at most one of each kind, since
// the later one says all that the earlier did.
type waiting [slots]channel.Command

// put adds c. That the connection is to be made anew is not forgotten.
func (w *waiting) put(c channel.Command) {
	slot := slotOf(c)
	if a, ok := c.(channel.Apply); ok {
		if was, ok := w[slot].(channel.Apply); ok && was.Reconnect {
			a.Reconnect = true
			c = a
		}
	}
	w[slot] = c
}

// An inbox is the commands that a run has not taken.
type inbox struct {
	mu      sync.Mutex
	waiting waiting
	asked   time.Time // when the one that was taken out last, or the first that waits, was put in
	out     bool      // one was taken out and not done
	closed  bool
}

// put adds a command, and calls start, which waits for nothing, when nobody is
// at work on those that wait. After close nothing is taken.
func (b *inbox) put(c channel.Command, now time.Time, start func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.waiting.put(c)
	if b.asked.IsZero() {
		b.asked = now
	}
	if !b.out {
		b.out = true
		start()
	}
}

// close takes nothing in any more. start is not called after it.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.asked = true, time.Time{}
	clear(b.waiting[:])
}

// next takes the next command out; ok is false, and the inbox idle, when there
// is none. What was taken before counts as done.
func (b *inbox) next(now time.Time) (c channel.Command, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range b.waiting {
		if c != nil {
			b.waiting[i] = nil
			b.asked, b.out = now, true
			return c, true
		}
	}
	b.asked, b.out = time.Time{}, false
	return nil, false
}

// since is how long the oldest command waits to be done.
func (b *inbox) since() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

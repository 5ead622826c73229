package channel

import (
	"maps"
	"sync"
	"time"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/deliver"
	"rcsupervisor/channel/post"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
)

// A tally counts what happened since the run began. It may be used from any
// goroutine. changed is called after each count, outside the lock.
type tally struct {
	mu      sync.Mutex
	counts  Counters
	changed func()
}

func newTally(changed func()) *tally {
	return &tally{counts: Counters{Ignored: make(map[string]uint64)}, changed: changed}
}

// count changes the counters under their lock.
func (t *tally) count(change func(*Counters)) {
	t.mu.Lock()
	change(&t.counts)
	t.mu.Unlock()
	t.changed()
}

// snapshot returns a copy that shares nothing.
func (t *tally) snapshot() Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Ignored = maps.Clone(c.Ignored)
	return c
}

// ignored counts a message that went no further than a step of the gate.
func (t *tally) ignored(step string) {
	t.count(func(c *Counters) { c.Ignored[step]++ })
}

// settled counts how a part ended. A question counts as answered once, with
// the first part of it that is in its room.
func (t *tally) settled(p dedup.Part, o dedup.Outcome) {
	t.count(func(c *Counters) {
		switch {
		case o.Posted() && p.Step == conversation.StepAnswer && p.Index == 0:
			c.Answered++
		case o.Posted():
		case o.Reason == deliver.Late:
			c.Late++
		case o.Reason == post.Prevented:
			c.Prevented++
		case o.Reason == post.Misrouted:
			c.Misrouted++
		default:
			c.Failed++
		}
	})
}

// touched says that there is something to report. Any goroutine.
func (l *life) touched() {
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// report sends the whole state over the link. Runs on the loop.
func (l *life) report() {
	r := Report{
		Run: l.start.Run, Connection: l.number, Phase: l.phase, End: l.last,
		OnlineSince: l.online, TokenChecked: l.checked, Username: l.username,
		Agent: (*l.agent.Load()).State(), Counters: l.tally.snapshot(), Warnings: l.warnings(),
	}
	if c := l.socket.Load(); c != nil {
		r.LastFrame = c.LastFrame()
	}
	l.link.Report(r)
}

// clockOff is how far a server's clock may be from ours before it is said.
const clockOff = 2 * time.Minute

func (l *life) warnings() []healthcheck.Warning {
	var found []healthcheck.Warning
	if s := l.storeErr.Load(); s != nil && s.err != nil {
		found = append(found, healthcheck.Warning{Code: "store", Text: "the store of questions can't be written to, so nothing is taken in: " + s.err.Error()})
	}
	if offset, known := l.client.Load().ClockOffset(); known && offset.Abs() > clockOff {
		found = append(found, healthcheck.Warning{Code: "clock", Text: "the server's clock is off ours by " + offset.Round(time.Second).String()})
	}
	return found
}

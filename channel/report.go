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

// settled is told of each part how it ended. Any goroutine.
func (l *life) settled(p dedup.Part, o dedup.Outcome) {
	l.tally.settled(p, o)
	if p.File != "" {
		l.files.sent(p.File)
	}
}

// touched says that there is something to report, soon. Any goroutine.
func (l *life) touched() {
	if !l.dirty.Swap(true) {
		time.AfterFunc(reportEvery, func() {
			l.tell(func() { l.dirty.Store(false) }) // each change is reported
		})
	}
}

// report sends the whole state over the link. Runs on the loop.
func (l *life) report() {
	r := Report{
		Run: l.start.Run, Connection: l.number, Phase: l.phase, End: l.last,
		OnlineSince: l.online, LastFrame: l.lastFrame(), TokenChecked: l.checked, Username: l.username,
		CatchingUp: l.catching.Load(), Agent: l.staff.state(), Counters: l.tally.snapshot(), Warnings: l.warnings(),
	}
	l.link.Report(r)
}

func (l *life) lastFrame() time.Time {
	if c := l.socket.Load(); c != nil {
		return c.LastFrame()
	}
	return time.Time{}
}

// What is worth a warning: a server's clock that is so far from ours, and a
// limit that was met so lately.
const (
	clockOff    = 2 * time.Minute
	limitedLate = 10 * time.Minute
	// agentFailures is how many questions in a row an agent fails at before a
	// person should look after it.
	agentFailures = 5
)

func (l *life) warnings() []healthcheck.Warning {
	var found []healthcheck.Warning
	warn := func(code, detail string) {
		found = append(found, healthcheck.Warn(code, healthcheck.Facts{Profile: l.profile, Server: l.start.Credentials.Server, Home: l.start.Home}, detail))
	}
	if err := l.store.troubled(); err != nil {
		warn("store", err.Error())
	} else if aside := l.store.quarantined(); aside != "" {
		warn("store", "moved to "+aside)
	}
	if offset, known := l.client.Load().ClockOffset(); known && offset.Abs() > clockOff {
		warn("clock", "by "+offset.Round(time.Second).String())
	}
	if s := l.staff.state(); s.Failures >= agentFailures {
		warn("agent-failing", s.Error)
	}
	if l.rules.Load().admin {
		warn("admin-token", "")
	}
	if at := l.limited.Load(); at != 0 && time.Since(time.Unix(at, 0)) < limitedLate {
		warn("limiter-not-exempt", "")
	}
	return found
}

package channel

import (
	"errors"
	"sync"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/dedup"
)

// claimRetry is how long a store that can't be written to is left alone.
const claimRetry = 2 * time.Second

// flush claims what was judged, durably and together, and then settles and
// carries it out in its order. It reports false when the channel ended first;
// then nothing of it is settled.
func (in *intake) flush() bool {
	run := in.run
	if len(run) == 0 {
		return true
	}
	in.run = nil
	if !in.claim(run) {
		return false
	}
	for _, j := range run {
		in.conclude(j)
		in.passed(j.heard) // now it is known, if it was anything to us
	}
	return true
}

// conclude settles one message and carries out what was decided of it.
func (in *intake) conclude(j judged) {
	l := in.life
	if j.verdict.Action == gate.Ignore {
		in.ignored(j)
		return
	}
	if !j.fresh {
		in.duplicate(j.heard)
		return
	}
	if !j.counted {
		l.tally.count(func(c *Counters) {
			c.Claimed++
			if j.caughtUp && !j.claimed {
				c.CaughtUp++
			}
		})
	}
	in.settle(j)
	in.dispatch(j)
}

// ignored counts a message that goes no further. An edit may still change a
// question that waits for its turn, and a deletion take it back.
func (in *intake) ignored(j judged) {
	l := in.life
	switch {
	case j.claimed:
		l.talks.Say(in.id(j.message), l.key(j.message, j.verdict.Kind)) // no longer ours to answer
	case !j.caughtUp:
		l.tally.ignored(string(j.verdict.Step))
	}
	in.settle(j)
	switch {
	case j.verdict.Step == gate.StepEdited:
		in.edited(j.heard)
	case takenBack(j.heard, j.verdict):
		l.talks.Withdraw(j.message.ID)
	case j.verdict.Step == gate.StepKind && in.first("kind "+j.message.RoomID, runLong):
		l.log.Warn("a room of a kind that is not known is not listened to", "room", j.message.RoomID)
	}
}

// takenBack reports whether this says that a message was deleted.
func takenBack(h heard, v gate.Verdict) bool {
	return v.Step == gate.StepSystem && h.message.Type == "rm"
}

// aheadOfTime is how far in the future a message may lie and move a cursor: one
// that came from next year would have a room never caught up again.
const aheadOfTime = time.Minute

// settle moves the room's cursor past a message that needs nothing more. In a
// room that missed something it stays where it is.
func (in *intake) settle(j judged) {
	m := j.message
	if !j.verdict.MoveCursor || in.lags(m.RoomID) || m.Sent.After(in.life.serverNow().Add(aheadOfTime)) {
		return
	}
	in.life.store.Advance(m.RoomID, m.Sent.Time)
}

// claim makes questions ours, durably, all at once. While the store can't be
// written to nothing is taken in: it waits, and with it all that comes behind.
// It reports false when the channel ended first.
func (in *intake) claim(run []judged) bool {
	var left []*judged
	for i := range run {
		if j := &run[i]; j.verdict.Action != gate.Ignore && !j.claimed {
			left = append(left, j)
		}
	}
	for try := 0; len(left) > 0; try++ {
		if try > 0 && (!pause(in.life.ctx, claimRetry) || in.closed.Load()) {
			return false
		}
		left = in.claimOnce(left)
	}
	return true
}

// claimOnce returns what could not be claimed.
func (in *intake) claimOnce(asking []*judged) (left []*judged) {
	var mu sync.Mutex
	one := func(j *judged) {
		fresh, err := in.life.store.Claim(in.life.ctx, in.question(j))
		switch {
		case err == nil:
			j.fresh = fresh
		case errors.Is(err, dedup.ErrTooLarge): // and will be; see [dedup.Store]
			j.verdict = gate.Verdict{Action: gate.Ignore, Step: "malformed"}
		default:
			mu.Lock()
			defer mu.Unlock()
			left = append(left, j)
		}
	}
	if len(asking) == 1 {
		one(asking[0])
		return left
	}
	var wg sync.WaitGroup
	for _, j := range asking {
		wg.Go(in.life.guarded(func() { one(j) }))
	}
	wg.Wait()
	return left
}

func (in *intake) id(m *chat.Message) dedup.ID { return dedup.ID{Message: m.ID, At: m.Sent.Time} }

// question is what the store keeps of a message: never its text.
func (in *intake) question(j *judged) dedup.Question {
	k := in.life.key(j.message, j.verdict.Kind)
	return dedup.Question{ID: in.id(j.message), Room: k.Room, Thread: k.Thread, Asker: j.message.Sender.ID}
}

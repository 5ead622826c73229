package channel

import (
	"context"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/lane"
)

// Bounds of the intake. What comes while maxWaiting messages wait is left to be
// caught up: the cursors stay before it.
const (
	maxWaiting   = 1024
	claimsAtOnce = 64
)

// An intake leads messages through the gate to claimed questions, in the order
// in which they came, on a goroutine of its own: the reading one never waits,
// and neither does the one that catches up, but for its own.
//
// Its lane's goroutine owns everything that is not said to be another's.
type intake struct {
	life    *life
	lane    lane.Lane[entry]
	waiting waiting     // live messages that are not settled
	full    atomic.Bool // until the lane has come to where it was full
	closed  atomic.Bool

	pens     map[string]*pen   // by room, of which something is known or waits
	people   map[string]person // senders who were asked about
	run      []judged          // judged, in order, and not yet claimed
	epoch    uint64            // grows whenever something may have been missed
	behind   bool              // which rooms missed something is not known yet
	patient  bool              // live messages wait behind missed ones
	answered rates             // questions let through, by person
	said     rates             // answers and notes, by room
	once     map[string]time.Time
	timed    time.Time // when the server's clock was last asked
}

// heard is one message on its way in.
type heard struct {
	message  *chat.Message
	room     gate.Room
	name     string    // of the room, as the event has it
	came     time.Time // by the server's clock; what waits here does not age
	timed    bool      // the server's clock was asked for its sake
	live     bool      // it came over the socket, and counts as waiting
	held     bool      // it waited behind missed ones
	caughtUp bool      // it was read from the room's history
	claimed  bool      // by an earlier run, or before; not to be claimed again
	counted  bool      // it was claimed by this run, which is judging it again
}

// An entry of the lane: a message, or a mark. A mark with a room waits where
// that room's messages wait.
type entry struct {
	heard
	room string
	mark func()
}

// judged is a message the gate has decided on.
type judged struct {
	heard
	verdict gate.Verdict
	fresh   bool
}

func newIntake(l *life) *intake {
	in := &intake{life: l, pens: make(map[string]*pen), patient: true}
	in.lane = lane.Lane[entry]{Group: &l.work, Do: in.do}
	return in
}

// put takes one live message, from the reading goroutine. It never waits. One
// for which there is no place is dropped here, and read again once there is.
func (in *intake) put(m *chat.Message, where chat.Context) {
	switch {
	case in.closed.Load() || in.full.Load():
		return
	case in.waiting.count() >= maxWaiting:
		if in.full.CompareAndSwap(false, true) {
			in.life.log.Warn("more messages wait than may; those that come now are caught up later", "waiting", maxWaiting)
			in.lane.Put(entry{mark: in.relieved})
		}
		return
	}
	in.waiting.add(m.ID)
	in.lane.Put(entry{heard: heard{
		message: m, room: gate.FromEvent(where), name: where.RoomName, came: in.life.serverNow(), live: true,
	}})
}

// relieved is where the lane was full: from here on something is missing.
func (in *intake) relieved() {
	in.full.Store(false)
	in.missed()
}

// feed takes a message that did not come over the socket.
func (in *intake) feed(h heard) { in.lane.Put(entry{heard: h}) }

// again has a message that was claimed judged once more: what it depends on was
// not known yet.
func (in *intake) again(h heard) {
	h.live, h.claimed, h.counted = false, true, true
	in.feed(h)
}

// mark has f run on the lane, behind everything that was put before it, and
// behind what waits of a room if one is named. It reports false when it was
// not run before ctx ended.
func (in *intake) mark(ctx context.Context, room string, f func()) bool {
	done := make(chan struct{})
	in.lane.Put(entry{room: room, mark: func() {
		defer close(done)
		f()
	}})
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	case <-in.life.ctx.Done():
		return false
	}
}

// close takes nothing more in. What waits is left to be caught up.
func (in *intake) close() { in.closed.Store(true) }

// do is the lane's.
func (in *intake) do(batch []entry) {
	defer in.life.contain()
	for _, e := range batch {
		if !in.enter(e) {
			return
		}
	}
	in.flush()
}

// enter takes the next entry, and reports false when nothing more is taken.
func (in *intake) enter(e entry) bool {
	if in.closed.Load() {
		return false
	}
	if e.mark == nil {
		in.lead(e.heard)
		return len(in.run) < claimsAtOnce || in.flush()
	}
	if p := in.pens[e.room]; e.room != "" && p != nil && p.stuck() {
		p.waiting = append(p.waiting, e)
		return true
	}
	if !in.flush() {
		return false
	}
	e.mark()
	return in.flush()
}

// lead judges one message. What it lacks to be judged is asked for, and it
// waits, with all that follows it in its room.
func (in *intake) lead(h heard) {
	p := in.pens[h.message.RoomID]
	if p.stuck() {
		p.waiting = append(p.waiting, entry{heard: h})
		return
	}
	if h.live && h.message.Sender.ID == in.life.userID {
		in.life.desk.Heard(h.message.RoomID, h.message.ID, h.message.Sent.Time)
		if h.message.Touched.Has(chat.TouchRewritten) {
			in.life.desk.Rewritten(h.message.RoomID, h.message.ID)
		}
	}
	if h.caughtUp {
		h.message = p.latest(h.message)
	}
	v := in.judge(h, p)
	in.refresh(h, v, p)
	if h.live && in.lags(h.message.RoomID) && (v.Step == gate.StepEdited || takenBack(h, v)) {
		in.pen(h.message.RoomID).amend(h.message)
	}
	if in.holds(h, p) && v.Action != gate.Ignore {
		in.pen(h.message.RoomID).hold(h)
		return
	}
	switch {
	case v.Action == gate.Ignore:
		if in.outdated(h, v) {
			return
		}
	case in.lacks(h, v, p):
		return
	case h.claimed:
	case in.knows(h):
		in.passed(h)
		in.duplicate(h)
		return
	}
	in.run = append(in.run, judged{heard: h, verdict: v, fresh: h.claimed})
}

// passed takes note that a live message waits no longer.
func (in *intake) passed(h heard) {
	if h.live {
		in.waiting.remove(h.message.ID)
	}
}

// duplicate counts a message that came once more. In a room that is being
// caught up each comes twice, over the socket and from its history; that is
// none.
func (in *intake) duplicate(h heard) {
	if h.live && !h.held {
		in.life.tally.count(func(c *Counters) { c.Duplicates++ })
	}
}

// knows reports whether a message was claimed before.
func (in *intake) knows(h heard) bool {
	_, known := in.life.store.Known(dedup.ID{Message: h.message.ID, At: h.message.Sent.Time})
	return known
}

// judge asks the gate.
func (in *intake) judge(h heard, p *pen) gate.Verdict {
	l := in.life
	r := l.rules.Load()
	now := time.Now()
	from := h.message.Sender.ID
	f := gate.Facts{
		Self: r.self, Policy: r.policy, Room: p.known(h.room), CaughtUp: h.caughtUp, Bots: in.bots(from),
		Now: h.came, Age: r.settings.Limits.Age, Requests: l.desk.Requests(h.message.RoomID, h.message.Thread),
	}
	if !h.caughtUp {
		f.OverRate = in.answered.count(from, now) >= r.settings.Limits.AnswersPerHour
		f.OverCap = in.said.count(h.message.RoomID, now) >= roomCap(r.settings.Limits.AnswersPerHour)
	}
	return gate.Decide(*h.message, f)
}

// serverNow is the time by the server's clock.
func (l *life) serverNow() time.Time {
	offset, _ := l.client.Load().ClockOffset()
	return time.Now().Add(offset)
}

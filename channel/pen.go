package channel

import (
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
)

// Bounds of what is remembered of rooms.
const (
	pensKept  = 1000
	amendKept = 256              // of one room
	roomFresh = 10 * time.Minute // what rooms.info said is asked again after it
)

// A pen is what the intake knows of one room, and the messages that wait there.
// It belongs to the lane's goroutine. The nil pen is a room of which nothing is
// known.
type pen struct {
	facts gate.Room // what rooms.info said; Known is false before
	name  string
	asked time.Time // when it was last asked

	// asking: something is to be found out before the room's next message can
	// be judged. Everything waits in its order.
	asking  bool
	waiting []entry

	// behind: the room missed something. Live messages are held until it was
	// read; its cursor stays.
	behind bool
	heldup []heard
	// amended is what became meanwhile of messages that may still be read as
	// they were: edited, or taken back. Bounded.
	amended map[string]*chat.Message
}

func (p *pen) stuck() bool { return p != nil && p.asking }

// known is what is known of the room, the event's own word first where it has
// one.
func (p *pen) known(event gate.Room) gate.Room {
	if p == nil || !p.facts.Known {
		return event
	}
	facts := p.facts
	if event.Known {
		facts.Participant, facts.Kind = event.Participant, event.Kind
	}
	return facts
}

// hold keeps a live message until the missed ones before it were read.
func (p *pen) hold(h heard) {
	h.held = true
	p.heldup = append(p.heldup, h)
}

// amend takes note that a message of a room that lags was edited, if by its
// sender, or taken back: one that is held, and one that comes from the history
// as it was before.
func (p *pen) amend(m *chat.Message) {
	switch {
	case m.Type != "":
	case m.Touched.Has(chat.TouchRewritten):
		return
	default:
		m = present(m)
	}
	for i := range p.heldup {
		if p.heldup[i].message.ID == m.ID {
			p.heldup[i].message = m
		}
	}
	if _, ok := p.amended[m.ID]; !ok && len(p.amended) >= amendKept {
		return
	}
	if p.amended == nil {
		p.amended = make(map[string]*chat.Message)
	}
	p.amended[m.ID] = m
}

// latest is a message as it became since it was read.
func (p *pen) latest(m *chat.Message) *chat.Message {
	if p == nil {
		return m
	}
	if now, ok := p.amended[m.ID]; ok {
		return now
	}
	return m
}

// caughtUp says that the room missed nothing any more.
func (p *pen) caughtUp() { p.behind, p.amended = false, nil }

// idle reports whether the pen may be forgotten.
func (p *pen) idle() bool {
	return !p.asking && !p.behind && len(p.heldup) == 0 && len(p.waiting) == 0 && len(p.amended) == 0
}

// pen returns a room's pen, making one, and a place for it, where there is none.
func (in *intake) pen(room string) *pen {
	p := in.pens[room]
	if p != nil {
		return p
	}
	if len(in.pens) >= pensKept {
		for id, old := range in.pens {
			if old.idle() {
				delete(in.pens, id)
				break
			}
		}
	}
	p = &pen{}
	in.pens[room] = p
	return p
}

// lags reports whether a room may have missed something.
func (in *intake) lags(room string) bool {
	p := in.pens[room]
	return in.behind || p != nil && p.behind
}

// holds reports whether a live message has to wait behind missed ones.
func (in *intake) holds(h heard, p *pen) bool {
	return h.live && in.patient && (in.behind || p != nil && p.behind)
}

// release leads the messages that were held, in the order in which they came.
func (in *intake) release(p *pen) {
	held := p.heldup
	p.heldup = nil
	for _, h := range held {
		in.lead(h)
	}
}

// releaseAll releases the rooms that have no reason left to wait.
func (in *intake) releaseAll() {
	for _, p := range in.pens {
		if !in.patient || !in.behind && !p.behind {
			in.release(p)
		}
	}
}

// fallBehind says that messages may have been missed: from the next one on, all
// wait. Any goroutine.
func (in *intake) fallBehind() { in.lane.Put(entry{mark: in.missed}) }

// missed begins an epoch, and has what was missed read. Runs on the lane.
func (in *intake) missed() {
	l := in.life
	in.epoch++
	in.behind, in.patient = true, true
	epoch := in.epoch
	l.tell(func() { l.catchUp(epoch) })
}

// impatient lets live messages wait no longer: what is missed may take a
// server's limits long to read. Any goroutine.
func (in *intake) impatient() {
	in.lane.Put(entry{mark: func() {
		in.patient = false
		in.releaseAll()
	}})
}

// planned says which rooms missed something; all others need not wait.
func (in *intake) planned(epoch uint64, rooms map[string]gate.Room) {
	if in.epoch != epoch {
		return
	}
	for id, p := range in.pens {
		if _, missed := rooms[id]; !missed {
			p.caughtUp()
		}
	}
	for id, facts := range rooms {
		p := in.pen(id)
		p.behind, p.facts, p.asked = true, facts, time.Now()
	}
	in.behind = false
	in.releaseAll()
}

// caughtUp says that a room has missed nothing any more up to a moment of the
// server's clock, zero for none.
func (in *intake) caughtUp(epoch uint64, room string, settled time.Time) {
	if in.epoch != epoch {
		return
	}
	p := in.pen(room)
	p.caughtUp()
	if !in.behind {
		in.life.store.Advance(room, settled)
	}
	in.release(p)
}

// settled reports whether nothing waits anywhere, so that everything heard so
// far is ignored or claimed.
func (in *intake) settled() bool {
	if in.behind || in.full.Load() {
		return false
	}
	for _, p := range in.pens {
		if !p.idle() {
			return false
		}
	}
	return true
}

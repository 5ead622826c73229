package channel

import (
	"sync"
	"time"

	"rcsupervisor/channel/gate"
)

// Bounds of what is remembered of rooms whose events don't say what they are.
const (
	roomsKept   = 1000
	roomFresh   = 10 * time.Minute
	roomWaiting = 100 // messages of one room that wait for its facts
)

// rooms finds out what the events of old servers leave out (RC#12574), and
// what new ones leave open of direct rooms. Messages of a room that is being
// asked about wait, in their order; others go on.
type rooms struct {
	intake *intake

	mu    sync.Mutex
	known map[string]*room
}

type room struct {
	facts   gate.Room
	asked   time.Time
	asking  bool
	waiting []heard
}

// hold gives a message what is known of its room. It reports true, and keeps
// the message, while the room is being asked about.
func (rs *rooms) hold(h *heard) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.known[h.message.RoomID]
	if r == nil {
		return false
	}
	if r.asking {
		r.wait(*h)
		return true
	}
	if time.Since(r.asked) > roomFresh {
		delete(rs.known, h.message.RoomID)
		return false
	}
	if h.room.Known {
		// What the event says is newer.
		facts := r.facts
		facts.Participant, facts.Kind = h.room.Participant, h.room.Kind
		h.room = facts
	} else {
		h.room = r.facts
	}
	return false
}

// find asks about a message's room, and takes the message in again when the
// answer is there. Without one it is neither handled nor settled.
func (rs *rooms) find(h heard) {
	id := h.message.RoomID
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.known[id]
	if r != nil && !r.asking {
		// It was asked and what it is can't be told: the gate will not know
		// more the next time.
		rs.intake.life.tally.ignored(string(gate.StepUnknown))
		return
	}
	if r == nil {
		rs.makePlace()
		r = &room{asking: true}
		rs.known[id] = r
		rs.intake.life.work.Go(func() { rs.ask(id, r) })
	}
	r.wait(h)
}

func (r *room) wait(h heard) {
	if len(r.waiting) < roomWaiting {
		r.waiting = append(r.waiting, h)
	}
}

func (rs *rooms) ask(id string, r *room) {
	facts, err := rs.intake.life.facts(id)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.asking, r.asked, r.facts = false, time.Now(), facts
	waiting := r.waiting
	r.waiting = nil
	if err != nil {
		delete(rs.known, id)
		rs.intake.life.log.Warn("a room could not be asked about; its messages are left", "room", id, "messages", len(waiting), "err", err)
		for range waiting {
			rs.intake.life.tally.ignored(string(gate.StepUnknown))
		}
		return
	}
	for _, h := range waiting {
		rs.intake.add(h)
	}
}

// makePlace forgets a room that is not being asked about when there are many.
func (rs *rooms) makePlace() {
	if len(rs.known) < roomsKept {
		return
	}
	for id, r := range rs.known {
		if !r.asking {
			delete(rs.known, id)
			return
		}
	}
}

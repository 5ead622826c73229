package trial

import (
	"fmt"
	"slices"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
)

// A verdict is what became of all that was asked.
type verdict struct {
	asked, answered, interrupted int
	faults                       []string // each a sentence
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v verdict) String() string {
	return fmt.Sprintf("%d questions: %d answered, %d interrupted, %d faults", v.asked, v.answered, v.interrupted, len(v.faults))
}

// found is what the bot said because of one question.
type found struct {
	parts []int // in the order in which they stand in the room
	notes int
}

// judge reads all rooms of the server: see judgeIn.
func (w *world) judge() verdict { return w.judgeIn(w.server.Rooms()) }

// judgeIn reads rooms and says what became of each question. It goes by what
// people see: by texts, rooms and threads. Only a note, which is the same for
// every question, has to be told by its id.
func (w *world) judgeIn(rooms []pretend.Room) verdict {
	all := w.questions()
	v := verdict{asked: len(all)}
	byID, byNote := make(map[string]*question), make(map[string]*question)
	for _, q := range all {
		byID[q.id], byNote[q.note] = q, q
	}
	said := make(map[string]*found)
	of := func(q *question) *found {
		if said[q.id] == nil {
			said[q.id] = &found{}
		}
		return said[q.id]
	}
	for _, room := range rooms {
		for _, m := range w.server.Messages(room) {
			if m.User.ID != w.bot.ID || m.Type != "" {
				continue
			}
			if id, index, ok := partOf(m.Text); ok && byID[id] != nil {
				q := byID[id]
				v.placed(q, m)
				if index >= len(q.answer) || m.Text != answer(id)[index] {
					v.fault("%s: part %d is not what the agent said", id, index)
				}
				of(q).parts = append(of(q).parts, index)
				continue
			}
			q := byNote[m.ID]
			if q == nil || m.Text != conversation.NoteInterrupted {
				v.fault("the bot said what nobody asked for: %.60q", m.Text)
				continue
			}
			v.placed(q, m)
			of(q).notes++
		}
	}
	begun := w.begun()
	for _, q := range all {
		v.settle(q, of(q), begun[q.id])
	}
	return v
}

// placed finds fault with an answer that is not where it was asked.
func (v *verdict) placed(q *question, m pretend.Message) {
	if m.RoomID != q.room || m.Thread != q.thread {
		v.fault("%s: asked in room %s thread %q, answered in room %s thread %q", q.id, q.room, q.thread, m.RoomID, m.Thread)
	}
}

// settle decides on one question.
func (v *verdict) settle(q *question, f *found, begun int) {
	whole := make([]int, len(q.answer))
	for i := range whole {
		whole[i] = i
	}
	switch {
	case len(f.parts) > 0 && f.notes > 0:
		v.fault("%s: both an answer %v and a note", q.id, f.parts)
	case f.notes > 1:
		v.fault("%s: %d notes", q.id, f.notes)
	case f.notes == 1:
		v.interrupted++
	case len(f.parts) == 0:
		v.fault("%s: neither an answer nor a note (the agent was asked %d times)", q.id, begun)
	case !slices.Equal(f.parts, whole):
		v.fault("%s: the parts %v instead of %v", q.id, f.parts, whole)
	default:
		v.answered++
	}
	if begun > 1 {
		v.fault("%s: the agent was asked %d times", q.id, begun)
	}
	if f.notes == 0 && len(f.parts) > 0 && begun == 0 {
		v.fault("%s: answered by nobody", q.id)
	}
}

package trial

import (
	"strings"
	"testing"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
)

// The judge finds each way in which a question can go wrong, and nothing wrong
// with one that went right.
func TestJudge(t *testing.T) {
	note := func(w *world, q *question) {
		w.tells(q.room, q.thread, conversation.NoteInterrupted, q.note)
	}
	for _, c := range []struct {
		name  string
		begun int
		say   func(*world, *question)
		want  string // what the fault says, "" for none
	}{
		{"answered", 1, func(w *world, q *question) { w.answers(q, 0, 1, 2) }, ""},
		{"interrupted", 1, note, ""},
		{"interrupted before it was asked", 0, note, ""},
		{"nothing", 1, func(*world, *question) {}, "neither"},
		{"torn", 1, func(w *world, q *question) { w.answers(q, 0, 1) }, "instead of"},
		{"out of order", 1, func(w *world, q *question) { w.answers(q, 0, 2, 1) }, "instead of"},
		{"a part twice", 1, func(w *world, q *question) { w.answers(q, 0, 1, 1, 2) }, "instead of"},
		{"twice", 2, func(w *world, q *question) { w.answers(q, 0, 1, 2, 0, 1, 2) }, "instead of"},
		{"asked twice", 2, func(w *world, q *question) { w.answers(q, 0, 1, 2) }, "asked 2 times"},
		{"answered by nobody", 0, func(w *world, q *question) { w.answers(q, 0, 1, 2) }, "by nobody"},
		{"both", 1, func(w *world, q *question) {
			w.answers(q, 0, 1, 2)
			note(w, q)
		}, "both"},
		{"a note for nobody", 1, func(w *world, q *question) {
			w.answers(q, 0, 1, 2)
			w.tells(q.room, "", conversation.NoteInterrupted, "")
		}, "nobody asked for"},
		{"something else", 1, func(w *world, q *question) {
			w.answers(q, 0, 1, 2)
			w.tells(q.room, "", conversation.NoteFailed, "")
		}, "nobody asked for"},
		{"another text", 1, func(w *world, q *question) {
			w.answers(q, 0, 1)
			w.tells(q.room, q.thread, answer(q.id)[2]+"!", q.answer[2])
		}, "not what the agent said"},
		{"another room", 1, func(w *world, q *question) {
			for i, text := range answer(q.id) {
				w.tells(w.rooms[1].ID, "", text, q.answer[i])
			}
		}, "answered in room"},
		{"out of its thread", 1, func(w *world, q *question) {
			for i, text := range answer(q.id) {
				w.tells(q.room, "", text, q.answer[i])
			}
		}, "answered in room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, pretend.Options{})
			root := w.server.Say(w.people[1], w.rooms[0], "hello")
			q := w.say(w.plan(w.people[0], w.rooms[0], root.ID, 3))
			w.begun = func() map[string]int { return map[string]int{q.id: c.begun} }
			c.say(w, q)
			v := w.judge()
			if c.want == "" {
				if len(v.faults) > 0 || v.answered+v.interrupted != 1 {
					t.Error(v, v.faults)
				}
				return
			}
			if !strings.Contains(strings.Join(v.faults, "\n"), c.want) {
				t.Errorf("%v: %q", v, v.faults)
			}
		})
	}
}

// answers posts parts of an answer, as the bot.
func (w *world) answers(q *question, parts ...int) {
	for _, i := range parts {
		w.tells(q.room, q.thread, answer(q.id)[i], "")
	}
}

// tells posts something, as the bot.
func (w *world) tells(room, thread, text, id string) {
	in, _ := w.server.FindRoom(room)
	w.server.Say(w.bot, in, text, pretend.SayOptions{ID: id, Thread: thread})
}

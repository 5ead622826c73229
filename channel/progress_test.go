package channel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// A long turn has one message that tells what it does, changed calmly, and gone
// once there is an answer. A short one has none.
func TestALongTurnShowsItsProgress(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			a := newScripted()
			inBubble(t, v, func(h *house) {
				h.up()
				h.say(h.owner, h.direct, "build it")
				turn := a.next(h)
				turn.events <- agent.Progress{Title: "reading [Question] @all\nfiles"}
				h.pass(progressAfter - time.Second)
				h.wants(h.direct)
				h.pass(2 * time.Second)
				said := h.said(h.direct)
				if len(said) != 1 || !strings.HasPrefix(said[0], "⏳ reading") || strings.ContainsAny(said[0], "[]\n") || strings.Contains(said[0], "@all") {
					h.t.Fatalf("it says %q", said)
				}
				edits := 0
				last := said[0]
				for i := range 60 {
					turn.events <- agent.Progress{Title: "step " + string(rune('a'+i%26))}
					h.pass(time.Second)
					if now := h.said(h.direct); len(now) != 1 {
						h.t.Fatalf("it says %q", now)
					} else if now[0] != last {
						edits, last = edits+1, now[0]
					}
				}
				if edits < 3 || edits > 5 {
					h.t.Errorf("changed %d times in a minute", edits)
				}
				turn.answer("built")
				h.pass(time.Second)
				h.wants(h.direct, "built")
				h.say(h.owner, h.direct, "again")
				turn = a.next(h)
				turn.events <- agent.Progress{Title: "a moment"}
				turn.answer("built again")
				h.pass(time.Minute)
				h.wants(h.direct, "built", "built again")
			}, withScript(a))
		})
	}
}

// Whose question waits is told his place, if it takes a while; the same message
// then tells of the work, and goes with the answer.
func TestAPlaceInLineIsTold(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "one")
		h.say(h.owner, h.direct, "two")
		h.say(h.owner, h.direct, "three")
		first := a.next(h)
		h.pass(placeAfter - time.Second)
		h.wants(h.direct)
		h.pass(2 * time.Second)
		said := h.said(h.direct)
		slices.Sort(said)
		if !slices.Equal(said, []string{"⏳ Your question is in line, behind 2 others.", "⏳ Your question is in line, behind another one."}) {
			h.t.Errorf("it says %q", said)
		}
		first.answer("1")
		second := a.next(h)
		h.pass(progressAfter)
		if said := h.said(h.direct); !slices.Contains(said, "⏳ I am working on it.") {
			h.t.Errorf("it says %q", said)
		}
		second.answer("2")
		a.next(h).answer("3")
		h.pass(time.Second)
		h.wants(h.direct, "1", "2", "3")
	}, withScript(a))
}

// A process that is killed leaves such messages behind; the next one takes them
// away, whatever became of their questions.
func TestAPlaceInLineGoesAfterARestart(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "first")
		h.say(h.owner, h.direct, "second")
		gone := h.say(h.owner, h.direct, "third")
		a.next(h)
		h.pass(placeAfter + time.Second)
		if said := h.said(h.direct); len(said) != 2 {
			h.t.Fatalf("it says %q", said)
		}
		memory := h.store.(*dedup.Memory).Reopen() // nothing more reaches the store
		h.stop()
		h.store = memory
		h.server.Delete(gone.ID, h.owner)
		*a = *newScripted()
		h.up()
		a.next(h).answer("to the second")
		h.pass(time.Minute)
		h.wants(h.direct, conversation.NoteInterrupted, "to the second")
	}, withScript(a))
}

// Without a connection nothing is shown, and nothing waits for it; what an
// earlier run left behind is taken away.
func TestProgressAndConnections(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "build it")
		turn := a.next(h)
		turn.events <- agent.Progress{Title: "compiling"}
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Minute)})
		h.pass(40 * time.Second)
		h.wants(h.direct)
		h.pass(2 * time.Minute)
		h.wants(h.direct, "⏳ compiling")
		h.again()
		b := newScripted()
		withAgent(b)(h)
		h.up()
		h.pass(time.Second)
		if said := h.said(h.direct); len(said) != 1 || strings.Contains(said[0], "⏳") {
			h.t.Errorf("it says %q", said)
		}
	}, withScript(a))
}

// A drain takes the message away too.
func TestProgressAtADrain(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "build it")
		turn := a.next(h)
		turn.events <- agent.Progress{Title: "compiling"}
		h.pass(time.Minute)
		h.super.quit()
		h.super.commands <- Drain{Deadline: time.Now().Add(20 * time.Second)}
		h.rest()
		turn.answer("built")
		h.over()
		h.wants(h.direct, "built")
	}, withScript(a))
}

// `!new` has the agent forget the conversation, stops what runs in it, and shows
// nothing of what was said before; for the asker of the running turn, or an owner.
func TestNewBeginsAnew(t *testing.T) {
	a := &remembering{}
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.den, "@hermes remember the blue house")
		turn := a.next(h)
		h.say(h.member, h.den, "@hermes !new")
		if len(a.renewed) != 0 {
			h.t.Error("a member began an owner's conversation anew")
		}
		h.say(h.owner, h.den, "@hermes !new")
		select {
		case <-turn.gone:
		default:
			h.t.Error("the running turn goes on")
		}
		if want := []string{h.den.ID + "/"}; !slices.Equal(a.renewed, want) {
			h.t.Errorf("anew: %q", a.renewed)
		}
		h.pass(time.Second)
		h.say(h.member, h.den, "@hermes which house?")
		turn = a.next(h)
		if strings.Contains(turn.Prompt, "blue house") {
			h.t.Errorf("it is shown\n%s", turn.Prompt)
		}
		turn.answer("none")
		h.pass(time.Second)
		h.say(h.member, h.den, "@hermes !new")
		if len(a.renewed) != 2 {
			h.t.Errorf("anew: %q", a.renewed)
		}
		h.pass(time.Second)
	}, func(h *house) { a.scripted = *newScripted(); withAgent(a)(h) })
}

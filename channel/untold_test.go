package channel

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// What a connection loses in its first moments can't be told from what was said
// just before it; the next check has it read again, and the connection stays.
func TestWhatIsLostWhileAConnectionBegins(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "hermes", For: pretend.Duration(5 * time.Second)})
		h.up()
		h.pass(time.Second)
		h.server.Say(h.owner, h.direct, "lost")
		h.pass(11 * time.Minute)
		h.wants(h.direct, "echo: lost")
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Errorf("it ended %v", got)
		}
		n := h.server.Count(h.bot, "GET im.history")
		h.pass(time.Hour)
		if more := h.server.Count(h.bot, "GET im.history") - n; more != 0 {
			h.t.Errorf("it was read again %d times more", more)
		}
	})
}

// A server that doesn't say which rooms changed is asked again with the next
// check; and until it says so, or another run is told, no cursor moves past what
// was missed.
func TestAServerThatDoesNotSayWhatChanged(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.up()
				h.say(h.owner, h.lab, "@hermes before")
				h.pass(20 * time.Minute)
				mend := h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "rooms.get", Code: 400, Text: "odd"})
				h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(10 * time.Second)})
				h.pass(time.Second)
				h.server.Say(h.owner, h.lab, "@hermes missed")
				h.pass(3 * time.Minute)
				h.say(h.owner, h.lab, "@hermes live")
				h.pass(10 * time.Second)
				h.wants(h.lab, "echo: before", "echo: live")
				mend()
				ends := len(h.super.reasons())
				if killed {
					h.again()
					h.up()
				}
				h.pass(6 * time.Minute)
				h.wants(h.lab, "echo: before", "echo: live", "echo: missed")
				if got := h.super.reasons(); !killed && len(got) != ends {
					h.t.Errorf("it ended %v", got)
				}
				n := h.server.Count(h.bot, "GET channels.history")
				h.pass(time.Hour)
				if more := h.server.Count(h.bot, "GET channels.history") - n; more != 0 {
					h.t.Errorf("it was read again %d times more", more)
				}
			})
		})
	}
}

// One room, or one question of the last run, of which a server says nothing
// useful does not keep the others from being read; and its cursor stays.
func TestWhatCannotBeReadHoldsUpNothing(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(20 * time.Minute)
		h.say(h.owner, h.lab, "@hermes one")
		h.pass(time.Millisecond)
		h.say(h.owner, h.lab, "@hermes two") // claimed, behind the one that runs
		a.next(h)
		h.again()
		*a = *newScripted()
		h.server.Say(h.owner, h.direct, "missed")
		h.server.Say(h.owner, h.den, "@hermes missed too")
		mend := h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "chat.getMessage", Code: 400, Text: "odd"})
		history := h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "im.history", Code: 400, Text: "odd"})
		h.run()
		if turn := a.next(h); turn.Message.Text != "missed too" {
			h.t.Errorf("asked %q", turn.Message.Text)
		} else {
			turn.answer("here")
		}
		h.pass(2 * time.Minute)
		mend()
		history()
		h.pass(6 * time.Minute) // the next check
		var asked []string
		for range 2 {
			turn := a.next(h)
			asked = append(asked, turn.Message.Text)
			turn.answer("to " + turn.Message.Text)
		}
		slices.Sort(asked)
		if !slices.Equal(asked, []string{"missed", "two"}) {
			h.t.Errorf("asked %q", asked)
		}
		a.none(h)
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

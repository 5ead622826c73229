package channel

import (
	"fmt"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// causes are all reasons for which a server publishes an id once more.
func causes(h *house) map[string]func(m pretend.Message) {
	s := h.server
	all := map[string]func(m pretend.Message){
		"rocketchat-modern-client#11: a reaction":  func(m pretend.Message) { s.React(m.ID, h.member, ":tada:") },
		"a reaction taken back":                    func(m pretend.Message) { s.React(m.ID, h.member, ":+1:"); s.Unreact(m.ID, h.member, ":+1:") },
		"RC#16807: an edit right after a reaction": func(m pretend.Message) { s.React(m.ID, h.member, ":eyes:"); s.Edit(m.ID, h.owner, "@hermes edited") },
		"hubot PR#119, RC PR#6615: an edit":        func(m pretend.Message) { s.Edit(m.ID, h.owner, "@hermes edited again") },
		"hermes-plugin#5: a reply in its thread": func(m pretend.Message) {
			s.Say(h.stranger, h.lab, "a reply", pretend.SayOptions{Thread: m.ID})
		},
		"P44: a reply that the room sees too": func(m pretend.Message) {
			s.Say(h.stranger, h.lab, "a reply for all", pretend.SayOptions{Thread: m.ID, ShowInRoom: true})
		},
		"a pin":                    func(m pretend.Message) { s.Pin(m.ID, h.owner) },
		"a pin taken off":          func(m pretend.Message) { s.Unpin(m.ID, h.owner) },
		"a star":                   func(m pretend.Message) { s.Star(m.ID, h.owner, true) },
		"a star taken off":         func(m pretend.Message) { s.Star(m.ID, h.owner, false) },
		"a thread followed":        func(m pretend.Message) { s.Follow(m.ID, h.stranger, true) },
		"a thread no more":         func(m pretend.Message) { s.Follow(m.ID, h.stranger, false) },
		"the bot's own eyes":       func(m pretend.Message) { s.React(m.ID, h.bot, ":eyes:"); s.Unreact(m.ID, h.bot, ":eyes:") },
		"two subscriptions, twice": func(m pretend.Message) { s.Touch(m.ID, pretend.Repeated); s.Touch(m.ID, pretend.Repeated) },
	}
	for _, c := range []pretend.Cause{
		pretend.Preview, pretend.Translation, pretend.Receipt, pretend.Blocks, pretend.Filled, pretend.Mail,
		pretend.Federated, pretend.Rekeyed, pretend.Discussed, pretend.Repeated,
	} {
		all[string(c)] = func(m pretend.Message) { s.Touch(m.ID, c) }
	}
	return all
}

// The whole kind of RC's re-emits, in all three personalities: at once, hours
// later, after a reconnection, after a restart. One question, one answer.
func TestNothingThatIsPublishedAgainIsAnsweredAgain(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			inBubble(t, v, func(h *house) {
				h.up()
				m := h.say(h.owner, h.lab, "@hermes hello")
				again := func(when string) {
					h.t.Helper()
					for name, cause := range causes(h) {
						cause(m)
						h.rest()
						if got := h.said(h.lab); len(got) != 1 {
							h.t.Fatalf("%s: %s: the bot said %q", when, name, got)
						}
					}
				}
				again("at once")
				h.pass(30 * time.Second)
				again("half a minute later")
				h.pass(5 * time.Hour)
				again("hours later")
				h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: 1000})
				h.pass(time.Second)
				again("after a reconnection")
				h.again()
				h.up()
				again("after a restart")
				h.pass(20 * time.Hour)
				h.again()
				h.up()
				again("the next day, after a restart")
				h.wants(h.lab, "echo: hello")
			})
		})
	}
}

// P45: what is said again of messages the bot never heard, which it may not
// answer either: last week's, and one that was edited to call it.
func TestNothingOldIsAnsweredBecauseItMoves(t *testing.T) {
	eachVersion(t, func(h *house) {
		old := h.server.Say(h.owner, h.lab, "@hermes last week's", pretend.SayOptions{At: time.Now().Add(-7 * 24 * time.Hour)})
		late := h.server.Say(h.owner, h.lab, "@hermes of an hour ago", pretend.SayOptions{At: time.Now().Add(-time.Hour)})
		other := h.server.Say(h.owner, h.lab, "nothing for bots", pretend.SayOptions{At: time.Now().Add(-time.Minute)})
		h.up()
		for name, cause := range causes(h) {
			for _, m := range []pretend.Message{old, late} {
				if name == "two subscriptions, twice" || name == string(pretend.Repeated) {
					continue // to the server's eye, said just now; the age tells
				}
				cause(m)
			}
			cause(other)
			h.pass(time.Second)
		}
		h.server.Touch(old.ID, pretend.Repeated)
		h.server.Touch(late.ID, pretend.Repeated)
		h.pass(time.Second)
		h.wants(h.lab)
	})
}

// An edit before its turn changes what is asked; after it, nothing. A deleted
// question is not asked.
func TestAQueuedQuestionIsEditedOrTakenBack(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.server.ShowDeleted(true)
		first := h.say(h.owner, h.lab, "@hermes first")
		second := h.say(h.owner, h.lab, "@hermes secnd")
		third := h.say(h.owner, h.lab, "@hermes third")
		running := a.next(h)
		h.server.Edit(second.ID, h.owner, "@hermes second")
		h.server.Edit(first.ID, h.owner, "@hermes something else")
		h.server.Delete(third.ID, h.owner)
		h.rest()
		running.answer("to the first")
		turn := a.next(h)
		if turn.Message.Text != "second" {
			h.t.Errorf("asked %q", turn.Message.Text)
		}
		turn.answer("to the second")
		a.none(h)
		h.pass(time.Second)
		h.wants(h.lab, "to the first", "to the second")
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

// RC#8756, Go.SDK#32: every event twice, and every frame nested once more, is
// still one message each.
func TestEveryEventTwice(t *testing.T) {
	for _, kind := range []pretend.Kind{pretend.Duplicate, pretend.NestedArgs} {
		t.Run(string(kind), func(t *testing.T) {
			eachVersion(t, func(h *house) {
				h.server.Break(pretend.Fault{Kind: kind})
				h.up()
				var want []string
				for i := range 20 {
					h.server.Say(h.owner, h.direct, fmt.Sprint(i))
					want = append(want, fmt.Sprintf("echo: %d", i))
				}
				h.pass(time.Second)
				h.wants(h.direct, want...)
			})
		})
	}
}

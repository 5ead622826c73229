package channel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
)

// away takes the server away for d, lets f happen, and waits until the bot is
// back and has caught up.
func (h *house) away(d time.Duration, f func()) {
	h.t.Helper()
	before, _ := h.super.look()
	h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(d)})
	h.pass(time.Second)
	f()
	h.pass(d)
	h.awaitFor(10*time.Second, "the return", func(r Report) bool {
		return r.Phase == Online && r.Connection > before.Connection && r.End == nil
	})
	h.pass(time.Second)
	h.await("caught up", func(r Report) bool { return !r.CatchingUp })
	h.rest()
}

// hermes#16754, matterbridge#325: what was said while the bot was away is
// answered once it is back, in its order, everywhere it would have been.
func TestWhatWasMissedIsCaughtUp(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		off := h.server.AddChannel("off", h.owner, h.bot)
		h.pass(time.Minute)
		h.say(h.owner, h.lab, "@hermes before")
		var late, fresh pretend.Room
		h.away(5*time.Minute, func() {
			for i := range 3 {
				h.server.Say(h.owner, h.direct, fmt.Sprintf("direct %d", i))
				h.server.Say(h.member, h.lab, fmt.Sprintf("@hermes lab %d", i))
				h.server.Say(h.stranger, h.lab, "chatter")
				h.pass(time.Second)
			}
			root := h.server.Say(h.stranger, h.den, "a thread")
			h.server.Say(h.member, h.den, "@hermes in a thread", pretend.SayOptions{Thread: root.ID})
			h.server.Say(h.member, off, "@hermes where you are off")
			h.server.System(h.lab, "uj", "hermes", h.stranger)

			// R32: rooms it was asked into meanwhile, and a first direct message.
			late = h.server.AddGroup("late", h.owner)
			h.server.Say(h.owner, late, "@hermes before you joined")
			h.pass(time.Second)
			h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: late.ID, Mention: true})
			h.super.commands <- Apply{Settings: h.start.Settings, Access: h.start.Access, Credentials: h.start.Credentials}
			h.server.Invite(late, h.bot, h.owner)
			h.pass(time.Second)
			h.server.Say(h.owner, late, "@hermes after you joined")
			fresh = h.server.AddDirect(h.member, h.bot)
			h.server.Say(h.member, fresh, "my first words")

			// RC#41079: what was edited, deleted, or reacted to.
			edited := h.server.Say(h.owner, h.den, "@hermes mistyped")
			h.server.Edit(edited.ID, h.owner, "@hermes well typed")
			called := h.server.Say(h.owner, h.den, "no mention")
			h.server.Edit(called.ID, h.owner, "@hermes mention put in")
			deleted := h.server.Say(h.owner, h.den, "@hermes never mind")
			h.server.Delete(deleted.ID, h.owner)
			reacted := h.server.Say(h.owner, h.den, "@hermes reacted to")
			h.server.React(reacted.ID, h.member, ":+1:")
			h.server.Say(h.stranger, h.den, "and replied to", pretend.SayOptions{Thread: reacted.ID})
		})
		h.wants(h.direct, echoes("direct 0", "direct 1", "direct 2")...)
		h.wants(h.lab, echoes("before", "lab 0", "lab 1", "lab 2")...)
		if got, want := slices.Sorted(slices.Values(h.said(h.den))), echoes("in a thread", "mention put in", "reacted to", "well typed"); !slices.Equal(got, want) {
			h.t.Errorf("in den the bot said %q, want %q", got, want) // a thread is a conversation of its own
		}
		h.wants(off)
		h.wants(late, echoes("after you joined")...)
		h.wants(fresh, echoes("my first words")...)
		c := h.counters()
		if c.CaughtUp != 12 || c.Missed != 0 || c.Claimed != 13 || c.Duplicates != 0 {
			h.t.Errorf("counted %+v", c)
		}
		for _, m := range h.server.Messages(h.den) {
			if m.User.ID == h.bot.ID && m.Text == "echo: in a thread" && m.Thread == "" {
				h.t.Error("a thread's question was answered outside it")
			}
		}
		// And never again.
		h.away(time.Minute, func() {})
		h.again()
		h.up()
		h.pass(time.Minute)
		h.wants(h.direct, echoes("direct 0", "direct 1", "direct 2")...)
		h.wants(h.lab, echoes("before", "lab 0", "lab 1", "lab 2")...)
	})
}

// The first `ready` of a profile is where its life begins: nothing older is
// answered, then or later.
func TestNothingIsAnsweredFromBeforeTheFirstTime(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.server.Say(h.owner, h.direct, "before you were")
		h.server.Say(h.owner, h.lab, "@hermes before you were")
		h.pass(time.Minute)
		h.up()
		h.away(time.Minute, func() { h.server.Say(h.owner, h.direct, "missed") })
		h.again()
		h.up()
		h.pass(time.Second)
		h.wants(h.direct, "echo: missed")
		h.wants(h.lab)
	})
}

// What comes live in a room that is being caught up waits behind what was
// missed there; other rooms go on.
func TestLiveMessagesWaitBehindMissedOnes(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(20 * time.Minute)
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "im.history", Delay: pretend.Duration(20 * time.Second)})
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(10 * time.Second)})
		h.pass(time.Second)
		h.server.Say(h.owner, h.direct, "missed")
		h.await("catching up", func(r Report) bool { return r.CatchingUp })
		live := h.say(h.owner, h.direct, "lve")
		h.say(h.owner, h.lab, "@hermes elsewhere")
		h.server.Edit(live.ID, h.owner, "live")
		h.pass(time.Second)
		h.wants(h.lab, "echo: elsewhere")
		h.wants(h.direct)
		h.await("caught up", func(r Report) bool { return !r.CatchingUp })
		h.pass(time.Second)
		h.wants(h.direct, "echo: missed", "echo: live")
		if c := h.counters(); c.CaughtUp != 2 && c.CaughtUp != 1 || c.Duplicates != 0 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

// What is edited or taken back after it was read from the history, or while it
// waits behind that, is asked as it is then, or not at all.
func TestWhatChangesWhileItIsCaughtUp(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.server.ShowDeleted(true)
		h.up()
		h.pass(20 * time.Minute)
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "im.history", Delay: pretend.Duration(20 * time.Second)})
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(10 * time.Second)})
		h.pass(time.Second)
		missed := h.server.Say(h.owner, h.direct, "mssed")
		regretted := h.server.Say(h.owner, h.direct, "regretted")
		h.await("catching up", func(r Report) bool { return r.CatchingUp })
		live := h.say(h.owner, h.direct, "live")
		withdrawn := h.say(h.owner, h.direct, "withdrawn")
		h.pass(time.Second)
		h.server.Edit(missed.ID, h.owner, "missed")
		h.server.Edit(live.ID, h.owner, "live and edited")
		h.server.Delete(regretted.ID, h.owner)
		h.server.Delete(withdrawn.ID, h.owner)
		h.pass(time.Second)
		h.wants(h.direct)
		h.await("caught up", func(r Report) bool { return !r.CatchingUp })
		h.pass(time.Second)
		h.wants(h.direct, "echo: missed", "echo: live and edited")
		h.again()
		h.up()
		h.pass(time.Minute)
		h.wants(h.direct, "echo: missed", "echo: live and edited")
	})
}

// They don't wait for ever: where a server's limits make catching up take long,
// live ones go ahead, and what was missed still comes, once.
func TestLiveMessagesDoNotWaitForEver(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.server.Break(pretend.Fault{Kind: pretend.RateLimit, Route: "rooms.get", Delay: pretend.Duration(time.Minute), For: pretend.Duration(10 * time.Minute)})
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(10 * time.Second)})
		h.pass(time.Second)
		h.server.Say(h.owner, h.direct, "missed")
		h.pass(20 * time.Second)
		h.say(h.owner, h.direct, "live")
		h.wants(h.direct)
		h.pass(70 * time.Second)
		h.wants(h.direct, "echo: live")
		h.say(h.owner, h.direct, "live too")
		h.pass(time.Second)
		h.wants(h.direct, "echo: live", "echo: live too")
		// Killed now, the cursor is still before what was missed.
		h.again()
		h.server.MendAll()
		h.up()
		h.pass(time.Minute)
		h.wants(h.direct, "echo: live", "echo: live too", "echo: missed")
		if c := h.counters(); c.CaughtUp != 1 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

// Catching up goes at the pace a server allows, and what is live does not wait
// for it.
func TestCatchingUpWithinLimits(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.server.SetRoles(h.bot, "user") // its calls are counted: ten a minute
		h.up()
		rooms := h.rooms(30)
		h.pass(time.Minute)
		h.away(time.Minute, func() {
			for _, room := range rooms {
				h.server.Say(h.owner, room, "@hermes missed")
			}
		})
		h.await("caught up", func(r Report) bool { return !r.CatchingUp && r.Counters.Answered == 30 })
		for _, room := range rooms {
			h.wants(room, "echo: missed")
		}
		if got := h.super.reasons(); len(got) > 20 || slices.Contains(got, "rate-limited") {
			h.t.Errorf("ended for %v", got)
		}
		r, _ := h.super.look()
		if len(r.Warnings) != 1 || r.Warnings[0].Code != "limiter-not-exempt" {
			h.t.Errorf("warned of %v", r.Warnings)
		}
	})
}

// What lies beyond the bounds is not answered, is counted, and its span said.
func TestWhatLiesBeyondTheBoundsIsCounted(t *testing.T) {
	t.Run("too many", func(t *testing.T) {
		inBubble(t, pretend.V9, func(h *house) {
			h.up()
			h.pass(time.Minute)
			h.away(2*time.Minute, func() {
				for i := range 15 {
					h.server.Say(h.owner, h.direct, fmt.Sprint(i))
					h.server.Say(h.stranger, h.lab, "chatter that counts for nothing")
					h.pass(time.Second)
				}
			})
			h.wants(h.direct, echoes("5", "6", "7", "8", "9", "10", "11", "12", "13", "14")...)
			if c := h.counters(); c.Missed != 5 || c.CaughtUp != 10 {
				h.t.Errorf("counted %+v", c)
			}
			if !strings.Contains(h.super.lines(), "messages lie beyond") {
				h.t.Errorf("the log says nothing of it:\n%s", h.super.lines())
			}
		}, with(func(s *Start) { s.Settings.Limits.CatchUpMessages = 10 }))
	})
	t.Run("too long ago", func(t *testing.T) {
		inBubble(t, pretend.V9, func(h *house) {
			h.up()
			h.pass(time.Minute)
			h.away(3*time.Hour, func() {
				h.server.Say(h.owner, h.direct, "three hours ago")
				h.server.Say(h.owner, h.direct, "and again")
				h.pass(150 * time.Minute)
				h.server.Say(h.owner, h.direct, "half an hour ago")
				h.pass(-150 * time.Minute)
			})
			h.wants(h.direct, echoes("half an hour ago")...)
			if c := h.counters(); c.Missed != 2 || c.CaughtUp != 1 {
				h.t.Errorf("counted %+v", c)
			}
		})
	})
	t.Run("none at all", func(t *testing.T) {
		inBubble(t, pretend.V9, func(h *house) {
			h.up()
			h.pass(time.Minute)
			h.away(time.Minute, func() { h.server.Say(h.owner, h.direct, "missed") })
			h.say(h.owner, h.direct, "live")
			h.pass(time.Second)
			h.wants(h.direct, "echo: live")
			if c := h.counters(); c.Missed != 1 || c.CaughtUp != 0 {
				h.t.Errorf("counted %+v", c)
			}
		}, with(func(s *Start) { s.Settings.Limits.CatchUp = 0 }))
	})
}

// A live question that waits behind missed ones is found in its room's history,
// too. It is answered, so it is neither missed nor one of those that may be
// caught up.
func TestALiveQuestionIsNotMissed(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "im.history", Delay: pretend.Duration(20 * time.Second)})
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(10 * time.Second)})
		h.pass(time.Second)
		h.server.Say(h.owner, h.direct, "missed one")
		h.server.Say(h.owner, h.direct, "missed two")
		h.server.Say(h.owner, h.lab, "@hermes missed three, beyond the bound")
		h.server.Say(h.stranger, h.den, "chatter")
		h.await("catching up", func(r Report) bool { return r.CatchingUp })
		h.say(h.owner, h.lab, "@hermes live")
		h.say(h.owner, h.den, "@hermes live too")
		h.await("caught up", func(r Report) bool { return !r.CatchingUp })
		h.pass(time.Second)
		h.wants(h.direct, echoes("missed one", "missed two")...)
		h.wants(h.lab, echoes("live")...)
		h.wants(h.den, echoes("live too")...)
		if c := h.counters(); c.Missed != 1 || c.Claimed != 4 || c.Duplicates != 0 {
			h.t.Errorf("counted %+v", c)
		}
	}, with(func(s *Start) { s.Settings.Limits.CatchUpMessages = 2 }))
}

// What was missed is outside limits.queue and answers_per_hour, and an order
// that was missed does not stop the turn that runs now.
func TestMissedQuestionsWaitOutsideTheQueue(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.away(time.Minute, func() {
			for i := range 12 {
				h.server.Say(h.owner, h.direct, fmt.Sprint(i))
				h.pass(time.Millisecond)
			}
			h.server.Say(h.owner, h.direct, "!stop")
		})
		for i := range 12 {
			turn := a.next(h)
			if turn.Message.Text != fmt.Sprint(i) {
				h.t.Errorf("asked %q, want %d", turn.Message.Text, i)
			}
			turn.answer("answer " + turn.Message.Text)
		}
		h.pass(time.Second)
		if got := h.said(h.direct); len(got) != 12 {
			h.t.Errorf("said %q", got)
		}
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) }, with(func(s *Start) { s.Settings.Limits.Queue, s.Settings.Limits.AnswersPerHour = 2, 3 }))
}

// More comes than may wait while the store can't be written to: nothing is
// kept beyond the bound, and nothing is lost.
func TestAnOverflowIsCaughtUp(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(time.Minute)
		fail(h, true)
		const n = maxWaiting + 300
		for i := range n {
			h.server.Say(h.owner, h.den, fmt.Sprintf("@hermes %d", i))
			h.pass(time.Millisecond)
		}
		h.pass(time.Minute)
		h.wants(h.den)
		fail(h, false)
		h.pass(2 * time.Minute)
		h.await("caught up", func(r Report) bool { return !r.CatchingUp && r.Counters.Answered == n })
		seen := make(map[string]int)
		for _, text := range h.said(h.den) {
			seen[text]++
		}
		for i := range n {
			if seen[fmt.Sprintf("echo: %d", i)] != 1 {
				h.t.Fatalf("%d was answered %d times", i, seen[fmt.Sprintf("echo: %d", i)])
			}
		}
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Errorf("it ended %v", got)
		}
	}, with(func(s *Start) {
		s.Settings.Limits.Queue, s.Settings.Limits.AnswersPerHour, s.Settings.Limits.CatchUpMessages = 5000, 10000, 5000
	}))
}

// Many rooms, each with more missed than one conversation takes live.
func TestFiftyRoomsMissed(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		want := make([]string, 10)
		rooms := h.rooms(50)
		h.pass(time.Minute)
		h.away(10*time.Minute, func() {
			for i := range want {
				for _, room := range rooms {
					h.server.Say(h.owner, room, fmt.Sprintf("@hermes %d", i))
				}
				want[i] = fmt.Sprintf("echo: %d", i)
				h.pass(time.Second)
			}
		})
		h.await("all answers", func(r Report) bool { return r.Counters.Answered == 500 })
		for _, room := range rooms {
			h.wants(room, want...)
		}
	}, with(func(s *Start) { s.Settings.Limits.Queue = 2 }))
}

// rooms makes that many groups that are on.
func (h *house) rooms(n int) []pretend.Room {
	var rooms []pretend.Room
	for i := range n {
		room := h.server.AddGroup(fmt.Sprintf("room-%d", i), h.owner, h.bot)
		rooms = append(rooms, room)
		h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: room.ID, Mention: true})
	}
	h.super.commands <- Apply{Settings: h.start.Settings, Access: h.start.Access, Credentials: h.start.Credentials}
	h.rest()
	return rooms
}

package channel

import (
	"cmp"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// What can go wrong with an answer on its way, and what comes of it: it is in
// its room once, or it ends once with one reason, and what comes after it is
// not held up.
func TestReportedDelivery(t *testing.T) {
	send := "chat.sendMessage"
	for _, c := range []struct {
		name  string
		fault pretend.Fault
		lasts time.Duration
		said  string // in the room, of the first answer; "": "echo: one"
		none  bool   // it is not there
		count func(Counters) uint64
		check func(h *house)
	}{
		{name: "RC#41886 in kind: the reply is lost, the message is there", fault: pretend.Fault{Kind: pretend.LoseReply, Route: send, Count: 1}},
		{name: "the reply is lost five times", fault: pretend.Fault{Kind: pretend.LoseReply, Route: send, Count: 5}},
		{name: "the reply is cut in the middle", fault: pretend.Fault{Kind: pretend.Cut, Route: send, Count: 1}},
		{name: "the reply is a page", fault: pretend.Fault{Kind: pretend.HTML, Route: send, Count: 2}},
		{name: "the reply is a page, for a while", fault: pretend.Fault{Kind: pretend.HTML}, lasts: 10 * time.Minute},
		{name: "RC#22292: 502", fault: pretend.Fault{Kind: pretend.BadGateway, Route: send}, lasts: 10 * time.Minute},
		{name: "500", fault: pretend.Fault{Kind: pretend.ServerError, Route: send}, lasts: 10 * time.Minute},
		{name: "an answer slower than anybody waits", fault: pretend.Fault{Kind: pretend.Slow, Route: send, Delay: pretend.Duration(45 * time.Second), Count: 1}},
		{name: "RC#24539, #15820, #17748: 429", fault: pretend.Fault{Kind: pretend.RateLimit, Route: send, Delay: pretend.Duration(time.Minute)}, lasts: 3 * time.Minute},
		{name: "an app rewrites it", fault: pretend.Fault{Kind: pretend.Rewrite, Text: "b*d w*rds"}, lasts: time.Second, said: "b*d w*rds"},
		{name: "an app rewrites it, and the reply is lost", fault: pretend.Fault{Kind: pretend.Rewrite, Text: "b*d w*rds"}, lasts: time.Minute, said: "b*d w*rds", check: func(h *house) {
			h.server.Break(pretend.Fault{Kind: pretend.LoseReply, Route: send, Count: 1})
		}},
		{name: "an app swallows it", fault: pretend.Fault{Kind: pretend.Swallow, Count: 3}, lasts: time.Minute, none: true, count: func(c Counters) uint64 { return c.Prevented }},
		{name: "RC#14486: its id is somebody else's", fault: pretend.Fault{Kind: pretend.ForeignID, Count: 1}, lasts: time.Minute, none: true, count: func(c Counters) uint64 { return c.Prevented }},
		{name: "botkit-starter#1: it is put into another room", fault: pretend.Fault{Kind: pretend.Misroute, Text: "lab", Count: 1}, lasts: time.Minute, none: true, count: func(c Counters) uint64 { return c.Misrouted }},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(h *house) {
				h.up()
				mend := h.server.Break(c.fault)
				if c.check != nil {
					c.check(h)
				}
				h.say(h.owner, h.direct, "one")
				h.pass(max(c.lasts, time.Second))
				mend()
				h.say(h.owner, h.direct, "two")
				h.pass(2 * time.Minute)
				want := []string{cmp.Or(c.said, "echo: one"), "echo: two"}
				if c.none {
					want = want[1:]
				}
				h.wants(h.direct, want...)
				h.wants(h.lab)
				got := h.counters()
				if c.count != nil && (c.count(got) != 1 || got.Prevented+got.Misrouted+got.Failed+got.Late != 1) {
					h.t.Errorf("counted %+v", got)
				}
				if c.count == nil && (got.Answered != 2 || got.Prevented+got.Misrouted+got.Failed+got.Late != 0) {
					h.t.Errorf("counted %+v", got)
				}
				if n := len(h.super.reasons()); n != 0 {
					h.t.Errorf("it cost the connection: %v", h.super.reasons())
				}
			})
		})
	}
}

// An answer that no server takes within limits.answer_age ends as late, once.
func TestTooLate(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "before")
		mend := h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "chat.sendMessage"})
		h.say(h.owner, h.direct, "one")
		h.pass(65 * time.Minute)
		mend()
		h.say(h.owner, h.direct, "two")
		h.pass(time.Minute)
		h.wants(h.direct, "echo: before", "echo: two")
		if c := h.counters(); c.Late != 1 || c.Answered != 2 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

// Nothing is said while no connection is online, though REST could be asked.
func TestNothingIsPostedWithoutAConnection(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "one")
		turn := a.next(h)
		mend := h.server.Break(pretend.Fault{Kind: pretend.HoldLogin})
		h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: 1000})
		h.pass(time.Second)
		turn.answer("the answer")
		h.pass(10 * time.Minute)
		h.wants(h.direct)
		mend()
		h.pass(2 * time.Minute)
		h.wants(h.direct, "the answer")
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

// A server that takes less than usual gets smaller parts.
func TestTheServersOwnSizeOfMessages(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.server.Set("Message_MaxAllowedSize", 300)
		h.up()
		h.say(h.owner, h.direct, "tell me more")
		text := ""
		for range 100 {
			text += "word "
		}
		a.next(h).answer(text)
		h.pass(time.Second)
		got := h.said(h.direct)
		if len(got) != 2 || len(got[0]) > 300 || len(got[1]) > 300 {
			h.t.Errorf("said %d parts: %q", len(got), got)
		}
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

// A member can't have everybody called, nor a token posted.
func TestWhatIsPostedIsHarmless(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.lab, "@hermes tell @all and @here of v1.uOlivia.rDen.1999999999.AAAAAAAAAAAAAAAAAAAAAA now")
		h.wants(h.lab, "echo: tell @\u200ball and @\u200bhere of (token removed) now")
	})
}

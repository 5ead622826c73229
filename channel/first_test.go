package channel

import (
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// A profile that was told to be online hears, whatever becomes of its process
// before the server has said what time it is, how long its messages are or who
// the bot is.
func TestKilledRightAfterTheFirstReady(t *testing.T) {
	for _, route := range []string{"info", "settings.public", "users.info"} {
		t.Run(route, func(t *testing.T) {
			eachVersion(t, func(h *house) {
				h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(90 * time.Minute)})
				h.say(h.owner, h.direct, "before you were")
				h.pass(3 * time.Second) // a Date names a second
				mend := h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: route, Delay: pretend.Duration(time.Hour)})
				h.run()
				h.await("online", func(r Report) bool { return r.Phase == Online })
				h.pass(3 * time.Second)
				h.say(h.owner, h.direct, "your first question")
				h.say(h.member, h.lab, "@hermes your second")
				h.wants(h.direct)
				h.again()
				mend()
				h.pass(20 * time.Minute)
				h.up()
				h.pass(time.Second)
				h.wants(h.direct, "echo: your first question")
				h.wants(h.lab, "echo: your second")
				h.again()
				h.up()
				h.pass(time.Minute)
				h.wants(h.direct, "echo: your first question")
			})
		})
	}
}

// The same when it is the connection that ends, again and again, and what was
// asked in between.
func TestTheFirstConnectionsEndEarly(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.say(h.owner, h.direct, "before you were")
		h.pass(3 * time.Second)
		mend := h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "info", Delay: pretend.Duration(time.Hour)})
		h.run()
		h.await("online", func(r Report) bool { return r.Phase == Online })
		h.pass(3 * time.Second)
		h.say(h.owner, h.direct, "one")
		h.away(time.Minute, func() { h.server.Say(h.owner, h.direct, "two") })
		h.away(time.Minute, func() { h.server.Say(h.member, h.lab, "@hermes three") })
		mend()
		h.away(time.Minute, func() { h.server.Say(h.owner, h.direct, "four") })
		h.pass(2 * time.Minute)
		h.wants(h.direct, echoes("one", "two", "four")...)
		h.wants(h.lab, "echo: three")
	})
}

// A store that can't be written to when the bot is first online keeps it from
// nothing; and once it can, the first moment is still the first.
func TestTheFirstMomentOnAFullDisk(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		fail(h, true)
		h.up()
		h.pass(3 * time.Second)
		h.say(h.owner, h.direct, "one")
		h.pass(time.Minute)
		h.wants(h.direct)
		fail(h, false)
		h.pass(10 * time.Second)
		h.wants(h.direct, "echo: one")
		h.again()
		h.up()
		h.pass(time.Minute)
		h.wants(h.direct, "echo: one")
	})
}

// A clock of ours that was put back between the two runs makes nothing old new.
func TestTheFirstMomentLiesInTheFuture(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.store.Advance(firstReady, time.Now().Add(time.Hour))
		h.say(h.owner, h.direct, "before you were")
		h.pass(3 * time.Second)
		h.up()
		h.away(time.Minute, func() { h.server.Say(h.owner, h.direct, "missed") })
		h.pass(time.Minute)
		h.wants(h.direct, "echo: missed")
	})
}

// Nothing is reported to be online before its first moment is on disk.
func TestOnlineIsReportedOnceTheFirstMomentIsKept(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		kept := make(chan struct{})
		memory := h.store
		h.store = &slowToKeep{Store: memory, until: kept}
		h.keep = func(dedup.Store) dedup.Store { return memory }
		h.run()
		h.pass(5 * time.Second)
		if r, _ := h.super.look(); r.Phase == Online || !r.OnlineSince.IsZero() {
			h.t.Errorf("reported %s, since %v", r.Phase, r.OnlineSince)
		}
		if !h.server.Online(h.bot) {
			h.t.Error("it is not connected")
		}
		close(kept)
		h.await("online", func(r Report) bool { return r.Phase == Online })
		h.say(h.owner, h.direct, "hello")
		h.pass(time.Second)
		h.wants(h.direct, "echo: hello")
	})
}

// slowToKeep is a store whose first moment takes long to write.
type slowToKeep struct {
	dedup.Store
	until chan struct{}
}

func (s *slowToKeep) Advance(room string, ts time.Time) {
	if room == firstReady {
		<-s.until
	}
	s.Store.Advance(room, ts)
}

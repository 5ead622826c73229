package channel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/pretend"
)

// An event that the socket loses although it works, and although it brings the
// room's next ones, is found by its number; and only it is answered then.
func TestAnEventIsLost(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		var want []string
		ask := func(room pretend.Room, text string) {
			h.say(h.owner, room, "@hermes "+text)
			h.pass(time.Second)
		}
		talk := func(minutes int) {
			for range minutes {
				h.say(h.stranger, h.lab, "chatter")
				h.say(h.member, h.den, "chatter")
				h.pass(time.Minute)
			}
		}
		talk(12)
		ask(h.lab, "before")
		h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "hermes", Count: 1})
		ask(h.lab, "lost")
		ask(h.lab, "after")
		want = echoes("before", "after")
		h.wants(h.lab, want...)
		talk(12)
		h.wants(h.lab, append(want, "echo: lost")...)
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Errorf("it ended %v", got)
		}
		if !strings.Contains(h.super.lines(), "brought less") {
			h.t.Errorf("the log says nothing of it:\n%s", h.super.lines())
		}
		if c := h.counters(); c.CaughtUp != 1 || c.Missed != 0 || c.Duplicates != 0 {
			h.t.Errorf("counted %+v", c)
		}
		// It is found once.
		n := h.server.Count(h.bot, "GET channels.history")
		talk(30)
		if more := h.server.Count(h.bot, "GET channels.history") - n; more != 0 {
			h.t.Errorf("the room was read %d times more", more)
		}
	})
}

// The connection ends before the lost event was read: the next one reads it.
func TestAnEventIsLostAndThenTheConnection(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		talk := func(minutes int) {
			for range minutes {
				h.say(h.member, h.den, "chatter")
				h.pass(time.Minute)
			}
		}
		talk(12)
		h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "hermes", Count: 1})
		h.say(h.owner, h.den, "@hermes lost")
		mend := h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "groups.history", Delay: pretend.Duration(20 * time.Second)})
		talk(1)
		h.await("reading it", func(r Report) bool { return r.CatchingUp })
		h.server.Break(pretend.Fault{Kind: pretend.Drop})
		h.pass(time.Second)
		mend()
		h.pass(time.Minute)
		h.wants(h.den, "echo: lost")
	})
}

// Whatever happens in rooms, nothing that was brought is sought.
func TestNothingIsSoughtInVain(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(time.Minute)
		n := h.server.Count(h.bot, "GET channels.history") + h.server.Count(h.bot, "GET groups.history") + h.server.Count(h.bot, "GET im.history")
		var said []pretend.Message
		for i := range 120 {
			m := h.say(h.owner, h.lab, fmt.Sprintf("@hermes %d", i))
			said = append(said, m)
			old := said[len(said)/2]
			h.server.React(old.ID, h.member, ":+1:")
			h.server.Edit(old.ID, h.owner, "edited")
			h.say(h.stranger, h.lab, "a reply", pretend.SayOptions{Thread: old.ID})
			h.say(h.owner, h.direct, "hello")
			h.server.System(h.lab, "uj", "somebody", h.stranger)
			if i%10 == 0 {
				h.server.Delete(said[0].ID, h.owner)
				said = said[1:]
			}
			h.pass(29 * time.Second)
		}
		m := h.server.Count(h.bot, "GET channels.history") + h.server.Count(h.bot, "GET groups.history") + h.server.Count(h.bot, "GET im.history")
		if m != n {
			h.t.Errorf("histories were read %d times", m-n)
		}
	})
}

func TestCounting(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	every := func(chat.Room) bool { return true }
	room := func(n int) []chat.Room { return []chat.Room{{ID: "r", Messages: n}} }
	hear := func(g *gaps, from, to int) {
		for i := from; i < to; i++ {
			g.heard(&chat.Message{ID: fmt.Sprint(i), RoomID: "r", Sent: chat.At(at(i))})
		}
	}
	for _, c := range []struct {
		name string
		play func(g *gaps) []string
		want []string
	}{
		{"all came", func(g *gaps) []string {
			hear(g, 103, 198)
			g.compare(room(195), at(200), every)
			hear(g, 203, 298)
			g.compare(room(290), at(300), every)
			return g.compare(nil, at(400), every)
		}, nil},
		{"one that may or may not have been counted", func(g *gaps) []string {
			hear(g, 103, 200)
			g.compare(room(198), at(200), every)
			hear(g, 203, 298)
			g.compare(room(292), at(300), every)
			return g.compare(nil, at(400), every)
		}, nil},
		{"one did not, in a period that ends in a blur", func(g *gaps) []string {
			hear(g, 104, 200)
			g.compare(room(198), at(200), every)
			hear(g, 203, 298)
			g.compare(room(293), at(300), every)
			return g.compare(nil, at(400), every)
		}, []string{"r"}},
		{"one did not", func(g *gaps) []string {
			hear(g, 104, 198)
			g.compare(room(195), at(200), every)
			return g.compare(nil, at(300), every)
		}, []string{"r"}},
		{"one that came late did", func(g *gaps) []string {
			hear(g, 104, 198)
			g.compare(room(195), at(200), every)
			hear(g, 103, 104)
			return g.compare(nil, at(300), every)
		}, nil},
		{"one came twice and another never", func(g *gaps) []string {
			hear(g, 104, 198)
			hear(g, 104, 105)
			g.compare(room(195), at(200), every)
			return g.compare(nil, at(300), every)
		}, []string{"r"}},
		{"what comes after the census does not stand for what lies before", func(g *gaps) []string {
			hear(g, 104, 198)
			g.compare(room(195), at(200), every)
			hear(g, 210, 211)
			return g.compare(nil, at(300), every)
		}, []string{"r"}},
		{"something was deleted", func(g *gaps) []string {
			hear(g, 103, 198)
			g.compare(room(150), at(200), every)
			return g.compare(nil, at(300), every)
		}, nil},
		{"another connection", func(g *gaps) []string {
			g.compare(room(199), at(200), every)
			g.begin()
			return g.compare(nil, at(300), every)
		}, nil},
		{"more than is counted", func(g *gaps) []string {
			hear(g, 101, 102+countedKept)
			g.compare(room(5000), at(2000), every)
			return g.compare(nil, at(3000), every)
		}, nil},
		{"a server that doesn't count", func(g *gaps) []string {
			g.compare(room(0), at(200), every)
			return g.compare(nil, at(300), every)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGaps()
			g.compare(room(100), at(100), every)
			if got := c.play(g); !slices.Equal(got, c.want) {
				t.Fatalf("missing %v, want %v", got, c.want)
			}
			read := g.missing()
			if len(read) != len(c.want) || len(read) > 0 && !read["r"].Equal(at(100)) {
				t.Errorf("to be read: %v", read)
			}
			g.missLocked("r", at(50)) // found while it is being read
			g.close(read)
			if left := g.missing(); len(left) != 1 {
				t.Errorf("left %v", left)
			}
			g.close(g.missing())
			if left := g.missing(); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestCountingIsBounded(t *testing.T) {
	g := newGaps()
	var rooms []chat.Room
	for i := range 3 * countedRooms {
		rooms = append(rooms, chat.Room{ID: fmt.Sprint(i), Messages: 1})
	}
	g.compare(rooms, time.Now(), func(r chat.Room) bool { return r.ID != "0" })
	if n := len(g.rooms); n != countedRooms || g.rooms["0"] != nil {
		t.Errorf("%d rooms are counted", n)
	}
}

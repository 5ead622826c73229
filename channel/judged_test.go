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

// hermes-plugin 1.5.0, AutoGPT PR#13174: other bots are known by their type or
// role, also where nothing in their messages says so, and although they are let
// in. People are asked about once.
func TestBotsAreKnownByTheirRole(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.start.Access.People = append(slices.Clone(h.start.Access.People), profile.Person{ID: h.otherBot.ID, Role: profile.Owner})
		h.up()
		for range 5 {
			h.say(h.otherBot, h.lab, "@hermes hello, fellow bot")
			h.say(h.owner, h.lab, "@hermes hello")
			h.pass(time.Minute)
		}
		h.wants(h.lab, echoes("hello", "hello", "hello", "hello", "hello")...)
		if n := h.server.Count(h.bot, "GET users.info"); n != 3 { // itself, and two others
			h.t.Errorf("users were asked about %d times", n)
		}
		if c := h.counters(); c.Ignored["bot"] != 5 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

// A server that doesn't say who is a bot leaves everybody a person.
func TestAServerThatDoesNotSayWhoIsABot(t *testing.T) {
	for name, f := range map[string]pretend.Fault{
		"403":    {Kind: pretend.ServerError, Route: "users.info", Code: 403},
		"429":    {Kind: pretend.RateLimit, Route: "users.info", Delay: pretend.Duration(time.Minute)},
		"a page": {Kind: pretend.HTML, Route: "users.info"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.server.Break(f)
				h.up()
				h.say(h.owner, h.direct, "hello")
				h.say(h.member, h.lab, "@hermes hello")
				h.pass(2 * time.Second)
				h.wants(h.direct, "echo: hello")
				h.wants(h.lab, "echo: hello")
			})
		})
	}
}

// RC#12574: events that don't say what their room is. It is asked once; what
// can't be told now is neither handled nor forgotten; others' rooms are not
// answered in, and a direct room of several is a group.
func TestEventsThatDoNotSayTheirRoom(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.NoContext})
		several := h.server.AddDirect(h.owner, h.member, h.bot)
		foreign := h.server.AddChannel("foreign", h.owner)
		h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: foreign.ID})
		h.up()
		h.pass(time.Minute)
		mend := h.server.Break(pretend.Fault{Kind: pretend.BadGateway, Route: "rooms.info"})
		h.say(h.owner, h.lab, "@hermes one")
		h.say(h.owner, h.lab, "@hermes two")
		h.pass(20 * time.Second)
		h.wants(h.lab)
		mend()
		h.pass(20 * time.Second)
		h.say(h.owner, h.lab, "@hermes three")
		h.say(h.owner, h.direct, "direct")
		h.say(h.owner, several, "not for you alone")
		h.say(h.owner, foreign, "@hermes are you here?")
		h.pass(20 * time.Second)
		h.wants(h.lab, echoes("one", "two", "three")...)
		h.wants(h.direct, "echo: direct")
		h.wants(several)
		h.wants(foreign)
	})
}

// hubot#67: a direct room of several people is a group, however it is kept.
func TestADirectRoomOfSeveral(t *testing.T) {
	eachVersion(t, func(h *house) {
		several := h.server.AddDirect(h.owner, h.member, h.bot)
		h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: several.ID, Mention: true})
		h.up()
		h.say(h.owner, several, "among us")
		h.say(h.owner, several, "@hermes for you")
		h.pass(time.Second)
		h.wants(several, "echo: for you")
	})
}

// A room that takes no messages of the bot is not asked in, unless it may post
// there all the same.
func TestReadOnlyAndArchivedRooms(t *testing.T) {
	eachVersion(t, func(h *house) {
		own := h.server.AddChannel("own", h.bot, h.owner)
		h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: own.ID, Mention: true})
		h.server.SetReadOnly(h.lab, true)
		h.server.SetReadOnly(own, true)
		h.server.Archive(h.den, true)
		h.up()
		h.say(h.owner, h.lab, "@hermes read only")
		h.say(h.owner, h.den, "@hermes archived")
		h.say(h.owner, own, "@hermes your own")
		h.pass(time.Second)
		h.wants(h.lab)
		h.wants(h.den)
		h.wants(own, "echo: your own")
		c := h.counters()
		if c.Ignored["read-only"] != 1 || c.Ignored["archived"] != 1 || c.Claimed != 1 {
			h.t.Errorf("counted %+v", c)
		}
		h.server.SetReadOnly(h.lab, false)
		h.pass(11 * time.Minute)
		h.say(h.owner, h.lab, "@hermes in between") // asks anew, and is judged by what is known
		h.say(h.owner, h.lab, "@hermes open now")
		h.pass(time.Second)
		if got := h.said(h.lab); len(got) == 0 || got[len(got)-1] != "echo: open now" {
			h.t.Errorf("said %q", got)
		}
	})
}

// limits.answers_per_hour holds for each person, is said now and then, and is
// over after an hour.
func TestAnswersPerHour(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		for range 10 {
			h.say(h.member, h.lab, "@hermes again")
			h.pass(time.Second)
		}
		h.say(h.owner, h.lab, "@hermes me too")
		h.pass(time.Second)
		want := append(echoes("again", "again", "again"), "You have had all the answers I may give you in an hour. Please come back later.", "echo: me too")
		h.wants(h.lab, want...)
		if c := h.counters(); c.Ignored["rate"] != 7 {
			h.t.Errorf("counted %+v", c)
		}
		h.pass(61 * time.Minute)
		h.say(h.member, h.lab, "@hermes an hour later")
		h.pass(time.Second)
		h.wants(h.lab, append(want, "echo: an hour later")...)
	}, with(func(s *Start) { s.Settings.Limits.AnswersPerHour = 3 }))
}

// octos#1546: two bots that nobody knows to be bots, and that answer each
// other, come to an end.
func TestTwoBotsEndSomewhere(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		var crowd []profile.Person
		var speakers []pretend.User
		for i := range 10 {
			u := h.server.AddUser(fmt.Sprintf("speaker-%d", i), pretend.UserOptions{})
			h.server.Join(h.lab, u)
			speakers = append(speakers, u)
			crowd = append(crowd, profile.Person{ID: u.ID, Role: profile.Member})
		}
		h.start.Access.People = crowd
		h.up()
		said := 0
		for i := range 200 {
			h.say(speakers[i%10], h.lab, "@hermes "+fmt.Sprint(i))
			h.pass(time.Second)
			if now := len(h.said(h.lab)); now > said {
				said = now
				continue
			}
			break // the other has nothing to answer any more
		}
		if limit := roomCap(20); said != limit {
			h.t.Errorf("said %d things, want %d", said, limit)
		}
		if c := h.counters(); c.Ignored["loop"] == 0 {
			h.t.Errorf("counted %+v", c)
		}
	}, with(func(s *Start) { s.Settings.Limits.AnswersPerHour = 20 }))
}

// A room nobody but its readers can read: said once in it.
func TestAnEncryptedRoom(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		for range 3 {
			h.say(h.owner, h.direct, "c1pher", pretend.SayOptions{Type: "e2e"})
			h.pass(time.Minute)
		}
		h.wants(h.direct, "This room is encrypted, so I can't read what you write here.")
	})
}

// A stranger gets one line, a request is made of him, a code makes an owner of
// him, and a crowd of them does not make the bot a chatterbox.
func TestStrangers(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.super.answer = func(r Request) (Reply, error) { return Reply{OK: r.Kind == "code" && r.Code == "ABCDEFGH"}, nil }
		room := h.server.AddDirect(h.stranger, h.bot)
		h.say(h.stranger, room, "who are you?")
		h.say(h.stranger, room, "hello?")
		h.say(h.stranger, h.lab, "@hermes hello?")
		h.say(h.stranger, room, "ABCDEFGJ")
		h.say(h.stranger, room, " ABCDEFGH ")
		h.pass(time.Second)
		h.wants(room, strangerLine, provedLine)
		h.wants(h.lab)
		for i := range 20 {
			u := h.server.AddUser(fmt.Sprintf("stranger-%d", i), pretend.UserOptions{})
			h.say(u, h.server.AddDirect(u, h.bot), "let me in")
		}
		h.pass(time.Second)
		told, asked := 0, 0
		for _, room := range h.server.Rooms() {
			for _, text := range h.said(room) {
				if text == strangerLine {
					told++
				}
			}
		}
		for _, r := range h.super.asked {
			if r.Kind == "request" {
				asked++
			}
		}
		if told != strangersAnHour || asked != 22 {
			h.t.Errorf("%d strangers were told, %d requests made", told, asked)
		}
	})
}

// Our own commands, and who may give them.
func TestCommands(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.den, "@hermes work")
		turn := a.next(h)
		h.say(h.member, h.den, "@hermes /help")
		h.say(h.member, h.den, "@hermes !status")
		h.say(h.stranger, h.lab, "@hermes !stop")
		h.say(h.member, h.den, "@hermes /model gpt")
		h.say(h.owner, h.lab, "@hermes !stop")
		h.say(h.member, h.den, "@hermes !stop")
		select {
		case <-turn.gone:
		default:
			h.t.Error("the asker could not stop his turn")
		}
		h.say(h.owner, h.den, "@hermes /model gpt")
		bare := a.next(h)
		if bare.Prompt != "/model gpt" || !bare.Bare || bare.Asker != "" {
			h.t.Errorf("the agent was given %+v", bare.Question)
		}
		bare.answer("done")
		h.pass(time.Second)
		got := h.said(h.den)
		if len(got) != 5 || got[0] != helpText || got[1] != "I am here, with 1 question at work and 0 messages still to be posted." ||
			!strings.HasPrefix(got[2], "That command is not open to you here.") || got[3] != "Stopped." || got[4] != "done" {
			h.t.Errorf("said %q", got)
		}
		h.wants(h.lab, "I am not working on anything here.")
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

func TestStatusCounts(t *testing.T) {
	for want, n := range map[string][2]int{
		"I am here, with 0 questions at work and 0 messages still to be posted.":  {0, 0},
		"I am here, with 1 question at work and 1 message still to be posted.":    {1, 1},
		"I am here, with 21 questions at work and 2 messages still to be posted.": {21, 2},
	} {
		if got := statusText(n[0], n[1]); got != want {
			t.Errorf("%d and %d: %q", n[0], n[1], got)
		}
	}
}

// reply: thread answers a top-level question in a thread of its own, which is a
// conversation of its own.
func TestReplyInAThread(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		m := h.say(h.owner, h.lab, "@hermes hello")
		h.say(h.owner, h.direct, "hello")
		h.pass(time.Second)
		h.wants(h.lab, "echo: hello")
		for _, room := range []pretend.Room{h.lab, h.direct} {
			for _, answer := range h.server.Messages(room) {
				if answer.User.ID != h.bot.ID {
					continue
				}
				want := m.ID
				if room.ID == h.direct.ID {
					want = ""
				}
				if answer.Thread != want {
					h.t.Errorf("in %s answered in thread %q, want %q", room.Name, answer.Thread, want)
				}
			}
		}
	}, with(func(s *Start) { s.Settings.Reply = "thread" }))
}

// A server whose clock is an hour off is warned of; messages are aged by it.
func TestAServersClockThatIsOff(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			eachVersion(t, func(h *house) {
				h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(off)})
				h.up()
				h.await("a warning", func(r Report) bool { return warned(r, "clock") })
				h.pass(time.Minute)
				h.say(h.owner, h.direct, "now")
				h.say(h.owner, h.direct, "of a quarter of an hour ago", pretend.SayOptions{At: h.server.Now().Add(-15 * time.Minute)})
				h.away(5*time.Minute, func() { h.server.Say(h.owner, h.direct, "missed") })
				h.pass(15 * time.Minute)
				h.wants(h.direct, "echo: now", "echo: missed")
				if got := h.super.reasons(); slices.Contains(got, "deaf") {
					h.t.Errorf("it ended %v", got)
				}
			})
		})
	}
}

// A clock that is put right while the bot runs.
func TestAServersClockThatSteps(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.say(h.owner, h.direct, "one")
		mend := h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(2 * time.Hour)})
		h.say(h.owner, h.direct, "two, two hours ahead")
		h.pass(10 * time.Minute)
		mend()
		h.say(h.owner, h.direct, "three, back again")
		h.away(5*time.Minute, func() { h.server.Say(h.owner, h.direct, "four, missed") })
		h.pass(time.Minute)
		h.wants(h.direct, echoes("one", "three, back again", "four, missed", "two, two hours ahead")...) // by the server's time
	})
}

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

// codesAsked are the codes that the supervisor was asked about, each with who
// wrote it.
func (s *super) codesAsked() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.asked {
		if r.Kind == "code" {
			all = append(all, r.User+" "+r.Code)
		}
	}
	return all
}

// The one-time code counts where nobody else reads along, and from nobody who
// is blocked: anywhere else it is not even a try.
func TestACodeInTheWrongPlace(t *testing.T) {
	eachVersion(t, func(h *house) {
		const code = "ABCDEFGH"
		blocked := h.server.AddUser("ben", pretend.UserOptions{})
		h.start.Access.People = append(slices.Clone(h.start.Access.People), profile.Person{ID: blocked.ID, Role: profile.Blocked})
		h.up()
		h.super.answer = func(r Request) (Reply, error) { return Reply{OK: r.Code == code}, nil }
		several := h.server.AddDirect(h.stranger, h.member, h.bot)
		h.server.Join(h.lab, blocked)
		for _, from := range []pretend.User{h.stranger, blocked} {
			h.say(from, h.lab, code)
			h.say(from, h.lab, "@hermes "+code)
			h.say(from, h.lab, "@hermes !"+code)
		}
		h.say(h.stranger, several, code)
		h.say(h.stranger, several, "@hermes "+code)
		h.say(h.otherBot, h.server.AddDirect(h.otherBot, h.bot), code)
		h.say(blocked, h.server.AddDirect(blocked, h.bot), code)
		h.pass(time.Second)
		for _, room := range h.server.Rooms() {
			h.wants(room)
		}
		if got := h.super.codesAsked(); got != nil {
			h.t.Errorf("tried: %q", got)
		}
		// Nor is what only looks like one.
		room := h.server.AddDirect(h.stranger, h.bot)
		for _, like := range []string{strings.ToLower(code), "ABCD EFGH", "ABCD-EFGH", code + "2", code[:7], "ABCDEFG0", "ABCDEFGI", "ＡBCDEFGH", "\u0410BCDEFGH", "ABCDEFGH\u200b", "`ABCDEFGH`", "my code is " + code} {
			h.say(h.stranger, room, like)
		}
		if got := h.super.codesAsked(); got != nil {
			h.t.Errorf("tried: %q", got)
		}
		h.say(h.stranger, room, "\n "+code+" \r\n")
		h.pass(time.Second)
		if got := h.super.codesAsked(); !slices.Equal(got, []string{h.stranger.ID + " " + code}) {
			h.t.Errorf("tried: %q", got)
		}
		h.wants(room, strangerLine, provedLine)
	})
}

// A request takes what a stranger calls himself as it is, and his id: whoever
// shows it makes it fit to be seen. He is told nothing that he wrote.
func TestAStrangerWithAHostileName(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		u := h.server.AddUser("x\u202e\x1b[31m[owner]\n", pretend.UserOptions{})
		room := h.server.AddDirect(u, h.bot)
		h.say(u, room, "\x1b[31m@all let me in\x07")
		h.pass(time.Second)
		h.wants(room, strangerLine)
		h.super.mu.Lock()
		defer h.super.mu.Unlock()
		if len(h.super.asked) != 1 || h.super.asked[0].User != u.ID {
			h.t.Errorf("asked %+v", h.super.asked)
		}
		for _, r := range h.super.log {
			if strings.Contains(r.Message, "\x1b") || strings.Contains(fmt.Sprint(r.Attrs), "\x1b") {
				h.t.Errorf("logged %+v", r)
			}
		}
	})
}

// R69: a room of a kind that nobody knows is left alone, which is said, once.
func TestARoomOfAKindNobodyKnows(t *testing.T) {
	eachVersion(t, func(h *house) {
		odd := h.server.AddRoom("z", "odd", h.owner, h.bot)
		desk := h.server.AddRoom("l", "desk", h.owner, h.bot)
		for _, r := range []pretend.Room{odd, desk} {
			h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: r.ID})
		}
		h.up()
		for range 3 {
			h.say(h.owner, odd, "@hermes hello")
			h.say(h.owner, desk, "@hermes hello")
		}
		h.pass(time.Second)
		h.wants(odd)
		h.wants(desk)
		if n := strings.Count(h.super.lines(), "not listened to room="+odd.ID); n != 1 || strings.Contains(h.super.lines(), desk.ID) {
			h.t.Errorf("it was said %d times:\n%s", n, h.super.lines())
		}
		if c := h.counters(); c.Ignored["kind"] != 3 || c.Ignored["livechat"] != 3 || c.Claimed != 0 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

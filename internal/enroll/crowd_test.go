package enroll

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
)

// person does something about one, and returns what a person is told of it.
func (h *house) person(do, id string) (Crowd, error) {
	h.t.Helper()
	return h.People(h.t.Context(), Operator, "alice", PersonWish{Do: do, ID: id})
}

// Who takes the last owner away is told what that means, however he does it.
func TestTheLastOwner(t *testing.T) {
	for _, do := range []string{"let-in", "block", "forget"} {
		h := newHouse(t)
		h.add("alice", h.ada)
		olivia := h.owner
		mia := h.server.AddUser("mia", pretend.UserOptions{})
		for _, id := range []string{"@olivia", mia.ID} {
			c, err := h.person("owner", id)
			must(t, err)
			if c.Note != "" {
				t.Errorf("a note on a new owner: %s", c.Note)
			}
		}
		c, err := h.person(do, "@mia")
		must(t, err)
		if c.Note != "" {
			t.Errorf("%s: a note while somebody else is an owner: %s", do, c.Note)
		}
		c, err = h.person(do, olivia.ID)
		must(t, err)
		if c.Note != noOwner {
			t.Errorf("%s: told %q", do, c.Note)
		}
		if c, err = h.person("block", "@mia"); err != nil || c.Note != "" {
			t.Errorf("%s: told again: %q, %v", do, c.Note, err)
		}
		c, err = h.person("owner", "@olivia") // whatever was done to him is undone so
		must(t, err)
		if !slices.Contains(c.People, PersonRow{olivia.ID, "olivia", profile.Owner}) {
			t.Errorf("%s: %+v", do, c.People)
		}
	}
}

// What somebody wrote that is nobody and nowhere is not repeated to a terminal
// as it is.
func TestWhatWasWrittenIsShownHarmless(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	for _, s := range []string{"\x1b[2J\r\nx", "\u202e\u009b31m\u200b\u2028", "\x00\xff", strings.Repeat("é ", 200)} {
		for _, id := range []string{s, "@" + s} {
			for _, do := range []string{"let-in", "forget"} {
				_, err := h.person(do, id)
				said(t, err)
			}
		}
		for _, prefix := range []string{"", "#"} {
			for _, do := range RoomActs {
				hall, err := h.Rooms(t.Context(), Operator, "alice", RoomWish{Do: do, ID: prefix + s})
				said(t, err)
				if hall.Changed != nil && err == nil {
					t.Errorf("rooms %s %q: %+v", do, prefix+s, hall.Changed)
				}
			}
		}
		_, err := h.person(s, "@olivia")
		said(t, err)
	}
	if _, err := h.person("let-in", "@ada"); !errors.Is(err, ErrUnlikely) || !strings.Contains(err.Error(), "the bot itself") {
		t.Errorf("the bot, by its name: %v", err)
	}
}

// said fails unless it is an error that can be shown.
func said(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	text := err.Error() + Hint(err)
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || len(text) > 500 {
		t.Errorf("%.200q", text)
	}
}

// Whoever opens a discussion names it as he likes. A name that several rooms
// go by turns none of them on or off.
func TestTwoRoomsOfOneName(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	mallory := h.server.AddUser("mallory", pretend.UserOptions{})
	plans := h.server.AddGroup("plans", mallory, h.ada)
	trap := h.server.AddDiscussion(plans, "plans", mallory, h.ada)
	rooms := func(do, id string) (Hall, error) {
		return h.Rooms(t.Context(), Operator, "alice", RoomWish{Do: do, ID: id})
	}
	_, err := rooms("on", "#plans")
	if !errors.Is(err, ErrUnlikely) || !strings.Contains(err.Error(), "2 rooms are called #plans") || !strings.Contains(err.Error(), plans.ID) || !strings.Contains(err.Error(), trap.ID) {
		t.Errorf("on: %v", err)
	}
	if try := h.hintOf(err); try != "rcsupervisor rooms alice on ID" {
		t.Errorf("try: %s", try)
	}
	hall, err := rooms("on", plans.ID)
	must(t, err)
	if i := slices.IndexFunc(hall.Rooms, func(r RoomRow) bool { return r.On }); i < 0 || hall.Rooms[i].ID != plans.ID {
		t.Errorf("%+v", hall.Rooms)
	}
	// Of those that are on only one goes by that name.
	hall, err = rooms("off", "#plans")
	must(t, err)
	if hall.Changed == nil || hall.Changed.ID != plans.ID {
		t.Errorf("off: %+v", hall.Changed)
	}
	for _, id := range []string{plans.ID, trap.ID} {
		if _, err := rooms("on", id); err != nil {
			t.Error(err)
		}
	}
	if _, err := rooms("off", "#plans"); !errors.Is(err, ErrUnlikely) || !strings.Contains(err.Error(), "2 rooms are called") {
		t.Errorf("off: %v", err)
	}
	// Without the server the names in the file are what is known.
	h.server.Close()
	if _, err := rooms("off", "#plans"); !errors.Is(err, ErrUnlikely) {
		t.Errorf("off, without the server: %v", err)
	}
	hall, err = rooms("off", trap.ID)
	must(t, err)
	if hall.Changed.ID != trap.ID {
		t.Errorf("%+v", hall.Changed)
	}
	hall, err = rooms("off", "#plans")
	must(t, err)
	if hall.Changed.ID != plans.ID || len(hall.Rooms) != 0 {
		t.Errorf("%+v", hall)
	}
}

// A server may be anybody's: ids that it makes up are not shown to a terminal,
// and let nobody in.
func TestIdsThatAServerMakesUp(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	mallory := h.server.AddUser("mallory", pretend.UserOptions{ID: "x\x1b[2Jy"})
	h.server.AddUser("eve", pretend.UserOptions{ID: "a b"})
	h.server.AddGroup("trap", mallory, h.ada)
	for _, id := range []string{"@mallory", mallory.ID, "@eve"} {
		c, err := h.person("owner", id)
		said(t, err)
		if c.People != nil {
			t.Errorf("%q: %+v", id, c.People)
		}
	}
	c, err := h.person("", "")
	must(t, err)
	if len(c.People) != 0 {
		t.Errorf("let in: %+v", c.People)
	}
}

package catchup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel/chat"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at is a time before noon.
func at(before time.Duration) time.Time { return noon.Add(-before) }

const (
	minute = time.Minute
	hour   = time.Hour
)

func TestWhereARoomIsRead(t *testing.T) {
	for _, c := range []struct {
		name string
		room Room
		born time.Duration // before noon; 0: long ago
		on   time.Duration // last online, before noon
		from time.Duration
		lost time.Duration // where the lost span begins; it ends at from. 0: nothing is lost
	}{
		{name: "from its cursor, with grace", room: Room{Cursor: at(30 * minute)}, on: 20 * minute, from: 32 * minute},
		{name: "a quiet room's cursor is long ago, and nothing is lost", room: Room{Cursor: at(72 * hour)}, on: 20 * minute, from: hour},
		{name: "away longer than may be caught up", room: Room{Cursor: at(5 * hour)}, on: 4 * hour, from: hour, lost: 4 * hour},
		{name: "the cursor is behind: an earlier catching up was broken off", room: Room{Cursor: at(40 * minute)}, on: 30 * minute, from: 42 * minute},
		{name: "never heard: from the last time online, exactly", room: Room{Joined: at(100 * hour)}, on: 20 * minute, from: 20 * minute},
		{name: "joined meanwhile: from then, exactly", room: Room{Joined: at(5 * minute)}, on: 20 * minute, from: 5 * minute},
		{name: "the server does not say when it joined", on: 20 * minute, from: 20 * minute},
		{name: "never heard, away for long", room: Room{Joined: at(100 * hour)}, on: 3 * hour, from: hour, lost: 3 * hour},
		{name: "joined meanwhile, long ago", room: Room{Joined: at(2 * hour)}, on: 3 * hour, from: hour, lost: 2 * hour},
		{name: "grace does not reach before it joined", room: Room{Joined: at(31 * minute), Cursor: at(30 * minute)}, on: 20 * minute, from: 31 * minute},
		{name: "nor before the profile's first time", room: Room{Cursor: at(30 * minute)}, born: 31 * minute, on: 20 * minute, from: 31 * minute},
		{name: "a cursor in the future is not believed", room: Room{Cursor: at(-hour)}, on: 20 * minute, from: 20 * minute},
		{name: "nor a time of joining", room: Room{Joined: at(-hour)}, on: 20 * minute, from: 20 * minute},
		{name: "nor a last time online", room: Room{Joined: at(100 * hour)}, on: -hour, from: hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.room.ID, c.room.Kind = "room", chat.Group
			m := Moments{Online: at(c.on), Now: noon, Age: hour}
			if c.born != 0 {
				m.Born = at(c.born)
			}
			want := Stretch{Room: "room", Kind: chat.Group, From: at(c.from)}
			if c.lost != 0 {
				want.Lost = Span{at(c.lost), at(c.from)}
			}
			if diff := cmp.Diff([]Stretch{want}, Plan([]Room{c.room}, m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOrderOfRooms(t *testing.T) {
	rooms := []Room{
		{ID: "voice", Kind: chat.Voice},
		{ID: "b", Kind: chat.Channel, Cursor: at(10 * minute)},
		{ID: "livechat", Kind: chat.Livechat},
		{ID: "a", Kind: chat.Channel, Cursor: at(10 * minute)},
		{ID: "longest", Kind: chat.Group, Cursor: at(20 * minute)},
		{ID: "direct, short", Kind: chat.Direct, Cursor: at(minute)},
		{ID: "direct, long", Kind: chat.Direct, Cursor: at(5 * minute)},
		{ID: "unknown", Kind: "z"},
	}
	var got []string
	for _, s := range Plan(rooms, Moments{Online: at(30 * minute), Now: noon, Age: hour}) {
		got = append(got, s.Room)
	}
	if diff := cmp.Diff([]string{"direct, long", "direct, short", "longest", "a", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSinceWhenARoomMustHaveChanged(t *testing.T) {
	m := Moments{Online: at(20 * minute), Now: noon, Age: hour}
	if got := m.Since(); !got.Equal(at(22 * minute)) {
		t.Errorf("since %v", got)
	}
	m.Online = at(-hour)
	if got := m.Since(); !got.Equal(at(62 * minute)) {
		t.Errorf("a last time online in the future: since %v", got)
	}
}

func TestSpans(t *testing.T) {
	a, b := Span{at(3 * hour), at(2 * hour)}, Span{at(hour), noon}
	for _, c := range []struct{ s, t, want Span }{
		{a, b, Span{at(3 * hour), noon}},
		{b, a, Span{at(3 * hour), noon}},
		{Span{}, a, a},
		{a, Span{}, a},
		{a, Span{at(hour), at(hour)}, a},
		{Span{at(4 * hour), noon}, a, Span{at(4 * hour), noon}},
	} {
		if got := c.s.with(c.t); got != c.want {
			t.Errorf("%v with %v is %v", c.s, c.t, got)
		}
	}
}

package catchup

import (
	"cmp"
	"slices"
	"time"

	"rcsupervisor/channel/chat"
)

// Grace is how far before a cursor reading begins.
const Grace = 2 * time.Minute

// A Room that changed while nobody may have listened. Times are the server's.
type Room struct {
	ID     string
	Kind   chat.Kind
	Joined time.Time // when the bot came into it; zero: not said
	Cursor time.Time // up to where it is settled; zero: never heard
}

// A Span of time, from its beginning up to but not including its end.
type Span struct{ From, To time.Time }

// Empty reports whether nothing lies in the span.
func (s Span) Empty() bool { return !s.From.Before(s.To) }

// with is the span that holds s and t.
func (s Span) with(t Span) Span {
	switch {
	case s.Empty():
		return t
	case t.Empty():
		return s
	}
	if t.From.Before(s.From) {
		s.From = t.From
	}
	if t.To.After(s.To) {
		s.To = t.To
	}
	return s
}

// A Stretch is what is to be read of one room: everything from From on. Lost
// is what lies between the last that was settled and From: too long ago to be
// answered. It is read only to be counted.
type Stretch struct {
	Room string
	Kind chat.Kind
	From time.Time
	Lost Span
}

// Moments bound what is read. Times are the server's.
type Moments struct {
	Born   time.Time // when the profile was online for the first time
	Online time.Time // up to when all rooms are known to be settled
	Now    time.Time
	Age    time.Duration // limits.catch_up
}

// Believed is m without what lies in the future: a server whose clock was put
// back has given such times, and they say nothing. What was settled then is
// read again, and is known by its ids.
func (m Moments) Believed() Moments {
	if m.Online.After(m.Now) {
		m.Online = m.Now.Add(-m.Age)
	}
	m.Born = m.past(m.Born)
	return m
}

// past is t, or nothing if it lies in the future.
func (m Moments) past(t time.Time) time.Time {
	if t.After(m.Now) {
		return time.Time{}
	}
	return t
}

// Since is from when on a room that has changed may have missed something.
func (m Moments) Since() time.Time { return m.Believed().Online.Add(-Grace) }

// Plan says what is to be read, in order.
func Plan(rooms []Room, m Moments) []Stretch {
	m = m.Believed()
	var plan []Stretch
	for _, r := range rooms {
		r.Joined, r.Cursor = m.past(r.Joined), m.past(r.Cursor)
		if readable(r.Kind) {
			plan = append(plan, r.stretch(m))
		}
	}
	slices.SortFunc(plan, func(a, b Stretch) int {
		return cmp.Or(
			cmp.Compare(rank(a.Kind), rank(b.Kind)),
			a.From.Compare(b.From),
			cmp.Compare(a.Room, b.Room),
		)
	})
	return plan
}

// readable holds for the kinds of rooms in which the bot ever answers.
func readable(k chat.Kind) bool { return k == chat.Direct || k == chat.Group || k == chat.Channel }

func rank(k chat.Kind) int {
	if k == chat.Direct {
		return 0
	}
	return 1
}

// stretch is where a room's reading begins: where it was settled, but not
// before the bot was there, nor beyond the age.
func (r Room) stretch(m Moments) Stretch {
	settled := later(r.Joined, m.Online)
	from := settled
	if !r.Cursor.IsZero() {
		settled = later(r.Cursor, m.Online)
		from = later(r.Cursor.Add(-Grace), later(r.Joined, m.Born))
	}
	s := Stretch{Room: r.ID, Kind: r.Kind, From: from}
	if floor := m.Now.Add(-m.Age); from.Before(floor) {
		s.From = floor
		if settled.Before(floor) {
			s.Lost = Span{settled, floor}
		}
	}
	return s
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

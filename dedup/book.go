package dedup

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"time"
)

// Bounds of what one question may hold. A part is one chat message, so they
// are far above anything an agent says.
const (
	maxParts    = 1<<16 - 1
	maxAnswer   = 8 << 20  // bytes of all texts of an answer
	maxQuestion = 64 << 10 // bytes of a question's names
	maxRooms    = 4096     // cursors, the profile's own beside them
)

// A mark stands for a message id, or a room's, wherever only sameness counts:
// the first half of its SHA-256. It bounds what a record costs, whatever ids a
// server thinks of, and nothing is kept of a message that is done with.
type mark [16]byte

func markOf(s string) mark {
	sum := sha256.Sum256([]byte(s))
	return mark(sum[:16])
}

// An entry is a question that is not done, with its unsettled parts. It never
// changes once it is in a book: a step puts another in its place.
type entry struct {
	Question
	total int // parts the answer had
}

// A book is everything a store knows of one bot, in memory. The file holds the
// same, and is read only when it is opened: what was committed and what a
// caller is told can't drift apart by what happens to the file meanwhile.
//
// It has no lock of its own; see its holders, [DB] and [Memory].
type book struct {
	slots map[day]map[mark]struct{} // all that is known
	open  map[mark]*entry           // of it, what is not done
	// left is the last step of a question whose caller left without being
	// told that it happened. See [Store].
	left map[mark]kind

	rooms map[string]time.Time // cursors
	moved map[string]struct{}  // rooms whose cursor is not written, or gone
}

func newBook() *book {
	return &book{
		slots: make(map[day]map[mark]struct{}),
		open:  make(map[mark]*entry),
		left:  make(map[mark]kind),
		rooms: make(map[string]time.Time),
		moved: make(map[string]struct{}),
	}
}

func (b *book) state(m mark) (State, bool) {
	if e := b.open[m]; e != nil {
		return e.State, true
	}
	for _, marks := range b.slots {
		if _, ok := marks[m]; ok {
			return Done, true
		}
	}
	return 0, false
}

// known is the answer to a claim that needs no step: a question that is known
// and that somebody was told is his.
func (b *book) known(m mark) bool {
	_, ok := b.state(m)
	return ok && b.left[m] == 0
}

func (b *book) empty() bool { return len(b.slots)+len(b.open)+len(b.rooms) == 0 }

func (b *book) days() []day { return slices.Sorted(maps.Keys(b.slots)) }

// oldest returns the marks of all open questions, oldest first.
func (b *book) oldest() []mark {
	marks := slices.Collect(maps.Keys(b.open))
	slices.SortFunc(marks, func(x, y mark) int {
		p, q := b.open[x].ID, b.open[y].ID
		if c := p.At.Compare(q.At); c != 0 {
			return c
		}
		return strings.Compare(p.Message, q.Message)
	})
	return marks
}

// question returns a copy of an open question that its caller may keep.
func (b *book) question(m mark) (Question, bool) {
	e := b.open[m]
	if e == nil {
		return Question{}, false
	}
	q := e.Question
	q.Parts = slices.Clone(q.Parts)
	return q, true
}

// own reports whether a cursor is not a room's but the profile's. See [Store].
func own(room string) bool { return room == "" || room[0] == ' ' }

// advance moves a cursor and reports whether it moved.
func (b *book) advance(room string, ts time.Time) bool {
	at, ok := b.rooms[room]
	if ts.IsZero() || ok && !ts.After(at) {
		return false
	}
	if !ok && room != "" && len(b.rooms) >= maxRooms {
		b.forgetRoom()
	}
	b.rooms[room] = ts.Round(0).UTC()
	b.moved[room] = struct{}{}
	return true
}

// forgetRoom drops the oldest cursor once there are maxRooms of them. The
// profile's own is never dropped.
func (b *book) forgetRoom() {
	if _, own := b.rooms[""]; own && len(b.rooms) == maxRooms {
		return
	}
	oldest := ""
	for room, ts := range b.rooms {
		if room != "" && (oldest == "" || ts.Before(b.rooms[oldest])) {
			oldest = room
		}
	}
	if oldest != "" {
		delete(b.rooms, oldest)
		b.moved[oldest] = struct{}{}
	}
}

func (b *book) know(m mark, slot day) {
	if b.slots[slot] == nil {
		b.slots[slot] = make(map[mark]struct{})
	}
	b.slots[slot][m] = struct{}{}
}

// merge makes a draft that was committed part of the book.
func (b *book) merge(d *draft) {
	for m, e := range d.open {
		if e == nil {
			delete(b.open, m)
		} else {
			b.open[m] = e
		}
	}
	for slot := range d.drop {
		delete(b.slots, slot)
	}
	for m, slot := range d.marks {
		b.know(m, slot)
	}
	for m := range d.touched {
		delete(b.left, m)
	}
	for room, ts := range d.rooms {
		if now := b.rooms[room]; now.Equal(ts) {
			delete(b.moved, room)
		}
	}
	maps.DeleteFunc(b.left, func(m mark, _ kind) bool {
		_, ok := b.state(m)
		return !ok
	})
}

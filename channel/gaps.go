package channel

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"rcsupervisor/channel/chat"
)

// A socket that works may still lose an event, and bring the next one of the
// same room: then the room's newest message is known, and an older one is not.
// But a server counts a room's messages. When a room has got more between two
// checks than the socket brought of it, it is read again from the first on.
//
// This finds what is missing where nothing was deleted meanwhile, and where the
// server says how many there are; what it finds in vain costs one page of
// history. A room is judged one check later, when all is here that was sent, and
// by a census about whose moment nothing was said: one with a message every
// other second is never judged.

// Bounds of what is counted.
const (
	countedRooms = 200
	countedKept  = 1000 // messages of a room between two checks; beyond them it is not judged
	// blur is by how much a census may be of another moment than it seems: the
	// server's clock is known to a second, and it took a while to answer.
	blur = 2 * time.Second
)

// A census is what a server said of a room's messages, and when, by its clock.
type census struct {
	messages int
	at       time.Time
}

// A roomCount is a room between two checks.
type roomCount struct {
	base, next census
	brought    map[uint64]time.Time // by the socket since base, by a hash of their ids
}

// gaps counts what the present connection brings, and remembers where something
// is missing. Any goroutine.
type gaps struct {
	mu    sync.Mutex
	seed  maphash.Seed
	rooms map[string]*roomCount
	open  map[string]time.Time // from when on a room is to be read
}

func newGaps() *gaps { return &gaps{seed: maphash.MakeSeed()} }

// begin forgets what an earlier connection brought; what was missing is known.
func (g *gaps) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rooms = nil
}

// heard takes a message that the socket brought.
func (g *gaps) heard(m *chat.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.rooms[m.RoomID]
	switch {
	case c == nil, !m.Sent.After(c.base.at):
	case len(c.brought) >= countedKept:
		delete(g.rooms, m.RoomID)
	default:
		c.brought[maphash.String(g.seed, m.ID)] = m.Sent.Time
	}
}

// compare takes what a server says of rooms that changed, by its clock at a
// moment, and returns those in which something is missing.
func (g *gaps) compare(rooms []chat.Room, at time.Time, listens func(chat.Room) bool) (missing []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, c := range g.rooms {
		if c.next.at.IsZero() {
			continue
		}
		if !c.sharp(c.next) { // judged by the next one
			c.next = census{}
			continue
		}
		if c.sharp(c.base) && c.next.messages-c.base.messages > c.count() {
			missing = append(missing, id)
			g.missLocked(id, c.base.at)
		}
		c.base, c.next = c.next, census{}
		maps.DeleteFunc(c.brought, func(_ uint64, sent time.Time) bool { return !sent.After(c.base.at) })
	}
	for _, r := range rooms {
		said := census{messages: r.Messages, at: at}
		switch c := g.rooms[r.ID]; {
		case r.Messages <= 0 || !listens(r):
		case r.Last != nil && at.Sub(r.Last.Sent.Time).Abs() < blur:
		case c != nil:
			c.next = said
		case len(g.rooms) < countedRooms:
			if g.rooms == nil {
				g.rooms = make(map[string]*roomCount)
			}
			g.rooms[r.ID] = &roomCount{base: said, brought: make(map[uint64]time.Time)}
		}
	}
	return missing
}

// sharp reports whether it is clear which messages a census counted: none came
// about when it was taken.
func (c *roomCount) sharp(n census) bool {
	for _, sent := range c.brought {
		if sent.Sub(n.at).Abs() < blur {
			return false
		}
	}
	return true
}

// count is how many messages came of those that the room got.
func (c *roomCount) count() (n int) {
	for _, sent := range c.brought {
		if !sent.After(c.next.at) {
			n++
		}
	}
	return n
}

func (g *gaps) missLocked(room string, from time.Time) {
	if g.open == nil {
		g.open = make(map[string]time.Time)
	}
	if was, ok := g.open[room]; !ok || from.Before(was) {
		g.open[room] = from
	}
}

// missing returns from when on rooms are to be read because something is
// missing in them.
func (g *gaps) missing() map[string]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.open)
}

// close says that what missing returned was read.
func (g *gaps) close(read map[string]time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for room, from := range read {
		if g.open[room].Equal(from) {
			delete(g.open, room)
		}
	}
}

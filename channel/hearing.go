package channel

import (
	"sync"
	"time"
)

// hearing remembers, of the present connection, how new the newest message of
// each room is that it brought. Bounded; any goroutine.
type hearing struct {
	mu    sync.Mutex
	began time.Time
	rooms map[string]time.Time
}

const hearingRooms = 5000

func newHearing() *hearing { return &hearing{rooms: make(map[string]time.Time)} }

// begin forgets what an earlier connection brought.
func (h *hearing) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = time.Now()
	h.rooms = make(map[string]time.Time)
}

func (h *hearing) heard(room string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.rooms[room]
	if !ok && len(h.rooms) >= hearingRooms {
		return
	}
	if sent.After(last) {
		h.rooms[room] = sent
	}
}

// has reports whether a room's message of that time was brought, or a newer
// one. Of rooms beyond the bound nothing is known, and they accuse nobody.
func (h *hearing) has(room string, sent time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.rooms[room]
	if !ok {
		return len(h.rooms) >= hearingRooms
	}
	return !last.Before(sent)
}

// age is how long the present connection has been listening.
func (h *hearing) age(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.began)
}

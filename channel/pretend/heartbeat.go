package pretend

import (
	"sync"
	"time"
)

// The times after which a server asks whether a client is there, and for how
// long it waits for the answer.
const (
	meteorBeat   = 15 * time.Second // heartbeatInterval and heartbeatTimeout
	streamerBeat = 30 * time.Second
)

// A heartbeat pings a quiet client and ends a session that doesn't answer.
//
// Meteor looks every 15 s whether anything came since it looked last, so that
// a client which only answers is pinged every 30 s. The streamer pings after
// 30 s of silence.
type heartbeat struct {
	session *session

	mu      sync.Mutex
	tick    *time.Timer // Meteor: the next look; streamer: the end of the quiet time
	timeout *time.Timer // Meteor: runs while a ping is unanswered
	seen    bool        // Meteor: something came since the last look
	asked   bool        // streamer: the tick after a ping ends the session
	stopped bool
}

func (h *heartbeat) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session.server.v.streamer {
		h.tick = time.AfterFunc(streamerBeat, h.quiet)
		return
	}
	h.tick = time.AfterFunc(meteorBeat, h.look)
}

// heard is called for each frame that came.
func (h *heartbeat) heard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.tick == nil {
		return
	}
	if h.session.server.v.streamer {
		h.asked = false
		h.tick.Reset(streamerBeat)
		return
	}
	h.seen = true
	if h.timeout != nil {
		h.timeout.Stop()
		h.timeout = nil
	}
}

// look is Meteor's interval.
func (h *heartbeat) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if !h.seen && h.timeout == nil {
		h.session.ping()
		h.timeout = time.AfterFunc(meteorBeat, h.unanswered)
	}
	h.seen = false
	h.tick.Reset(meteorBeat)
}

// unanswered ends a session, unless a fault plays dead: a link that is gone
// doesn't close either.
func (h *heartbeat) unanswered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timeout = nil
	if !h.stopped && !h.session.dead() {
		h.session.end(closeNormal)
	}
}

// quiet is the streamer's timer.
func (h *heartbeat) quiet() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopped:
	case h.asked && !h.session.dead():
		h.session.end(closeTimeout)
	default:
		h.asked = true
		h.session.ping()
		h.tick.Reset(streamerBeat)
	}
}

func (h *heartbeat) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	if h.tick != nil {
		h.tick.Stop()
	}
	if h.timeout != nil {
		h.timeout.Stop()
	}
}

package worker

import (
	"errors"
	"time"
)

// errFlood is a worker that says more than a channel can have to say.
var errFlood = errors.New("the worker flooded its link")

// Bounds of what a worker may say: a burst, and so much a second on average. A
// busy channel makes four reports a second, and a few lines and questions for
// each message; twenty thousand frames a minute are no channel's.
const (
	floodFrames = 20_000
	floodBytes  = 64 << 20
	steadyShare = 60 // the burst is refilled within so many seconds
)

// A meter measures what comes over a link.
type meter struct {
	frames, bytes float64 // what may still come
	last          time.Time
}

// count takes one frame in.
func (m *meter) count(n int, now time.Time) error {
	if m.last.IsZero() {
		m.frames, m.bytes, m.last = floodFrames, floodBytes, now
	}
	if d := now.Sub(m.last).Seconds(); d > 0 {
		m.frames = min(floodFrames, m.frames+d*floodFrames/steadyShare)
		m.bytes = min(floodBytes, m.bytes+d*floodBytes/steadyShare)
		m.last = now
	}
	m.frames--
	m.bytes -= float64(n)
	if m.frames < 0 || m.bytes < 0 {
		return errFlood
	}
	return nil
}

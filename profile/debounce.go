package profile

import "time"

// How long the watcher waits for a change to be over, and at most.
const (
	Debounce    = 250 * time.Millisecond
	DebounceMax = 2 * time.Second
)

// A burst is a run of events about one thing. The zero burst is none.
type burst struct{ first, last time.Time }

// hit notes an event.
func (b *burst) hit(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

// due is when the burst counts as over: after a quiet moment, or when it has
// gone on for too long to wait for one. Zero when there is none.
func (b *burst) due() time.Time {
	if b.first.IsZero() {
		return time.Time{}
	}
	quiet, latest := b.last.Add(Debounce), b.first.Add(DebounceMax)
	if latest.Before(quiet) {
		return latest
	}
	return quiet
}

// over reports whether the burst is due, and ends it then.
func (b *burst) over(now time.Time) bool {
	if d := b.due(); d.IsZero() || now.Before(d) {
		return false
	}
	*b = burst{}
	return true
}

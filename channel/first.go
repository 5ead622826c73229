package channel

import "time"

// A profile answers nothing that was said before its first `ready`, and
// everything that was said after it. So that moment is on disk before anybody is
// told that the bot is online; by our own clock, since the server's is not known
// yet. Once it is, the moment becomes the profile's first cursor.

// The names, of no room, under which the store keeps these moments.
const (
	// firstReady is the first `ready`, by our clock. It is of no use any more
	// once there is a cursor.
	firstReady = " ready"
	// firstOnline is the same by the server's clock. It may be forgotten for a
	// room's cursor once it is so long ago that nothing reaches back to it.
	firstOnline = " born"
)

// born reports whether the profile's first moment is known, by either clock.
func (l *life) born() bool {
	_, online := l.store.Cursor("")
	_, ready := l.store.Cursor(firstReady)
	return online || ready
}

// begins keeps the profile's first `ready`, durably if the disk allows. Runs on
// the lane: nothing is taken in before.
func (l *life) begins(ready time.Time) {
	if !l.born() { // by an earlier connection, meanwhile
		l.store.Advance(firstReady, ready)
	}
}

// firstTime gives a profile that has no cursor its first, and reports whether it
// is the `ready` of this connection's: then nothing was missed. It is not after
// a connection, or a process, that ended before it came to this.
func (l *life) firstTime(ready time.Time) (now bool) {
	if _, known := l.store.Cursor(""); known {
		return false
	}
	moment := ready
	if first, known := l.store.Cursor(firstReady); known && first.Before(ready) {
		moment = first // a later one is of a clock that was put back since
	}
	offset, _ := l.client.Load().ClockOffset()
	byServer := moment.Add(offset - clockError)
	l.store.Advance(firstOnline, byServer)
	l.store.Advance("", byServer)
	return moment.Equal(ready)
}

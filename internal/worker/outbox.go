package worker

import (
	"sync"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/sealed"
)

// An outbox is what is to be sent to a worker. Putting in never waits; what
// could pile up is latest-wins, or bounded by the number of open questions.
type outbox struct {
	mu      sync.Mutex
	poke    *sync.Cond
	waiting waiting
	replies []wireReply
	frames  []frame   // taken apart already
	sent    uint64    // the number of the last command that was sent
	took    uint64    // of the last that the channel took
	since   time.Time // when the oldest that was not taken was given
	last    sealed.Credentials
	closed  bool
}

// A frame that is ready to be written.
type frame struct {
	kind kind
	body []byte
}

func newOutbox() *outbox {
	b := &outbox{}
	b.poke = sync.NewCond(&b.mu)
	return b
}

func (b *outbox) command(c channel.Command) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.waiting.put(c)
	if b.since.IsZero() {
		b.since = time.Now()
	}
	b.poke.Signal()
}

func (b *outbox) reply(r wireReply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.replies = append(b.replies, r)
		b.poke.Signal()
	}
}

// handed notes the credentials that the worker has.
func (b *outbox) handed(c sealed.Credentials) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = c
}

// taken notes that the channel took a command and all before it.
func (b *outbox) taken(number uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number > b.took && number <= b.sent {
		b.took = number
	}
	b.clock()
}

// clock starts the clock anew when one command was taken and others wait, and
// stops it when none does. Called with the lock.
func (b *outbox) clock() {
	b.since = time.Time{}
	if b.took < b.sent {
		b.since = time.Now()
		return
	}
	for _, c := range b.waiting {
		if c != nil {
			b.since = time.Now()
		}
	}
}

// asked is since when a command waits to be taken; zero for none.
func (b *outbox) asked() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// next waits for the next frame to send; ok is false when the link has ended.
func (b *outbox) next() (f frame, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.closed:
			return frame{}, false
		case len(b.frames) > 0:
			f, b.frames = b.frames[0], b.frames[1:]
			return f, true
		case len(b.replies) > 0:
			f = frame{kindReply, marshal(b.replies[0])}
			b.replies = b.replies[1:]
			return f, true
		case b.pack():
		default:
			b.poke.Wait()
		}
	}
}

// pack makes frames of the next command. Credentials that are others than the
// worker has go before it.
func (b *outbox) pack() bool {
	for i, c := range b.waiting {
		if c == nil {
			continue
		}
		b.waiting[i] = nil
		if a, ok := c.(channel.Apply); ok && !a.Credentials.Equal(b.last) {
			if data, err := a.Credentials.MarshalHandover(); err == nil {
				b.frames = append(b.frames, frame{kindCredentials, data})
				b.last = a.Credentials
			}
		}
		b.sent++
		b.frames = append(b.frames, frame{kindCommand, marshal(commandFrame(b.sent, c))})
		return true
	}
	return false
}

// close ends the link's outgoing half.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.since = true, time.Time{}
	b.last = sealed.Credentials{}
	for _, f := range b.frames {
		if f.kind == kindCredentials {
			clear(f.body)
		}
	}
	b.frames, b.replies = nil, nil
	clear(b.waiting[:])
	b.poke.Broadcast()
}

package supervisor

import (
	"context"
	"sync"
)

// A mailbox brings changes to the one goroutine that makes them, in their
// order. Putting one in never waits, so two owners can't wait for each other.
// It needs no bound of its own: whoever puts changes in has few under way at a
// time, and what a run reports is kept outside, latest wins.
type mailbox struct {
	mu     sync.Mutex
	list   []func()
	closed bool
	poke   chan struct{} // capacity 1: there is something
}

func newMailbox() *mailbox { return &mailbox{poke: make(chan struct{}, 1)} }

// put adds a change, and reports false when nobody will make it any more.
func (m *mailbox) put(change func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.list = append(m.list, change)
	select {
	case m.poke <- struct{}{}:
	default:
	}
	return true
}

// take returns what has come since the last take.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}

// close takes nothing in any more, and returns what nobody has taken.
func (m *mailbox) close() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	list := m.list
	m.list = nil
	return list
}

// ask makes a change on the keeper's goroutine and returns what came of it.
func (k *keeper) ask(ctx context.Context, change func() error) error {
	reply := make(chan error, 1)
	if !k.tell(func() {
		if k.ending || k.leaving {
			reply <- errEnding
			return
		}
		reply <- change()
	}) {
		return errEnding
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

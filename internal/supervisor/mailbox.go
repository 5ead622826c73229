package supervisor

import (
	"context"
	"sync"
)

// A mailbox brings changes to the one goroutine that makes them, in their
// order, and which is there only while there are any. Putting one in never
// waits, so two owners can't wait for each other. It needs no bound of its own:
// whoever puts changes in has few under way at a time, and what a run reports is
// kept outside, latest wins.
type mailbox struct {
	mu     sync.Mutex
	list   []func()
	busy   bool // somebody makes changes
	closed bool
}

// put adds a change, and calls start, which waits for nothing, when nobody is at
// work on those that wait. It reports false when nobody will make it any more.
func (m *mailbox) put(change, start func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.list = append(m.list, change)
	if !m.busy {
		m.busy = true
		start()
	}
	return true
}

// take returns what has come since the last take, and nil, and the mailbox is
// idle, when there is nothing.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list, m.busy = nil, len(list) > 0
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

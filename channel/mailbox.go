package channel

import "sync"

// A mailbox brings changes to the goroutine that owns what they change, in the
// order in which they were put. Putting never waits: who puts may be the
// goroutine that reads a socket.
type mailbox struct {
	wake chan struct{} // holds one token while there may be something to take

	mu      sync.Mutex
	changes []func()
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(change func()) {
	m.mu.Lock()
	m.changes = append(m.changes, change)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	changes := m.changes
	m.changes = nil
	return changes
}

package trial

import "sync"

// A slot holds the latest of what was put into it, until it is taken. Putting
// never waits.
type slot[T any] struct {
	wake chan struct{} // holds a token when there is something to take

	mu     sync.Mutex
	latest *T
}

func newSlot[T any]() *slot[T] { return &slot[T]{wake: make(chan struct{}, 1)} }

func (s *slot[T]) put(v T) {
	s.mu.Lock()
	s.latest = &v
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns nil when there is nothing.
func (s *slot[T]) take() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.latest
	s.latest = nil
	return v
}

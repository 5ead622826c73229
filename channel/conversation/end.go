package conversation

import "context"

// Quiesce takes nothing more and begins no further turn. What waits is left to
// the store; what runs goes on.
func (s *Set) Quiesce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// Drained waits until nothing runs, waits, or is being said; or for ctx.
func (s *Set) Drained(ctx context.Context) error {
	s.mu.Lock()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.idleLocked()
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idleLocked tells those who wait for it that there is nothing to do.
func (s *Set) idleLocked() {
	if s.idle != nil && len(s.open) == 0 && s.saying == 0 {
		close(s.idle)
		s.idle = nil
	}
}

// End cancels what runs. Nothing is lost by it: the store has every question,
// and an answer that was whole is stored.
func (s *Set) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.end(ErrEnding) // under the lock: nothing is begun after it
}

// Close is End, and waits until all turns have ended, which is theirs and the
// agent's to do in time.
func (s *Set) Close() {
	s.End()
	s.group.Wait()
}

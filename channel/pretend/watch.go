package pretend

import "context"

// changedLocked tells those who wait that something changed.
func (s *Server) changedLocked() {
	if s.watch != nil {
		close(s.watch)
		s.watch = nil
	}
}

func (s *Server) changedNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changedLocked()
}

// Changed returns a channel that is closed at the next change of anything a
// test can ask about: messages, members, connections, logins, calls, faults.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		s.watch = make(chan struct{})
	}
	return s.watch
}

// Await returns nil once cond holds, asking again at every change, or with
// ctx's cause. It neither polls nor sleeps, so it works on a fake clock. cond
// is called without any lock held and may call the server's methods.
func (s *Server) Await(ctx context.Context, cond func() bool) error {
	for {
		changed := s.Changed()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AwaitMessage returns the first message of r, oldest first, of which match
// says yes.
func (s *Server) AwaitMessage(ctx context.Context, r Room, match func(Message) bool) (Message, error) {
	var found Message
	err := s.Await(ctx, func() bool {
		for _, m := range s.Messages(r) {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found, err
}

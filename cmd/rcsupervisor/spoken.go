package main

import (
	"io"
	"sync"
)

// spoken is a stream that remembers that something could not be written to it,
// so that who prints need not look each time.
type spoken struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.to.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// lost is why something could not be printed, nil if everything was.
func (s streams) lost() error {
	if out, ok := s.out.(*spoken); ok {
		return out.lost()
	}
	return nil
}

func (s *spoken) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

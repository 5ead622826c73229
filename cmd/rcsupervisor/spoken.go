package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// spoken is a stream that remembers that something could not be written to it,
// so that who prints need not look each time.
type spoken struct {
	to io.Writer

	mu   sync.Mutex
	err  error
	gone chan struct{} // closed with the first err; nil where nobody asked
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.to.Write(p)
	if s.err == nil && err != nil {
		s.err = err
		if s.gone != nil {
			close(s.gone)
		}
	}
	return n, err
}

// listened returns a context that ends with ctx, when the terminal goes away,
// and when nobody reads any more what is printed. Without it both would end the
// program at once, and leave behind what it made.
func (s streams) listened(ctx context.Context) (context.Context, func()) {
	broken := make(chan os.Signal, 1) // a write to a closed pipe fails then, and is no more than that
	signal.Notify(broken, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	if out, ok := s.out.(*spoken); ok {
		out.mu.Lock()
		gone := make(chan struct{})
		out.gone = gone
		out.mu.Unlock()
		go func() {
			select {
			case <-gone:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() {
		cancel()
		stop()
		signal.Stop(broken)
	}
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

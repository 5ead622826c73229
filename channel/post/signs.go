package post

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Times of the signs of work. Typing notices fade after about 15 s; a server
// allows 40 in 40 s on one connection, of which half are left to others. The
// eyes come a moment later than the typing, so that an answer given at once
// costs the server no two reactions.
const (
	typingEvery = 10 * time.Second
	eyesAfter   = 300 * time.Millisecond
	signTimeout = 20 * time.Second
	eyes        = ":eyes:"
)

// Signs show people that a question is being worked on: 👀 under it, and the
// typing notice in its room. They are best effort: one that can't be sent is
// dropped, never queued.
type Signs struct {
	React func(ctx context.Context, message, emoji string, on bool) error
	// Type sends a typing notice over the connection there is, if any.
	Type func(room, thread string, on bool)
	// Caught gets the value of a panic; see conversation.Config.
	Caught func(any)
	Log    *slog.Logger

	group   sync.WaitGroup
	once    sync.Once
	typings *rate.Limiter
}

// Show begins the signs of one question; what it returns ends them. Neither
// waits for the server.
func (s *Signs) Show(room, thread, message string) (done func()) {
	s.once.Do(func() { s.typings = rate.NewLimiter(0.5, 20) })
	stop := make(chan struct{})
	s.group.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				s.Caught(p)
			}
		}()
		s.show(room, thread, message, stop)
	})
	return sync.OnceFunc(func() { close(stop) })
}

// Wait returns when all signs have ended. Each done must have been called.
func (s *Signs) Wait() { s.group.Wait() }

func (s *Signs) show(room, thread, message string, stop <-chan struct{}) {
	typed := s.typing(room, thread)
	look := time.NewTimer(eyesAfter)
	defer look.Stop()
	renew := time.NewTicker(typingEvery)
	defer renew.Stop()
	looked := false
	for {
		select {
		case <-look.C:
			looked = s.eyes(message, true)
		case <-renew.C:
			typed = s.typing(room, thread) || typed
		case <-stop:
			if typed {
				s.Type(room, thread, false)
			}
			if looked {
				s.eyes(message, false)
			}
			return
		}
	}
}

func (s *Signs) typing(room, thread string) bool {
	if !s.typings.Allow() {
		return false
	}
	s.Type(room, thread, true)
	return true
}

func (s *Signs) eyes(message string, on bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
	defer cancel()
	if err := s.React(ctx, message, eyes, on); err != nil {
		s.Log.Debug("no eyes under a question", "message", message, "on", on, "err", err)
		return false
	}
	return true
}

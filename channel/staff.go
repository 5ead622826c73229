package channel

import (
	"context"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
)

// replaceGrace is how long an agent that was replaced may finish its running
// turns.
const replaceGrace = time.Minute

// A staff is the agent there is, and those it replaced that still finish their
// turns. It may be used from any goroutine.
type staff struct {
	mu   sync.Mutex
	now  *hired
	gone sync.WaitGroup // of those that were replaced
	quit chan struct{}  // closed by close
}

// A hired agent, and its running turns.
type hired struct {
	agent.Agent
	turns int
	let   chan struct{} // closed when it was replaced and has no turns left
	going bool
}

func hire(e Env, start Start, link Link) (*staff, error) {
	a, err := e.Agent(start, link)
	if err != nil {
		return nil, err
	}
	return &staff{now: newHired(a), quit: make(chan struct{})}, nil
}

func newHired(a agent.Agent) *hired { return &hired{Agent: a, let: make(chan struct{})} }

// hire returns the agent there is now; release says that the turn is over.
func (s *staff) hire() (a agent.Agent, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.now
	h.turns++
	return h.Agent, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.turns--
		h.leave()
	}
}

// leave lets an agent go that has been replaced; the staff's lock is held.
func (h *hired) leave() {
	if h.going && h.turns == 0 {
		close(h.let)
		h.going = false
	}
}

// renew has the agent forget a conversation, and reports false for one that
// remembers none.
func (s *staff) renew(conversation string) bool {
	s.mu.Lock()
	a := s.now.Agent
	s.mu.Unlock()
	r, ok := a.(agent.Renewer)
	if ok {
		r.Renew(conversation)
	}
	return ok
}

// rest ends the agent's process if it answers nothing now.
func (s *staff) rest() {
	s.mu.Lock()
	a := s.now.Agent
	s.mu.Unlock()
	if r, ok := a.(agent.Rester); ok {
		r.Rest()
	}
}

func (s *staff) state() agent.State {
	s.mu.Lock()
	a := s.now.Agent
	s.mu.Unlock()
	return a.State()
}

// replace puts a in the place of the agent there is, which ends when its
// running turns have, or in a minute.
func (s *staff) replace(a agent.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now
	s.now = newHired(a)
	old.going = true
	old.leave()
	s.gone.Go(func() {
		grace := time.NewTimer(replaceGrace)
		defer grace.Stop()
		select {
		case <-old.let:
		case <-grace.C:
		case <-s.quit:
		}
		ctx, cancel := context.WithTimeout(context.Background(), agentGrace)
		defer cancel()
		_ = old.Close(ctx)
	})
}

// close ends all of them.
func (s *staff) close(ctx context.Context) error {
	close(s.quit)
	s.mu.Lock()
	a := s.now.Agent
	s.mu.Unlock()
	err := a.Close(ctx)
	s.gone.Wait()
	return err
}

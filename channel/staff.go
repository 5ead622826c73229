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
	over  chan struct{}   // closed when it is gone, and all before it are
	after <-chan struct{} // over of the one before it; nil for the first
}

// An heir is an agent whose predecessor still works: its turns begin when that
// is gone, since a home has one agent at a time.
type heir struct {
	agent.Agent
	after <-chan struct{}
}

// Begin waits for the predecessor's end, which comes within [replaceGrace].
func (h heir) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	select {
	case <-h.after:
		return h.Agent.Begin(ctx, q)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func hire(e Env, start Start, link Link) (*staff, error) {
	a, err := e.Agent(start, link)
	if err != nil {
		return nil, err
	}
	return &staff{now: newHired(a, nil), quit: make(chan struct{})}, nil
}

func newHired(a agent.Agent, after <-chan struct{}) *hired {
	return &hired{Agent: a, let: make(chan struct{}), over: make(chan struct{}), after: after}
}

// begins is the agent as turns are begun with it.
func (h *hired) begins() agent.Agent {
	if h.after == nil {
		return h.Agent
	}
	select {
	case <-h.after:
		return h.Agent
	default:
		return heir{h.Agent, h.after}
	}
}

// hire returns the agent there is now; release says that the turn is over.
func (s *staff) hire() (a agent.Agent, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.now
	h.turns++
	return h.begins(), func() {
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
// running turns have, or in a minute. Until then a's turns wait.
func (s *staff) replace(a agent.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now
	s.now = newHired(a, old.over)
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
		if old.after != nil {
			<-old.after
		}
		close(old.over)
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

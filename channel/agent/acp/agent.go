package acp

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
)

// Config is what an [Agent] works with.
type Config struct {
	agent.Program
	// IdleStop is agent.idle_stop, asked again and again; 0 is never.
	IdleStop func() time.Duration
}

// Bounds of time.
const (
	initTimeout = 90 * time.Second // to initialize, and to begin or take up a session
	turnTimeout = 2 * time.Hour    // of a question
	cancelGrace = 10 * time.Second // for an agent to say that it stopped
	closeGrace  = time.Second      // for running turns, when the agent is closed
	stopGrace   = 2 * time.Second  // for a process whose input was closed
	retireGrace = time.Minute      // for the other turns of a process that is given up
	idleLook    = time.Minute      // how often an idle process is looked at, at least
)

// An Agent is a profile's agent. Its methods may be called from any goroutine.
type Agent struct {
	config Config
	saved  *saved
	life   context.Context // of its processes; ends with Close
	end    context.CancelFunc
	group  sync.WaitGroup // processes
	asking sync.WaitGroup // turns

	mu       sync.Mutex
	sessions map[string]*session // by conversation; guarded by mu, as all below
	turns    map[*turn]struct{}
	proc     *process // nil while none runs
	state    agent.State
	failed   time.Time // when it last did
	closed   bool
}

var (
	_ agent.Agent   = (*Agent)(nil)
	_ agent.Renewer = (*Agent)(nil)
)

// New returns an agent that runs nothing yet. It reads what sessions earlier
// processes had.
func New(c Config) *Agent {
	a := &Agent{
		config: c, sessions: make(map[string]*session), turns: make(map[*turn]struct{}),
		state: agent.State{Kind: "acp", State: agent.Idle, Since: time.Now()},
	}
	a.life, a.end = context.WithCancel(context.Background())
	a.saved = loadSaved(filepath.Join(c.Home, "rocketchat", "state", "agent.json"), c.Command, c.Log)
	return a
}

// Begin takes a question and returns at once; everything else, starting the
// process included, is part of the turn.
func (a *Agent) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if q.Prompt == "" {
		return nil, errors.New("a question without a prompt")
	}
	// A turn outlives whoever began it.
	life, cancel := context.WithCancelCause(context.Background())
	t := newTurn(cancel)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		cancel(nil)
		return nil, agent.ErrClosed
	}
	a.turns[t] = struct{}{}
	a.asking.Go(func() {
		done := a.run(life, t, q)
		a.mu.Lock()
		delete(a.turns, t)
		a.mu.Unlock()
		t.end(done)
		cancel(nil)
	})
	return t, nil
}

// State says what the process does.
func (a *Agent) State() agent.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// Renew forgets the conversation's session: its next question begins a new one.
func (a *Agent) Renew(conversation string) {
	a.mu.Lock()
	if s := a.sessions[conversation]; s != nil {
		s.renew = true
	}
	a.mu.Unlock()
	a.saved.forget(conversation)
}

// Rest ends the process now if no question is being answered, and reports
// whether one was ended. The next question starts it again.
func (a *Agent) Rest() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.proc
	if p == nil || p.users > 0 || p.retiring || !p.started() {
		return false
	}
	p.retire(time.Now())
	return true
}

// Close cancels all turns, waits a little for the agent to say so, and ends its
// process, within ctx.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	for t := range a.turns {
		t.cancel(agent.ErrReplaced)
	}
	a.mu.Unlock()
	turns := finished(&a.asking)
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-turns:
	case <-grace.C:
	case <-ctx.Done():
	}
	a.mu.Lock()
	if a.proc != nil {
		a.proc.retire(time.Now())
	}
	a.mu.Unlock()
	a.end()
	for _, all := range []<-chan struct{}{finished(&a.group), turns} {
		select {
		case <-all:
		case <-ctx.Done():
			a.killNow()
			return context.Cause(ctx)
		}
	}
	return nil
}

func (a *Agent) killNow() {
	a.mu.Lock()
	p := a.proc
	a.mu.Unlock()
	if p != nil && p.started() {
		p.conn.kill()
	}
}

// finished is closed once nothing of a group runs. Its goroutine ends then too.
func finished(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	return done
}

// become changes the state; the caller holds a.mu.
func (a *Agent) become(state, fault string) {
	if a.state.State != state || a.state.Error != fault {
		a.state.State, a.state.Error, a.state.Since = state, fault, time.Now()
	}
	if a.config.Changed != nil {
		a.config.Changed()
	}
}

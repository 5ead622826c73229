package exec

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
)

// Config is what an [Agent] works with. Timeout and AtOnce may be left out.
type Config struct {
	agent.Program
	Timeout time.Duration // of one question, 0 for half an hour
	AtOnce  int           // processes, 0 for 8
}

// manyFailures is how many questions in a row have to fail for the agent to
// count as failing. One that can't be started does at once.
const manyFailures = 5

// An Agent runs one process for each question. Its methods may be called from
// any goroutine.
type Agent struct {
	config Config
	slots  chan struct{}
	group  sync.WaitGroup

	mu      sync.Mutex
	turns   map[*turn]struct{} // guarded by mu, as all below
	running int
	state   agent.State
	closed  bool
}

var _ agent.Agent = (*Agent)(nil)

// New returns an agent that runs nothing yet.
func New(c Config) *Agent {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Minute
	}
	if c.AtOnce == 0 {
		c.AtOnce = 8
	}
	return &Agent{
		config: c, slots: make(chan struct{}, c.AtOnce), turns: make(map[*turn]struct{}),
		state: agent.State{Kind: "exec", State: agent.Idle, Since: time.Now()},
	}
}

// A turn is one process, and the wait for it.
type turn struct {
	feed   *agent.Feed
	cancel context.CancelCauseFunc
}

var (
	errCancelled = errors.New("the turn was cancelled")
	errSlow      = errors.New("the process took too long")
)

func (t *turn) Events() <-chan agent.Event  { return t.feed.Events() }
func (t *turn) Cancel()                     { t.cancel(errCancelled) }
func (t *turn) Answer(string, string) error { return agent.ErrNotAsked }

// Begin takes a question and returns at once.
func (a *Agent) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	in, err := encode(q)
	if err != nil {
		return nil, fmt.Errorf("write a question as JSON: %w", err)
	}
	// A turn outlives whoever began it.
	life, cancel := context.WithCancelCause(context.Background())
	t := &turn{feed: agent.NewFeed(), cancel: cancel}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		cancel(nil)
		return nil, agent.ErrClosed
	}
	a.turns[t] = struct{}{}
	a.group.Go(func() {
		err := a.run(life, t, q.Conversation, in)
		a.mu.Lock()
		delete(a.turns, t)
		a.mu.Unlock()
		t.feed.End(ending(err))
		cancel(nil)
	})
	return t, nil
}

// State is ready while a process runs.
func (a *Agent) State() agent.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// Close kills what runs and waits for it, within ctx.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	for t := range a.turns {
		t.cancel(agent.ErrReplaced)
	}
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		a.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run is a turn: its place, its process, its answer.
func (a *Agent) run(ctx context.Context, t *turn, conversation string, in []byte) error {
	release, err := a.place(ctx, t)
	if err != nil {
		return err
	}
	defer release()
	dir, err := agent.MakeWorkDir(a.config.Home, conversation)
	if err != nil {
		return agent.Fail(agent.SayNoPlace, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.config.Timeout, errSlow)
	defer cancel()
	proc, err := a.start(ctx, dir)
	if err != nil {
		return err
	}
	defer a.ended()
	answer, exit := a.converse(ctx, proc, in)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case exit != nil:
		return a.failed(exit, false)
	}
	a.succeeded()
	say(t.feed, answer, dir)
	return nil
}

// place waits for room among the profile's processes, and for the host's leave.
func (a *Agent) place(ctx context.Context, t *turn) (release func(), err error) {
	select {
	case a.slots <- struct{}{}:
	default:
		t.feed.Put(agent.Progress{Title: agent.TitleBusy})
		select {
		case a.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	permit, err := a.config.Leave(ctx, func() { t.feed.Put(agent.Progress{Title: agent.TitleQueued}) })
	if err != nil {
		<-a.slots
		return nil, err
	}
	return func() { permit(); <-a.slots }, nil
}

// start starts a process for a question.
func (a *Agent) start(ctx context.Context, dir string) (agent.Process, error) {
	env, err := a.config.Env()
	if err != nil {
		return nil, a.failed(err, true)
	}
	proc, err := a.config.Spawn(ctx, agent.Spec{Argv: a.config.Command, Env: env, Dir: dir})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, a.failed(err, true)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running++
	if a.state.State == agent.Idle {
		a.become(agent.Ready, "")
	}
	return proc, nil
}

// failed counts a failure and says what may be said of it. The exit status is
// for people: the process's owner wrote it.
func (a *Agent) failed(err error, start bool) error {
	say := "The program behind me does not start. Whoever runs me can see why."
	status, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, agent.ErrNotFound):
		say = agent.SayNotInstalled
	case exited && status.Exited():
		say = fmt.Sprintf("The program behind me failed at this (exit status %d).", status.ExitCode())
	case !start:
		say = "The program behind me ended in the middle of this."
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Failures++
	a.config.Log.Warn("the agent failed", "failures", a.state.Failures, "err", err)
	if start || a.state.Failures >= manyFailures {
		a.become(agent.Failing, err.Error())
	}
	return agent.Fail(say, err)
}

func (a *Agent) succeeded() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Failures = 0
	if a.state.State == agent.Failing {
		a.become(agent.Ready, "")
	}
}

func (a *Agent) ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	if a.running == 0 && a.state.State == agent.Ready {
		a.become(agent.Idle, "")
	}
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

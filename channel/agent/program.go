package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// A Program is what an agent that is a program runs, with what, and by whose
// leave. All fields are needed but Permit and Changed.
type Program struct {
	Profile string   // its name, for what its owner is told
	Home    string   // the profile's, absolute
	Command []string // agent.command
	// Env makes a process's environment, at each start of one.
	Env   func() ([]string, error)
	Spawn Spawn
	// Permit is the host's leave for one more process. It may wait; what it
	// returns is called when the process is gone.
	Permit func(context.Context) (release func(), err error)
	// Changed is called after each change of the state. It must not block, nor
	// call the agent.
	Changed func()
	Log     *slog.Logger
}

// slowLeave is after how long a wait for the host's leave is worth a word.
const slowLeave = time.Second

// What people are told. None of it quotes the question or the agent.
const (
	// SayNotInstalled is said of a program that is not there.
	SayNotInstalled = "I can't answer: the program behind me is not installed where I run. Whoever runs me has to see to that."
	// SayNoPlace is said when an agent's files can't lie anywhere.
	SayNoPlace = "I can't answer: there is no place for the agent's files. Whoever runs me has to see to that."
	// TitleQueued is the progress of one that waits for the host's leave.
	TitleQueued = "waiting: this host runs as many agents as it may"
	// TitleBusy is the progress of one that waits for its agent's other questions.
	TitleBusy = "waiting: the agent is busy in other rooms"

	sayReplaced = "The agent behind me was replaced before it had finished this. Please ask again."
	sayNoLeave  = "I can't answer now: this host runs as many agents as it may. Please try again later."
)

// ErrReplaced ends the turns that run when an agent is closed. At the end of a
// channel nobody is told of it.
var ErrReplaced = Fail(sayReplaced, errors.New("the agent was closed"))

// Leave waits for the host's leave to start a process. slow is called, once and
// on a goroutine of its own, when that takes long.
func (p *Program) Leave(ctx context.Context, slow func()) (release func(), err error) {
	if p.Permit == nil {
		return func() {}, nil
	}
	timer := time.AfterFunc(slowLeave, slow)
	defer timer.Stop()
	release, err = p.Permit(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, Fail(sayNoLeave, fmt.Errorf("the host's leave to start an agent: %w", err))
	}
	return release, nil
}

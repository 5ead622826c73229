package worker

import (
	"context"
	"errors"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
)

// A Kind of carrier, as --isolation names it.
type Kind string

// The kinds.
const (
	Process Kind = "process" // each run a process of its own, as its home's owner
	Shared  Kind = "shared"  // goroutines of the supervisor
)

// A Job is what a run is begun with.
type Job struct {
	Start  channel.Start
	Owner  int   // uid of the home's owner, whom a process of its own runs as
	Memory int64 // bytes the worker and its agent may take together, 0 for no bound
}

// A Carrier begins runs.
type Carrier interface {
	Kind() Kind
	// Begin begins a run and does not wait for it. Whatever goes wrong from
	// here on is told to ear.Over, once.
	Begin(Job, Ear) Run
	// Close waits until nothing of any run is left. Runs that have not ended
	// are killed.
	Close()
}

// A Run is the supervisor's end of a channel that lives. Its methods may be
// called from any goroutine and wait for nothing.
type Run interface {
	// Command hands a command over. Of two of one kind that were not taken yet
	// the later one is kept.
	Command(channel.Command)
	// Pulse says how the run does.
	Pulse() Pulse
	// Kill ends the run without its help, and reports false where that can't
	// be done, because it is goroutines. Over follows either way, if ever it
	// ends.
	Kill(why End) bool
	// PID is the worker's process, 0 if it has none of its own.
	PID() int
}

// A Pulse is what is known of a run's health.
type Pulse struct {
	Heard time.Time // when anything last came from it
	Asked time.Time // since when a command waits to be taken; zero for none
}

// An Ear is how the supervisor hears of a run. Its methods may be called from
// any goroutine. Report, Log and Over wait for nothing.
type Ear interface {
	Report(channel.Report)
	Log(channel.Record)
	Allow(context.Context, channel.Permit) error
	Ask(context.Context, channel.Request) (channel.Reply, error)
	// Over is the last call: nothing of the run is left.
	Over(End)
}

// An End is how a run ended. Operator says that it did as it was told.
type End struct {
	Reason healthcheck.Reason
	Detail string // one sentence without secrets
}

// ErrCrashed is a run that ended without being told to.
var ErrCrashed = errors.New("crashed")

// endOf classifies how channel.Run returned.
func endOf(err error) End {
	switch {
	case err == nil:
		return End{Reason: healthcheck.Operator}
	case errors.Is(err, ErrCrashed):
		return End{Reason: healthcheck.Crashed, Detail: err.Error()}
	case errors.Is(err, ErrBusy), errors.Is(err, dedup.ErrLocked):
		return End{Reason: healthcheck.Busy, Detail: err.Error()}
	case errors.Is(err, ErrHome):
		return End{Reason: healthcheck.BadConfig, Detail: err.Error()}
	case isPassing(err):
		return End{Reason: healthcheck.Crashed, Detail: err.Error()}
	}
	return End{Reason: healthcheck.BadConfig, Detail: err.Error()}
}

package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// A Spec is a process that an agent wants started. Env is the whole of its
// environment, and may hold secrets: a Spec prints without it.
type Spec struct {
	Argv []string // Argv[0] is looked for in the PATH of Env
	Env  []string
	Dir  string // absolute
}

// Format prints the program and its directory, whatever the verb.
func (s Spec) Format(f fmt.State, _ rune) {
	program := ""
	if len(s.Argv) > 0 {
		program = s.Argv[0]
	}
	fmt.Fprintf(f, "%q in %q", program, s.Dir)
}

// LogValue is [Spec.Format] for slog.
func (s Spec) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

// A Spawn starts a process. ctx bounds the start alone.
type Spawn func(ctx context.Context, s Spec) (Process, error)

// A Process was started by whoever may: the seam at which another uid or a
// cgroup can be put around it. Its descriptors are these three and no others.
//
// Stdout and Stderr end, though something that outlived the process may still
// hold their other end, at the latest [LastWords] after Wait has returned. A
// Write to Stdin may block until the process reads, ends, or Stdin is closed.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Kill ends the process and all it started. It may be called at any time
	// and more than once.
	Kill() error
	// Wait returns once the process and all it started are gone: nil for exit
	// status 0, an *[os/exec.ExitError] for another. Everybody who waits gets the
	// same answer.
	Wait() error
}

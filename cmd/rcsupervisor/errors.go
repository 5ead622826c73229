package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/control"
	"rcsupervisor/internal/enroll"
)

// The exit codes. They are public.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNotRunning = 3
	exitNoProfile  = 4
	exitPartly     = 5
	exitBusy       = 75 // another supervisor has this state directory; try again
	exitConfig     = 78 // a restart would not help
)

// A failure is an error with what mends it and the code the program ends with.
type failure struct {
	err  error
	try  string // a command, "" for none better than what the error itself says
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(err error, try string) error   { return &failure{err, try, exitFailed} }
func usage(err error, try string) error  { return &failure{err, try, exitUsage} }
func config(err error, try string) error { return &failure{err, try, exitConfig} }

// usageError is how the flag parser's complaints become ours.
func usageError(c *cli.Context, err error, _ bool) error {
	if c.Command == nil || c.Command.Name == c.App.Name {
		return usage(err, help(nil))
	}
	return usage(err, help(c.Command))
}

// report prints an error for people, ending in the line that mends it, and
// returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	f := &failure{err: err, code: codeOf(err)}
	errors.As(err, &f)
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if isTerminal(w) {
			hanging(w, "rcsupervisor: ", line) // broken at spaces, not within words
			continue
		}
		fmt.Fprintf(w, "rcsupervisor: %s\n", line)
	}
	try := f.try
	if try == "" {
		try = enroll.Hint(err)
	}
	if try == "" {
		try = "rcsupervisor --help"
	}
	fmt.Fprintf(w, "try: %s\n", try)
	return f.code
}

// codeOf is the exit code of an error that says none itself.
func codeOf(err error) int {
	if e, ok := errors.AsType[*control.Error](err); ok {
		switch e.Code {
		case control.CodeUsage:
			return exitUsage
		case control.CodeNotRunning:
			return exitNotRunning
		case control.CodeNoProfile:
			return exitNoProfile
		case control.CodePartial:
			return exitPartly
		}
		return exitFailed
	}
	switch {
	case errors.Is(err, enroll.ErrNoProfile):
		return exitNoProfile
	case errors.Is(err, enroll.ErrUnlikely):
		return exitUsage
	}
	return exitFailed
}

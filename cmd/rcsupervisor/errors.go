package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/ownerfs"
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
	try  string // a command, "" for none better than the verb's help
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(err error, try string) error   { return &failure{err, try, exitFailed} }
func usage(err error, try string) error  { return &failure{err, try, exitUsage} }
func config(err error, try string) error { return &failure{err, try, exitConfig} }

// usageError is how the flag parser's complaints become ours.
func usageError(c *cli.Context, err error, _ bool) error {
	try := "rcsupervisor --help"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != c.App.Name {
		try = "rcsupervisor " + c.Command.Name + " --help"
	}
	return usage(err, try)
}

// report prints an error for people, ending in the line that mends it, and
// returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	f := &failure{err: err, code: exitFailed}
	errors.As(err, &f)
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "rcsupervisor: %s\n", strings.TrimRight(line, "\n"))
	}
	try := f.try
	if try == "" {
		try = hint(err)
	}
	if try == "" {
		try = "rcsupervisor --help"
	}
	fmt.Fprintf(w, "try: %s\n", try)
	return f.code
}

// hint is what an error itself says mends it.
func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	if e, ok := errors.AsType[*ownerfs.Error](err); ok {
		return e.Try
	}
	return ""
}

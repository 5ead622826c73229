// Command rcsupervisor hosts many Rocket.Chat bots on one machine and keeps
// each of them, and only that one, answering. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/worker"
)

func main() {
	// A verb may hold a token that is being given, or the host's identity. The
	// verb run does this itself, and doesn't go on where it can't be done.
	_ = worker.Harden()
	os.Exit(run(context.Background(), os.Args, streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the three the program speaks on: data on out, words on err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is main with everything it touches passed in. It returns the exit code.
func run(ctx context.Context, argv []string, s streams) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &spoken{to: s.out}
	s.out = out
	app := newApp(s)
	ordered, err := order(app, argv)
	if err == nil {
		err = app.RunContext(ctx, ordered)
	}
	if lost := out.lost(); err == nil && lost != nil && !errors.Is(lost, syscall.EPIPE) { // who has read enough has what he wanted
		err = fail(fmt.Errorf("what was to be printed is lost: %w", lost), "the same with another standard output")
	}
	return report(s.err, err)
}

func newApp(s streams) *cli.App {
	return &cli.App{
		Name:            "rcsupervisor",
		Usage:           "host many Rocket.Chat bots on one machine",
		UsageText:       "rcsupervisor [flags] VERB [arguments]",
		Description:     examples,
		Version:         version(),
		Reader:          s.in,
		Writer:          s.out,
		ErrWriter:       s.err,
		HideHelpCommand: true,
		Flags:           globalFlags(),
		Metadata:        map[string]any{}, // what one call remembers
		Commands: []*cli.Command{
			demoVerb(s), initVerb(s), addVerb(s), checkVerb(s), runVerb(s),
			startVerb(s), stopVerb(s), restartVerb(s), suspendVerb(s), resumeVerb(s),
			statusVerb(s), waitVerb(s), logsVerb(s), planVerb(s), reloadVerb(s),
			peopleVerb(s), roomsVerb(s), acceptVerb(s), adoptVerb(s),
			secretVerb(s), importVerb(s), resealVerb(s), removeVerb(s),
			doctorVerb(s), pretendVerb(s), askerVerb(s),
		},
		Before: soundVariables,
		// Errors are printed once, by report.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action:         func(c *cli.Context) error { return cli.ShowAppHelp(c) },
	}
}

const examples = `The first steps, on a machine with nothing but this program:

   rcsupervisor demo                    three bots and a page to chat with them
   rcsupervisor init                    make the identity that opens the seals
   rcsupervisor add alice --server https://chat.example.org
   rcsupervisor check alice             is everything right?
   rcsupervisor run                     the supervisor

Every verb explains itself: rcsupervisor VERB --help`

package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"rcsupervisor/internal/doctor"
	"rcsupervisor/internal/enroll"
)

func doctorVerb(s streams) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "what is wrong on this host, and the command that mends it",
		UsageText: "rcsupervisor doctor",
		Description: `Looks at the identity, the state directory, the socket, all homes and their
seals, tokens in plain text, and the kernel's limits. It changes nothing and
asks no server. One profile in detail: rcsupervisor check NAME.

   rcsupervisor doctor
   rcsupervisor doctor --json`,
		Flags:        []cli.Flag{jsonFlag()},
		OnUsageError: usageError,
		Action:       func(c *cli.Context) error { return doDoctor(c, s) },
	}
}

func doDoctor(c *cli.Context, s streams) error {
	if err := noArgs(c); err != nil {
		return err
	}
	w := &waiting{out: s.err}
	defer w.done()
	desk, err := newDesk(c, w)
	if err != nil {
		return err
	}
	defer desk.State.Close()
	r := checked{}
	host := doctor.Host{Desk: desk, StateDir: stateDir(c), Socket: socketPath(c)}
	r.Good, err = doctor.Examine(c.Context, host, func(f enroll.Finding) {
		r.Findings = append(r.Findings, f)
		if !c.Bool("json") {
			printFinding(s.out, f)
		}
	})
	if err != nil {
		return err
	}
	if err := show(c, s, r, func(io.Writer) {}); err != nil || r.Good {
		return err
	}
	return fail(errors.New("something is wrong on this host"), firstTry(r.Findings))
}

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

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
	desk, leave, err := lookingDesk(c, w)
	if err != nil {
		return err
	}
	defer leave()
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

// lookingDesk is a desk that makes nothing: where there is no state directory
// yet, it looks at an empty one, which is gone afterwards.
func lookingDesk(c *cli.Context, w *waiting) (*enroll.Desk, func(), error) {
	dir, empty := stateDir(c), ""
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if empty, err = os.MkdirTemp("", "rcsupervisor-doctor-"); err != nil {
			return nil, nil, fail(err, "rcsupervisor init")
		}
		dir = empty
	}
	desk, err := deskOn(c, dir, w)
	if err != nil {
		return nil, nil, errors.Join(err, remove(empty))
	}
	return desk, func() {
		desk.State.Close()
		_ = remove(empty)
	}, nil
}

// remove removes a folder of ours, "" for none.
func remove(dir string) error {
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"rcsupervisor/internal/control"
	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/people"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A verb that changes something asks the supervisor that runs. Without one it
// does the same itself, at a desk of its own, under the locks that keep a
// supervisor from starting meanwhile.

// allNames stands in a name's place for what is asked of all of them.
const allNames = control.AllNames

// carryOut asks the supervisor for a verb of one profile, or else does it here.
func carryOut[Wish, Result any](c *cli.Context, s streams, verb, name string, wish Wish, here func(context.Context, *enroll.Desk) (Result, error)) (Result, error) {
	var result Result
	if name != allNames && !profile.ValidName(name) {
		// It is not repeated: what is no name may be a secret in the wrong place.
		return result, &enroll.Error{Text: "no such profile: that can't be a name", Try: "rcsupervisor status", Err: enroll.ErrNoProfile}
	}
	w := &waiting{out: s.err}
	defer w.done()
	client, err := supervisorOf(c)
	if err != nil {
		return result, err
	}
	if client != nil {
		defer client.Close()
		w.say("the supervisor is at it")
		return result, client.Do(c.Context, verb, name, wish, &result)
	}
	desk, leave, err := ownDesk(c, w)
	if err != nil {
		return result, err
	}
	defer leave()
	return here(c.Context, desk)
}

// supervisorOf reaches the supervisor that runs; nil where there is none.
func supervisorOf(c *cli.Context) (*control.Client, error) {
	client, err := connect(c)
	if notRunning(err) {
		return nil, nil
	}
	return client, err
}

// ownDesk is a desk of this process, with the state directory locked.
func ownDesk(c *cli.Context, w *waiting) (*enroll.Desk, func(), error) {
	desk, err := newDesk(c, w)
	if err != nil {
		return nil, nil, err
	}
	lock, err := lockState(c.Context, stateDir(c), w)
	if err != nil {
		desk.State.Close()
		return nil, nil, err
	}
	return desk, func() {
		desk.State.Close()
		lock.Close()
	}, nil
}

// newDesk is a desk without any lock, for looking.
func newDesk(c *cli.Context, w *waiting) (*enroll.Desk, error) { return deskOn(c, stateDir(c), w) }

// deskOn is a desk over a state directory, which is made if it is missing.
func deskOn(c *cli.Context, dir string, w *waiting) (*enroll.Desk, error) {
	src, err := sources(c)
	if err != nil {
		return nil, err
	}
	host, err := hostFile(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(fmt.Errorf("the state directory: %w", err), "rcsupervisor "+c.Command.Name+" --state-dir DIR")
	}
	state, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fail(fmt.Errorf("the state directory: %w", err), "rcsupervisor "+c.Command.Name+" --state-dir DIR")
	}
	identity := identityOptions(c)
	return &enroll.Desk{
		Sources: src, Host: host, State: state, Book: &people.Book{Dir: dir}, Names: enroll.LedgerIn(state),
		Keys:     sync.OnceValues(func() (*sealed.Keyring, error) { return sealed.FindKeyring(identity, false) }),
		Identity: identity, Say: w.say,
		Lock: func(home string) (io.Closer, error) { return worker.Lock(home) },
	}, nil
}

// lockPatience is how long another verb may hold the state directory.
const lockPatience = 10 * time.Second

// lockState locks the state directory as a supervisor does.
func lockState(ctx context.Context, dir string, w *waiting) (io.Closer, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fail(fmt.Errorf("the state directory: %w", err), "rcsupervisor doctor")
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			tick.Stop()
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, fail(fmt.Errorf("lock %s: %w", path, err), "rcsupervisor doctor")
		}
		w.say("waiting for another rcsupervisor on " + dir)
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			f.Close()
			return nil, fail(fmt.Errorf("another rcsupervisor works on %s and does not answer at the socket", dir), "rcsupervisor --socket SOCKET, or wait for it to end")
		}
	}
}

// jsonFlag is the flag of verbs whose answer a program may want to read.
func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "say it in JSON"} }

// show prints a result: as JSON where that is asked for, else as people read it.
func show(c *cli.Context, s streams, result any, human func(io.Writer)) error {
	if c.Bool("json") {
		return printJSON(s, result)
	}
	human(s.out)
	return nil
}

// word says something beside the data, in lines that fit.
func (s streams) word(format string, args ...any) {
	const head = "rcsupervisor:"
	line := head
	for word := range strings.FieldsSeq(fmt.Sprintf(format, args...)) {
		if line != head && cells(line)+1+cells(word) > min(width, widthOf(s.err)) {
			fmt.Fprintln(s.err, line)
			line = head
		}
		line += " " + word
	}
	fmt.Fprintln(s.err, line)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"rcsupervisor/sealed"
)

// Interaction goes to the terminal: prompts to standard error, answers from
// standard input without being shown. Where standard input is something else
// the passphrase is asked on /dev/tty, since what is piped in is a token.

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// askHidden asks one question and reads one line that is not shown.
func askHidden(s streams, question string) (string, error) {
	f, ok := s.in.(*os.File)
	if !ok {
		return "", io.ErrUnexpectedEOF
	}
	fmt.Fprint(s.err, question)
	defer fmt.Fprintln(s.err)
	line, err := term.ReadPassword(int(f.Fd()))
	return string(line), err
}

// askPassphrase asks for the identity's passphrase on the terminal.
func askPassphrase(attempt int) (sealed.Secret, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return sealed.Secret{}, errors.New("no terminal to ask on")
	}
	defer tty.Close()
	if attempt > 1 {
		fmt.Fprintln(tty, "rcsupervisor: that was another one")
	}
	fmt.Fprint(tty, "Passphrase of the identity: ")
	defer fmt.Fprintln(tty)
	line, err := term.ReadPassword(int(tty.Fd()))
	return sealed.NewSecret(string(line)), err
}

// identityOptions say where the identity is, by the flags.
func identityOptions(c *cli.Context) sealed.Options {
	o := sealed.Options{File: c.String("identity"), Passphrase: askPassphrase}
	if fd := c.Int("identity-fd"); fd >= 0 {
		o.FD = &fd
	}
	return o
}

// A waiting says what is being done to somebody who has waited for a second.
type waiting struct {
	out io.Writer

	mu    sync.Mutex
	timer *time.Timer
}

// patience is how long somebody waits without a word.
const patience = time.Second

// say notes what is being done now.
func (w *waiting) say(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(patience, func() { fmt.Fprintf(w.out, "rcsupervisor: %s …\n", what) })
}

// done says no more.
func (w *waiting) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"rcsupervisor/sealed"
)

// Interaction goes to the terminal: prompts to standard error, answers from
// standard input without being shown. Where standard input is something else
// the passphrase is asked on /dev/tty, since what is piped in is a token.

func isTerminal(v any) bool {
	f, ok := fileOf(v)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fileOf is the file that a stream is, if it is one.
func fileOf(v any) (*os.File, bool) {
	if s, ok := v.(*spoken); ok {
		v = s.to
	}
	f, ok := v.(*os.File)
	return f, ok
}

// askHidden asks one question and reads one line, which is not shown. Ctrl-C
// ends it.
func askHidden(ctx context.Context, s streams, question string) (string, error) {
	return ask(ctx, s, question, false)
}

// askPasted is askHidden for what may be pasted and have several lines: those
// that come with the first belong to it.
func askPasted(ctx context.Context, s streams, question string) (string, error) {
	return ask(ctx, s, question, true)
}

func ask(ctx context.Context, s streams, question string, paste bool) (string, error) {
	f, ok := s.in.(*os.File)
	if !ok {
		return "", io.ErrUnexpectedEOF
	}
	return askOn(ctx, f, s.err, question, paste)
}

// askOn asks on words, and reads what is typed on a terminal.
func askOn(ctx context.Context, terminal *os.File, words io.Writer, question string, paste bool) (string, error) {
	fd := int(terminal.Fd())
	show, err := hideTyping(fd)
	if err != nil {
		return "", err
	}
	defer show()
	fmt.Fprint(words, question)
	defer fmt.Fprintln(words)
	type typed struct {
		text string
		err  error
	}
	answer := make(chan typed, 1) // a read that nobody waits for any more ends with the process
	go func() {
		text, err := readTyped(fd, paste)
		answer <- typed{text, err}
	}()
	select {
	case a := <-answer:
		return a.text, a.err
	case <-ctx.Done():
		return "", errors.New("interrupted")
	}
}

// hideTyping turns echo off until show is called.
func hideTyping(fd int) (show func(), err error) {
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO | unix.ECHONL
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, was) }, nil
}

// pasteGap is how long the next line of a paste may take to arrive.
const pasteGap = 100 * time.Millisecond

// readTyped reads a line, and with paste the lines that follow it at once.
func readTyped(fd int, paste bool) (string, error) {
	var text []byte
	buf := make([]byte, 4096)
	defer clear(buf)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return "", err
		case n == 0 && len(text) == 0:
			return "", errors.New("nothing was typed")
		case len(text)+n > secretBytes:
			return "", fmt.Errorf("more than %d bytes", secretBytes)
		}
		text = append(text, buf[:n]...)
		if n > 0 && buf[n-1] != '\n' {
			continue
		}
		if !paste || n == 0 || !follows(fd) {
			return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
		}
	}
}

// follows reports whether more comes within the gap.
func follows(fd int) bool {
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(pasteGap/time.Millisecond))
	return err == nil && ready > 0
}

// askPassphrase asks for the identity's passphrase on the terminal, until ctx
// ends.
func askPassphrase(ctx context.Context, attempt int) (sealed.Secret, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return sealed.Secret{}, errors.New("no terminal to ask on")
	}
	defer tty.Close()
	if attempt > 1 {
		fmt.Fprintln(tty, "rcsupervisor: that was another one")
	}
	line, err := askOn(ctx, tty, tty, "Passphrase of the identity: ", false)
	return sealed.NewSecret(line), err
}

// askedOnce asks for a passphrase, and remembers what was typed for the next
// time that it is needed; one that was wrong is asked for again.
func askedOnce(ask func(attempt int) (sealed.Secret, error)) func(attempt int) (sealed.Secret, error) {
	var mu sync.Mutex
	var typed sealed.Secret
	return func(attempt int) (sealed.Secret, error) {
		mu.Lock()
		defer mu.Unlock()
		if attempt == 1 && !typed.Empty() {
			return typed, nil
		}
		answer, err := ask(attempt)
		if err == nil {
			typed = answer
		}
		return answer, err
	}
}

// identityOptions say where the identity is, by the flags. However often they
// are used, a passphrase is asked for once.
func identityOptions(c *cli.Context) sealed.Options {
	const key = "passphrase"
	ask, ok := c.App.Metadata[key].(func(int) (sealed.Secret, error))
	if !ok {
		ask = askedOnce(func(attempt int) (sealed.Secret, error) { return askPassphrase(c.Context, attempt) })
		c.App.Metadata[key] = ask
	}
	o := sealed.Options{File: c.String("identity"), Passphrase: ask}
	if fd := identityFD(c); fd >= 0 {
		o.FD = &fd
	}
	return o
}

// A waiting says what is being done to somebody who has waited for a second. It
// prints from a goroutine of its own, and never after done has returned.
type waiting struct {
	out io.Writer

	mu    sync.Mutex
	doing int // counts what was said; a timer of something before says nothing
	timer *time.Timer
}

// patience is how long somebody waits without a word.
const patience = time.Second

// say notes what is being done now.
func (w *waiting) say(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	now := w.doing
	w.timer = time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.doing == now {
			fmt.Fprintf(w.out, "rcsupervisor: %s …\n", what)
		}
	})
}

// done says no more.
func (w *waiting) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

// stop ends what was being done. Called with the lock.
func (w *waiting) stop() {
	w.doing++
	if w.timer != nil {
		w.timer.Stop()
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Ctrl-C at any question ends the verb, and what is typed shows again.
func TestCtrlCAtAQuestion(t *testing.T) {
	w := newWorld(t)
	t.Setenv("RCSUPERVISOR_IDENTITY_FILE", w.at("locked/identity.txt"))
	p := w.session("init", "--passphrase")
	p.answers(1, "A passphrase for the identity: ", "correct horse")
	p.answers(1, "The same again: ", "correct horse")
	if shown, _, err := p.ended(); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	add := []string{"add", "alice", "--server", w.url}
	asked := w.session(add...)
	asked.answers(1, "shows (not shown): ", "\x03")
	locked := w.session(append(add, "--user-id", w.ada.ID)...)
	locked.answers(1, "token (not shown): ", w.ada.Token)
	locked.answers(1, "Passphrase of the identity: ", "\x03")
	for what, p := range map[string]*session{"a token": asked, "a passphrase": locked} {
		shown, echo, err := p.ended()
		if err == nil || p.cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(shown, "interrupted") || !echo {
			t.Errorf("asked for %s: %v, typing shows: %v\n%s", what, err, echo, shown)
		}
	}
	if _, err := os.Stat(w.home("alice")); err == nil {
		t.Error("something was made all the same")
	}
}

// A session is a program whose own terminal a person sits at: Ctrl-C reaches it,
// and words are what the terminal shows.
type session struct {
	*person
	terminal *os.File
	read     chan struct{} // closed once all that was shown is in words
}

func (w *world) session(args ...string) *session {
	w.t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	w.t.Cleanup(func() { keyboard.Close() })
	must(w.t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	must(w.t, err)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	s := &session{&person{t: w.t, keyboard: keyboard, cmd: w.command("", args...)}, terminal, make(chan struct{})}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = terminal, terminal, terminal
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	must(w.t, s.cmd.Start())
	go func() {
		defer close(s.read)
		_, _ = io.Copy(&s.words, keyboard) // until nobody has the terminal any more
	}()
	return s
}

// ended waits for the end and returns all that was shown, and whether typing
// shows now.
func (s *session) ended() (shown string, echo bool, err error) {
	s.t.Helper()
	err = s.cmd.Wait()
	state, err2 := unix.IoctlGetTermios(int(s.terminal.Fd()), unix.TCGETS)
	must(s.t, err2)
	must(s.t, s.terminal.Close())
	<-s.read
	return s.words.b.String(), state.Lflag&unix.ECHO != 0, err
}

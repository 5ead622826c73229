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
	p := w.session(80, "init", "--passphrase")
	p.answers(1, "A passphrase for the identity: ", "correct horse")
	p.answers(1, "The same again: ", "correct horse")
	if shown, _, err := p.ended(); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	add := []string{"add", "alice", "--server", w.url}
	asked := w.session(80, add...)
	asked.answers(1, "shows (not shown): ", "\x03")
	locked := w.session(80, append(add, "--user-id", w.ada.ID)...)
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

// On a terminal the table is as wide as the terminal, and has colours unless
// nobody wants any; an error is broken between words.
func TestTheTableOnATerminal(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"alice", "a-very-long-name-of-a-customer-in-the-north-of-the-country-01"} {
		w.add(name)
	}
	must(t, os.WriteFile(w.home("alice")+"/rocketchat/channel.yaml", []byte("agent: {kind: 支払い}\nreply: 3\n"), 0o600))
	for _, c := range []struct {
		columns  int
		env      string
		coloured bool
		want     string
	}{
		{60, "TERM=xterm", true, "…"},
		{80, "TERM=xterm", true, "bad-config; channel.y…"},
		{200, "TERM=xterm", true, "a-very-long-name-of-a-customer-in-the-north-of-the-country-01  off"},
		{80, "TERM=dumb", false, "needs-config"},
		{80, "NO_COLOR=1", false, "needs-config"},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		t.Setenv("TERM", "xterm")
		t.Setenv("NO_COLOR", "")
		t.Setenv(name, value)
		shown, _, err := w.session(c.columns, "status").ended()
		if err == nil || !strings.Contains(shown, c.want) || strings.Contains(shown, "\x1b[31mneeds-config") != c.coloured {
			t.Errorf("%d columns, %s: %v\n%q", c.columns, c.env, err, shown)
		}
		for line := range strings.Lines(shown) {
			line = strings.TrimRight(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(line), "\r\n")
			if cells(line) > c.columns && strings.Contains(line, " ") && !strings.Contains(line, w.dir) {
				t.Errorf("%d columns: %q has %d", c.columns, line, cells(line))
			}
		}
	}
}

// A session is a program whose own terminal a person sits at: Ctrl-C reaches it,
// and words are what the terminal shows.
type session struct {
	*person
	terminal *os.File
	read     chan struct{} // closed once all that was shown is in words
}

func (w *world) session(columns int, args ...string) *session {
	w.t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	w.t.Cleanup(func() { keyboard.Close() })
	must(w.t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	must(w.t, unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
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

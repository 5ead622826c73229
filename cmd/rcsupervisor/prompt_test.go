package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A person answers one question after another on a terminal.
type person struct {
	t        *testing.T
	keyboard *os.File
	words    words
	cmd      *exec.Cmd
}

func (w *world) person(args ...string) *person {
	w.t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	w.t.Cleanup(func() { keyboard.Close() })
	must(w.t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	must(w.t, err)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	defer terminal.Close()
	p := &person{t: w.t, keyboard: keyboard, cmd: w.command("", args...)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, &p.words, &p.words
	must(w.t, p.cmd.Start())
	return p
}

// answers types a line once the question has come, the nth of those that end so.
func (p *person) answers(n int, question, line string) {
	p.t.Helper()
	for range 1000 {
		p.words.mu.Lock()
		asked := bytes.Count(p.words.b.Bytes(), []byte(question))
		p.words.mu.Unlock()
		if asked >= n {
			_, err := p.keyboard.WriteString(line + "\n")
			must(p.t, err)
			return
		}
		time.Sleep(10 * time.Millisecond) // another process; there is nothing to wait on
	}
	p.t.Fatalf("%q was not asked: %s", question, p.words.b.String())
}

// Whoever gives the token where the user id is asked for is asked for the user
// id alone, and not for the token again.
func TestTheTokenFirst(t *testing.T) {
	w := newWorld(t)
	p := w.person("add", "alice", "--server", w.url)
	p.answers(1, "shows (not shown): ", w.ada.Token)
	p.answers(1, "The bot's user id (not shown): ", w.ada.ID)
	err := p.cmd.Wait()
	out := p.words.b.String()
	if err != nil || !strings.Contains(out, "@ada") || strings.Contains(out, w.ada.Token) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A username in the place of a user id is taken for what was meant to be one,
// also after the token.
func TestAWordForAUserID(t *testing.T) {
	w := newWorld(t)
	p := w.person("add", "alice", "--server", w.url)
	p.answers(1, "shows (not shown): ", w.ada.Token)
	p.answers(1, "The bot's user id (not shown): ", "ada")
	if err := p.cmd.Wait(); err == nil || !strings.Contains(p.words.b.String(), "username?") {
		t.Errorf("%v\n%s", err, p.words.b.String())
	}
	if _, err := os.Stat(w.home("alice")); err == nil {
		t.Error("something was left")
	}
}

// Nobody is asked for a value that could not be sealed.
func TestNoValueForNobody(t *testing.T) {
	w := newWorld(t)
	p := w.person("secret", "nobody", "set", "KEY")
	err := p.cmd.Wait()
	if out := p.words.b.String(); err == nil || !strings.Contains(out, "no such profile: nobody") || strings.Contains(out, "not shown") {
		t.Errorf("%v\n%s", err, out)
	}
	w.add("alice")
	p = w.person("secret", "alice", "set", "KEY")
	p.answers(1, "The value of KEY (not shown): ", "sk-0123456789abcdef")
	if err := p.cmd.Wait(); err != nil || strings.Contains(p.words.b.String(), "sk-") {
		t.Errorf("%v\n%s", err, p.words.b.String())
	}
}

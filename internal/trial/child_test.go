package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// Orders are what a child is given on its standard input, as JSON in a line of
// its own. Further lines are commands; the end of the input is the child's.
type orders struct {
	Home, Server, UserID, Token, PostKey string

	Host string // of a supervisor; the rest is in its files

	Settings profile.Settings
	Access   profile.Access
	Store    string // durable, or one that is wrong
	Crash    crash
	MaxThink int // milliseconds
}

// start is what the channel is given of them.
func (o orders) start() channel.Start {
	return channel.Start{
		Profile: "trial", Home: o.Home, Run: 1, Settings: o.Settings, Access: o.Access,
		Credentials: sealed.Credentials{
			Server: o.Server, UserID: o.UserID, Token: sealed.NewSecret(o.Token), PostKey: sealed.NewSecret(o.PostKey),
		},
	}
}

// drain is the command to end in peace.
const drain = "drain"

// A child is a process that runs a channel, or a supervisor.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	exited chan struct{} // closed when it has ended and all it said was read

	mu      sync.Mutex
	report  channel.Report // the latest
	changed chan struct{}
}

// begin starts a child: a channel, or a supervisor where there is a host. The
// test waits for its end.
func (w *world) begin(t testing.TB, with orders) *child {
	t.Helper()
	kind := "channel"
	if with.Host != "" {
		kind = "supervisor"
	}
	text, err := json.Marshal(w.tell(with))
	must(t, err)
	c := &child{cmd: exec.Command(os.Args[0]), exited: make(chan struct{}), changed: make(chan struct{})}
	// The race detector would have each process sleep for a second at its end.
	c.cmd.Env = append(os.Environ(), childEnv+"="+kind, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.stdin, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	go c.follow(out)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
	})
	_, err = c.stdin.Write(append(text, '\n'))
	must(t, err)
	return c
}

// follow reads the child's reports until it has ended.
func (c *child) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r channel.Report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		c.mu.Lock()
		c.report = r
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
	}
	_ = c.cmd.Wait()
	close(c.exited)
}

// await waits for a report of which cond says yes.
func (c *child) await(ctx context.Context, cond func(channel.Report) bool) error {
	for {
		c.mu.Lock()
		report, changed := c.report, c.changed
		c.mu.Unlock()
		if cond(report) {
			return nil
		}
		select {
		case <-changed:
		case <-c.exited:
			return fmt.Errorf("the process ended by itself: %v\n%s", c.cmd.ProcessState, c.stderr.Bytes())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// online is the report of a channel that hears and has read what it missed.
func online(r channel.Report) bool { return r.Phase == channel.Online && !r.CatchingUp }

// kill ends a child as a power cut does.
func (c *child) kill(t testing.TB) {
	t.Helper()
	must(t, ignoreDone(c.cmd.Process.Kill()))
	c.mustBeKilled(t)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// mustBeKilled waits for the end of a child, which is to be SIGKILL and nothing
// else: a panic, a race or an error is a finding.
func (c *child) mustBeKilled(t testing.TB) {
	t.Helper()
	<-c.exited
	if s, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended by itself: %v\n%s", c.cmd.ProcessState, c.stderr.Bytes())
	}
}

// drain has a child end in peace, and returns its last counters.
func (c *child) drain(ctx context.Context, t testing.TB) channel.Counters {
	t.Helper()
	_, err := io.WriteString(c.stdin, drain+"\n")
	must(t, err)
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.exited
		t.Fatalf("the process does not end: %v\n%s", context.Cause(ctx), c.stderr.Bytes())
	}
	if !c.cmd.ProcessState.Success() {
		t.Fatalf("the process ended badly: %v\n%s", c.cmd.ProcessState, c.stderr.Bytes())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report.Counters
}

// mustEndAt waits until a child has ended itself where it was told to.
func (c *child) mustEndAt(ctx context.Context, t testing.TB) {
	t.Helper()
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.exited
		t.Fatalf("it never came to where it should end: %v\n%s", context.Cause(ctx), c.stderr.Bytes())
	}
	c.mustBeKilled(t)
}

// mustEnd waits until these questions are over, has the channel end in peace,
// and finds no fault with what is there then.
func (w *world) mustEnd(ctx context.Context, t testing.TB, c *child, of ...*question) {
	t.Helper()
	if err := w.await(ctx, of...); err != nil {
		_ = c.cmd.Process.Kill()
		<-c.exited
		t.Fatalf("%v: %d questions are not over: %v\n%s", err, w.open(of), w.judge().faults, c.stderr.Bytes())
	}
	c.drain(ctx, t)
	for _, fault := range w.judge().faults {
		t.Error(fault)
	}
}

// mustBecome waits until a question is over, and fails unless it became what it
// should.
func (w *world) mustBecome(ctx context.Context, t testing.TB, q *question, want outcome) {
	t.Helper()
	if err := w.await(ctx, q); err != nil {
		t.Fatalf("%v: %s is not over: %v", err, q.id, w.judge().faults)
	}
	got := answered
	if _, ok := w.server.Message(q.note); ok {
		got = interrupted
	}
	if got != want && want != either {
		t.Errorf("%s was %s, and should be %s", q.id, got, want)
	}
}

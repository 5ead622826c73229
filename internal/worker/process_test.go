package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A listener is an Ear that remembers.
type listenerEar struct {
	t    testing.TB
	mu   sync.Mutex
	last channel.Report
	logs []channel.Record
	more chan struct{}
	over chan End
	stay chan struct{} // closed: permits are given
}

func newEar(t testing.TB) *listenerEar {
	e := &listenerEar{t: t, more: make(chan struct{}, 1), over: make(chan End, 1), stay: make(chan struct{})}
	close(e.stay)
	return e
}

func (e *listenerEar) Report(r channel.Report) {
	e.mu.Lock()
	e.last = r
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

func (e *listenerEar) Log(r channel.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.logs = append(e.logs, r)
}

func (e *listenerEar) Allow(ctx context.Context, p channel.Permit) error {
	if p.Kind == "never" {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (e *listenerEar) Ask(context.Context, channel.Request) (channel.Reply, error) {
	return channel.Reply{}, errors.New("nobody is written down here")
}

func (e *listenerEar) Over(end End) { e.over <- end }

const patience = 20 * time.Second

func (e *listenerEar) await(what string, ok func(channel.Report) bool) channel.Report {
	e.t.Helper()
	timeout := time.After(patience)
	for {
		e.mu.Lock()
		r := e.last
		e.mu.Unlock()
		if ok(r) {
			return r
		}
		select {
		case <-e.more:
		case end := <-e.over:
			e.t.Fatalf("not %s, but over: %+v; %v", what, end, e.logs)
		case <-timeout:
			e.t.Fatalf("not %s: %+v", what, r)
		}
	}
}

func (e *listenerEar) ended() End {
	e.t.Helper()
	select {
	case end := <-e.over:
		return end
	case <-time.After(patience):
		e.t.Fatal("the run is not over")
	}
	return End{}
}

func online(r channel.Report) bool { return r.Phase == channel.Online }

// A place is a pretend server and homes.
type place struct {
	t      *testing.T
	server *pretend.Server
	url    string
	owner  pretend.User
	dir    string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, server: pretend.New(pretend.Options{NoLimits: true}), dir: t.TempDir()}
	t.Cleanup(func() { p.server.Close() })
	var err error
	p.url, err = p.server.Listen("127.0.0.1:0")
	if err == nil {
		err = errors.Join(os.Chmod(p.dir, 0o755), os.Chmod(filepath.Dir(p.dir), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	p.owner = p.server.AddUser("olivia", pretend.UserOptions{})
	return p
}

// job is a run of a bot in a home of its own, which belongs to uid.
func (p *place) job(name string, uid int, script ...string) (Job, pretend.User) {
	p.t.Helper()
	user := p.server.AddUser(name, pretend.UserOptions{Bot: true})
	home := filepath.Join(p.dir, name)
	for _, dir := range []string{home, filepath.Join(home, profile.Folder), filepath.Join(home, profile.Folder, profile.StateFolder)} {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.Chown(dir, uid, uid)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	s := profile.DefaultSettings()
	s.Agent.Kind, s.Agent.Command = "echo", script
	return Job{Owner: uid, Start: channel.Start{
		Profile: name, Home: home, Run: 1, Settings: s,
		Access:      profile.Access{People: []profile.Person{{ID: p.owner.ID, Role: profile.Owner}}},
		Credentials: sealed.Credentials{Server: p.url, UserID: user.ID, Token: sealed.NewSecret(user.Token), Generation: 1, PostKey: sealed.NewSecret("a key to post with")},
	}}, user
}

// asks has the owner ask a bot something and returns the answer.
func (p *place) asks(bot pretend.User, text string) string {
	p.t.Helper()
	room := p.server.AddDirect(p.owner, bot)
	before := len(p.server.Messages(room))
	p.server.Say(p.owner, room, text)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	answer := ""
	err := p.server.Await(ctx, func() bool {
		for _, m := range p.server.Messages(room)[before:] {
			if m.User.ID == bot.ID {
				answer = m.Text
				return true
			}
		}
		return false
	})
	if err != nil {
		p.t.Fatalf("no answer: %v", err)
	}
	return answer
}

// The whole of a worker's life: it connects, answers, takes new settings and a
// new token, stops.
func TestALifeInAProcess(t *testing.T) {
	p := newPlace(t)
	job, bot := p.job("alice", os.Geteuid())
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	run := c.Begin(job, ear)
	run.Command(channel.Connect{Number: 1})
	ear.await("online", online)
	if got := p.asks(bot, "hello"); got != "echo: hello" {
		t.Error(got)
	}
	if run.PID() == 0 || run.PID() == os.Getpid() {
		t.Errorf("pid %d", run.PID())
	}
	token := p.server.AddToken(bot)
	creds := job.Start.Credentials
	creds.Token = sealed.NewSecret(token)
	run.Command(channel.Apply{Settings: job.Start.Settings, Access: job.Start.Access, Credentials: creds, Reconnect: true})
	ear.await("ended for the reload", func(r channel.Report) bool { return r.End != nil && r.End.Reason == healthcheck.Reload })
	p.server.RevokeToken(bot.Token)
	run.Command(channel.Connect{Number: 2})
	ear.await("online again", func(r channel.Report) bool { return online(r) && r.Connection == 2 })
	run.Command(channel.Beat{})
	until(t, "everything is taken", func() bool { return run.Pulse().Asked.IsZero() })
	run.Command(channel.Stop{})
	if end := ear.ended(); end.Reason != healthcheck.Operator {
		t.Errorf("%+v", end)
	}
	run.Command(channel.Beat{}) // to nobody
	if !run.Pulse().Asked.IsZero() || run.PID() != 0 {
		t.Error("what is over is asked")
	}
	for _, l := range ear.logs {
		if s := fmt.Sprint(l); strings.Contains(s, token) || strings.Contains(s, bot.Token) {
			t.Errorf("a token is logged: %s", s)
		}
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not seen: %s", what)
		}
	}
}

// Workers that are not as they should be, each with what is said of it.
func TestMisdeeds(t *testing.T) {
	for name, want := range map[string]string{
		"leaver":   "the worker ended: exit status 3",
		"stranger": "the worker is of another build",
		"old":      "the worker is of another build",
		"nonsense": "what came over the link makes no sense",
		"unknown":  `a frame of kind '?'`,
		"huge":     "a frame of 4294967295 bytes",
		"foreign":  "a report of another run",
		"asker":    "512 questions at a time",
		"flood":    "the worker flooded its link",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			job, _ := p.job(name, os.Geteuid())
			ear := newEar(t)
			c := NewProcesses(nil)
			defer c.Close()
			began := time.Now()
			run := c.Begin(job, ear)
			end := ear.ended()
			if end.Reason != healthcheck.Crashed || !strings.Contains(end.Detail, want) {
				t.Errorf("%+v", end)
			}
			if run.PID() != 0 {
				t.Error("it lives")
			}
			if d := time.Since(began); d > 15*time.Second {
				t.Errorf("after %v", d)
			}
		})
	}
}

// A worker that takes no commands shows in its pulse, costs nobody else
// anything, and can be killed.
func TestAWorkerThatReadsNothing(t *testing.T) {
	p := newPlace(t)
	job, _ := p.job("sulker", os.Geteuid())
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	run := c.Begin(job, ear)
	for i := range uint64(20_000) { // far more than the socket holds
		run.Command(channel.Connect{Number: i})
	}
	since := run.Pulse().Asked
	if since.IsZero() || time.Since(since) > 10*time.Second {
		t.Errorf("asked since %v", since)
	}
	if !run.Kill(End{Reason: healthcheck.Hung, Detail: "it takes no commands"}) {
		t.Error("it can't be killed")
	}
	if end := ear.ended(); end.Reason != healthcheck.Hung {
		t.Errorf("%+v", end)
	}
}

// A panic's words are in the log, and what it says in detail only for those who
// debug.
func TestAPanickingWorker(t *testing.T) {
	p := newPlace(t)
	job, _ := p.job("panic", os.Geteuid())
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	c.Begin(job, ear)
	if end := ear.ended(); end.Reason != healthcheck.Crashed || end.Detail != "the worker ended: exit status 2" {
		t.Errorf("%+v", end)
	}
	if len(ear.logs) == 0 || ear.logs[0].Level != 8 || !strings.Contains(ear.logs[0].Attrs["line"], "of its own") {
		t.Errorf("%+v", ear.logs)
	}
	for _, l := range ear.logs[1:] {
		if l.Level != -4 {
			t.Errorf("%+v", l)
		}
	}
}

// A home that somebody else has locked is busy; one that is gone is none.
func TestTheHomesLock(t *testing.T) {
	p := newPlace(t)
	job, _ := p.job("alice", os.Geteuid())
	lock, err := Lock(job.Start.Home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(job.Start.Home); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	for _, c := range []Carrier{NewProcesses(nil), NewShared(channel.Env{Agent: probing})} {
		ear := newEar(t)
		c.Begin(job, ear)
		if end := ear.ended(); end.Reason != healthcheck.Busy {
			t.Errorf("%+v", end)
		}
		defer c.Close()
	}
	lock.Close()
	if err := os.RemoveAll(job.Start.Home); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(job.Start.Home); !errors.Is(err, ErrHome) {
		t.Error(err)
	}
	if _, err := os.Stat(job.Start.Home); err == nil {
		t.Error("the home was made again")
	}
}

// What an agent leaves behind does not outlive a stop, wherever it went: into a
// session of its own, away from its parent, without the mark.
func TestNothingOutlivesAStop(t *testing.T) {
	for name, end := range map[string]func(Run){
		"stop":        func(r Run) { r.Command(channel.Stop{}) },
		"kill":        func(r Run) { r.Kill(End{Reason: healthcheck.Hung}) },
		"kill -9":     func(r Run) { _ = syscall.Kill(r.PID(), syscall.SIGKILL) },
		"kill -TERM":  func(r Run) { _ = syscall.Kill(r.PID(), syscall.SIGTERM) },
		"kill -SEGV":  func(r Run) { _ = syscall.Kill(r.PID(), syscall.SIGSEGV) },
		"stop hanged": func(r Run) { _ = syscall.Kill(r.PID(), syscall.SIGSTOP); r.Kill(End{Reason: healthcheck.Hung}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			mark := "3" + strconv.FormatInt(time.Now().UnixNano()%1_000_000_000, 10)
			// Three ways out: a session, a double fork, and an environment of its own.
			script := fmt.Sprintf(`setsid sleep %[1]s >/dev/null 2>&1 </dev/null &
(setsid sh -c '(sleep %[1]s & sleep %[1]s) & wait' >/dev/null 2>&1 </dev/null &)
env -i setsid sleep %[1]s >/dev/null 2>&1 </dev/null &
while [ "$(pgrep -fxc 'sleep %[1]s')" -lt 4 ]; do sleep 0.05; done
echo left; exec >/dev/null; exec sleep %[1]s`, mark)
			job, bot := p.job("alice", os.Geteuid(), "sh", "-c", script)
			ear := newEar(t)
			c := NewProcesses(nil)
			defer c.Close()
			run := c.Begin(job, ear)
			run.Command(channel.Connect{Number: 1})
			ear.await("online", online)
			p.server.Say(p.owner, p.server.AddDirect(p.owner, bot), "go")
			until(t, "five sleepers", func() bool { return count(mark) == 5 })
			end(run)
			ear.ended()
			if n := count(mark); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// count is how many processes sleep for that long. It starts none of its own:
// a child that nobody knows would be ended.
func count(mark string) int {
	n := 0
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && string(line) == "sleep\x00"+mark+"\x00" {
			n++
		}
	}
	return n
}

// After the program's file was replaced, what runs goes on as it was, and so do
// its workers.
func TestTheProgramIsReplaced(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-test.run", "^TestALifeInAProcess$")
	cmd.Env = append(os.Environ(), replaceVar+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != "replaced" {
		t.Fatalf("the file was not replaced: %v", err)
	}
}

// replaceVar has this test's program replace its own file at its start.
const replaceVar = "TEST_REPLACE_PROGRAM"

func init() {
	path := os.Getenv(replaceVar)
	if path == "" || IsWorker(os.Args) {
		return
	}
	if err := os.WriteFile(path+".new", []byte("replaced"), 0o755); err == nil {
		_ = os.Rename(path+".new", path)
	}
}

// needsRoot says so where a test can't do without.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("this test needs root")
	}
	t.Skip("this test needs root")
}

// A child that still has the lock's descriptor, as each has between fork and
// exec, keeps no home from whoever runs it next.
func TestAClosedLockIsFree(t *testing.T) {
	p := newPlace(t)
	job, _ := p.job("alice", os.Geteuid())
	lock, err := Lock(job.Start.Home)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{lock.file}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	again, err := Lock(job.Start.Home)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func quiet() context.Context { return context.Background() }

func closeOnExec(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil || flags&unix.FD_CLOEXEC != 0
}

func deathSignal() int {
	var signal int32
	_ = unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0)
	return int(signal)
}

func start(t *testing.T, s Spec) Process {
	t.Helper()
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill(); _ = p.Wait() })
	return p
}

// What an agent gets of us: three descriptors, the environment it was meant to
// have, and nothing that was open or set by accident.
func TestWhatAProcessGets(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(secret, []byte("AGE-SECRET-KEY-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Open across an exec, as a descriptor is that we were started with.
	fd, err := unix.Open(secret, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Setenv("ROCKETCHAT_TOKEN", "decoy-token")
	spec := self(t, "report", "GIVEN=x")
	p := start(t, spec)
	if _, err := io.WriteString(p.Stdin(), "a line\n"); err != nil {
		t.Fatal(err)
	}
	var r reported
	if err := json.NewDecoder(p.Stdout()).Decode(&r); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(p.Stderr())
	if err := p.Wait(); err != nil || string(said) != `read "a line\n"` {
		t.Errorf("%v %q", err, said)
	}
	if !slices.Equal(r.Descriptors, []string{"0 pipe", "1 pipe", "2 pipe"}) {
		t.Errorf("descriptors %q", r.Descriptors)
	}
	if len(r.Env) != 4 || !slices.Contains(r.Env, "GIVEN=x") || strings.Contains(fmt.Sprint(r.Env), "decoy") {
		t.Errorf("environment %q", r.Env)
	}
	if r.PID != r.Group || r.Dir != spec.Dir || !slices.Equal(r.Args, spec.Argv) || r.Signal != int(unix.SIGKILL) {
		t.Errorf("%+v", r)
	}
	own, _ := os.ReadFile("/proc/self/oom_score_adj")
	if r.OOM == strings.TrimSpace(string(own)) && r.OOM != "1000" {
		t.Errorf("oom_score_adj is %s, as ours", r.OOM)
	}
}

func TestAllItStartedEndsWithIt(t *testing.T) {
	for _, c := range []struct {
		role string
		kill bool
		// left are those that can't be found any more: without a parent, a
		// group and an environment.
		left []string
	}{{"family", true, nil}, {"orphans", false, []string{"bare"}}} {
		t.Run(c.role, func(t *testing.T) {
			dir := t.TempDir()
			p := start(t, self(t, c.role, "FAMILY="+dir))
			if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil || line != "all there\n" {
				t.Fatalf("%q %v", line, err)
			}
			if c.kill {
				if err := p.Kill(); err != nil {
					t.Error(err)
				}
			}
			err := p.Wait()
			if c.kill != (err != nil) {
				t.Errorf("ended with %v", err)
			}
			for _, name := range []string{"group", "session", "orphan", "bare"} {
				pid := pidIn(filepath.Join(dir, name))
				if alive(pid) && !slices.Contains(c.left, name) {
					t.Errorf("%s, process %d, lives on", name, pid)
				}
				if alive(pid) {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		})
	}
}

// In a subreaper, as a worker is, nothing gets away at all.
func TestNothingLeavesASubreaper(t *testing.T) {
	dir := t.TempDir()
	p := start(t, self(t, "subreaper", "FAMILY="+dir))
	out, err := io.ReadAll(p.Stdout())
	if string(out) != "ended with <nil>\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	for _, name := range []string{"group", "session", "orphan", "bare"} {
		if pid := pidIn(filepath.Join(dir, name)); pid == 0 || alive(pid) {
			t.Errorf("%s, process %d, lives on", name, pid)
		}
	}
}

func TestItDiesWithUs(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe)
	parent.Env = []string{"PATH=/usr/bin:/bin", roleVariable + "=parent"}
	out, err := parent.Output()
	var pid int
	if _, scan := fmt.Sscan(string(out), &pid); err == nil || scan != nil {
		t.Fatalf("%v %v %q", err, scan, out)
	}
	// The signal is sent while its parent dies; it may still be on its way.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
	if n != 1 || err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.Errorf("process %d lives on: %d %v", pid, n, err)
	}
}

// A process outlives the goroutine, and the thread, that asked for it.
func TestItOutlivesWhoStartedIt(t *testing.T) {
	spec := self(t, "report")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan Process)
	go func() {
		runtime.LockOSThread() // and end with it locked, which ends the thread
		p, err := Start(ctx, spec)
		if err != nil {
			t.Error(err)
		}
		got <- p
	}()
	p := <-got
	cancel()
	if p == nil {
		return
	}
	p.Stdin().Close()
	var r reported
	if err := json.NewDecoder(p.Stdout()).Decode(&r); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, p.Stderr())
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// Output ends though somebody out of reach still holds its other end.
func TestOutputEndsThoughSomebodyHoldsIt(t *testing.T) {
	dir := t.TempDir()
	p := start(t, Spec{
		Argv: []string{"sh", "-c", `env -i setsid sh -c 'echo $$ > pid.new && mv pid.new pid; exec sleep 600' & until [ -e pid ]; do sleep 0.01; done; echo last words; exit 7`},
		Env:  []string{"PATH=/usr/bin:/bin"}, Dir: dir,
	})
	out, err := io.ReadAll(p.Stdout())
	if string(out) != "last words\n" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	exit, ok := errors.AsType[*exec.ExitError](p.Wait())
	if !ok || exit.ExitCode() != 7 {
		t.Errorf("%v", exit)
	}
	if err := p.Kill(); err != nil { // of what is gone
		t.Error(err)
	}
	_ = unix.Kill(pidIn(filepath.Join(dir, "pid")), unix.SIGKILL)
}

func TestWhatCantBeStarted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere:" + dir, "SECRET=hidden-value"}
	for _, c := range []struct {
		what     string
		spec     Spec
		notFound bool
	}{
		{"no command", Spec{Env: env, Dir: dir}, true},
		{"an empty name", Spec{Argv: []string{""}, Env: env, Dir: dir}, true},
		{"not in its PATH, though in ours", Spec{Argv: []string{"sh"}, Env: env, Dir: dir}, true},
		{"no PATH", Spec{Argv: []string{"sh"}, Dir: dir}, true},
		{"may not be executed", Spec{Argv: []string{"./plain"}, Env: env, Dir: dir}, true},
		{"a folder", Spec{Argv: []string{dir}, Env: env, Dir: dir}, true},
		{"no program", Spec{Argv: []string{"text"}, Env: env, Dir: dir}, false},
		{"no such folder", Spec{Argv: []string{"/bin/sh"}, Env: env, Dir: dir + "/gone"}, false},
		{"a zero byte", Spec{Argv: []string{"/bin/sh", "a\x00b"}, Env: env, Dir: dir}, false},
	} {
		p, err := Start(t.Context(), c.spec)
		if err == nil {
			t.Errorf("%s: started", c.what)
			_ = p.Kill()
			continue
		}
		if errors.Is(err, ErrNotFound) != c.notFound || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Spec{Argv: []string{"/bin/sh"}, Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one/tool", "two/tool"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, path, want string }{
		{"tool", dir + "/one:" + dir + "/two", dir + "/one/tool"},
		{"tool", "relative:" + dir + "/two", dir + "/two/tool"},
		{"two/tool", "", dir + "/two/tool"},
		{dir + "/one/tool", "", dir + "/one/tool"},
		{"tool", "", ""},
		{"tool", ".:one", ""},
	} {
		got, err := LookPath(c.name, []string{"PATH=/first", "PATH=" + c.path}, dir)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s in %q: %q %v", c.name, c.path, got, err)
		}
	}
}

// Many at once, each with its own end.
func TestManyProcesses(t *testing.T) {
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			p, err := Start(quiet(), Spec{Argv: []string{"sh", "-c", fmt.Sprintf("cat; exit %d", i)}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"})
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(p.Stdin(), fmt.Sprint(i))
			p.Stdin().Close()
			out, _ := io.ReadAll(p.Stdout())
			_, _ = io.ReadAll(p.Stderr())
			err = p.Wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); string(out) != fmt.Sprint(i) || (i > 0) != ok || ok && exit.ExitCode() != i {
				t.Errorf("%d: %q %v", i, out, err)
			}
		})
	}
	group.Wait()
}

func TestASpecDoesNotPrintItsSecrets(t *testing.T) {
	s := Spec{Argv: []string{"hermes", "acp"}, Env: []string{"KEY=hidden"}, Dir: "/home/a"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		if got := fmt.Sprintf(format, s); strings.Contains(got, "hidden") || !strings.Contains(got, "hermes") {
			t.Errorf("%s: %s", format, got)
		}
	}
	if got := s.LogValue().String(); strings.Contains(got, "hidden") {
		t.Error(got)
	}
}

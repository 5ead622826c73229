package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/ownerfs/ownertest"
)

// lookAt is the variable that has the test binary try to look into a process.
const lookAt = "RCSUPERVISOR_TEST_LOOKS_AT"

// lookWhenTold tries all that one process can do to read another's memory or
// environment, and prints which of it came off.
func lookWhenTold() {
	var pid int
	if _, err := fmt.Sscan(os.Getenv(lookAt), &pid); err != nil {
		return
	}
	for _, way := range []struct {
		name string
		try  func(pid int) error
	}{
		{"mem", func(pid int) error { return opens(pid, "mem") }},
		{"environ", func(pid int) error { return reads(pid, "environ") }},
		{"auxv", func(pid int) error { return reads(pid, "auxv") }},
		{"maps", func(pid int) error { return reads(pid, "maps") }},
		{"fd", func(pid int) error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); return err }},
		{"cwd", func(pid int) error { _, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); return err }},
		{"process_vm_readv", readsMemory},
		{"pidfd_getfd", takesDescriptor},
		{"ptrace", attaches},
	} {
		if way.try(pid) == nil {
			fmt.Println(way.name)
		}
	}
	os.Exit(0)
}

func opens(pid int, name string) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err == nil {
		f.Close()
	}
	return err
}

func reads(pid int, name string) error {
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return err
}

func readsMemory(pid int) error {
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0], Len: 1}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
	if err == unix.EFAULT { // it may look; there is nothing
		return nil
	}
	return err
}

func takesDescriptor(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

func attaches(pid int) error {
	runtime.LockOSThread() // the tracer is a thread
	if err := syscall.PtraceAttach(pid); err != nil {
		return err
	}
	_, err := syscall.Wait4(pid, nil, syscall.WALL, nil)
	_ = syscall.PtraceDetach(pid)
	return err
}

// A lower world is one of an ordinary user's: whoever runs the tests, or where
// that is root, another.
type lowerWorld struct {
	*world
	program string
	as      *syscall.Credential // nil for whoever runs the tests
}

func newLowerWorld(t *testing.T) *lowerWorld {
	t.Helper()
	w := &lowerWorld{world: newWorld(t), program: binary(t)}
	if os.Geteuid() != 0 {
		return w
	}
	w.as = &syscall.Credential{Uid: alice, Gid: alice, Groups: []uint32{alice}}
	for dir := w.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.Remove(w.at("host.yaml")))
	t.Setenv("RCSUPERVISOR_CONFIG", "")
	w.program = w.shared()
	must(t, filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != w.program {
			err = os.Lchown(path, alice, alice)
		}
		return err
	}))
	return w
}

// shared is the program's file where every user can get at it.
func (w *world) shared() string {
	w.t.Helper()
	path := w.at("rcsupervisor")
	if os.Link(binary(w.t), path) != nil { // there already, or not on this file system
		data, err := os.ReadFile(binary(w.t))
		must(w.t, err)
		must(w.t, os.WriteFile(path, data, 0o755))
	}
	return path
}

// command is the program, or the test binary under another name, as the user.
func (w *lowerWorld) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(w.program, args...)
	cmd.Args[0] = name
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	cmd.Dir = w.dir
	return cmd
}

func (w *lowerWorld) does(stdin string, args ...string) string {
	w.t.Helper()
	cmd := w.command("rcsupervisor", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// look returns what another process of the same user can see of one.
func (w *lowerWorld) look(pid int) []string {
	w.t.Helper()
	cmd := w.command("tests")
	cmd.Env = append(os.Environ(), fmt.Sprint(lookAt, "=", pid))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

// Neither the supervisor, nor a channel's process, nor a verb that is being
// given a token can be looked into by other processes of the same user, such as
// an agent.
func TestNobodyLooksInside(t *testing.T) {
	w := newLowerWorld(t)
	idle := w.command("tests")
	idle.Path, idle.Args = "/bin/sleep", []string{"sleep", "60"}
	must(t, idle.Start())
	defer func() { _ = idle.Process.Kill(); _ = idle.Wait() }()
	if got := strings.Join(w.look(idle.Process.Pid), " "); !strings.Contains(got, "environ auxv maps fd cwd") {
		t.Fatalf("of any process only %q can be seen: this test would say nothing", got)
	}

	// A verb that waits for the rest of a token.
	verb := w.command("rcsupervisor", "add", "ada", "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID)
	its, in, err := os.Pipe()
	must(t, err)
	verb.Stdin = its
	must(t, verb.Start())
	must(t, its.Close())
	_, err = io.WriteString(in, w.ada.Token)
	must(t, err)
	awaitEmpty(t, in)
	if got := w.look(verb.Process.Pid); len(got) > 0 {
		t.Errorf("of a verb that is being given a token %q can be seen", got)
	}
	must(t, in.Close())
	must(t, verb.Wait())

	daemon := w.command("rcsupervisor", "run")
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	must(t, daemon.Start())
	defer func() { _ = daemon.Process.Signal(syscall.SIGTERM); _ = daemon.Wait() }()
	awaitSocket(t, w.at("c.sock"))
	w.does("", "wait", "ada", "--for", "online", "--timeout", "20s")
	if got := w.look(daemon.Process.Pid); len(got) > 0 {
		t.Errorf("of the supervisor %q can be seen", got)
	}
	for _, pid := range workers(t, daemon.Process.Pid) {
		if got := w.look(pid); len(got) > 0 {
			t.Errorf("of a worker %q can be seen", got)
		}
	}
}

// awaitEmpty waits until all that was written into a pipe has been read.
func awaitEmpty(t *testing.T, pipe *os.File) {
	t.Helper()
	for range 1000 {
		left, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ) // FIONREAD
		must(t, err)
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // another process; there is nothing to wait on
	}
	t.Fatal("it does not read the token")
}

// A channel's process holds its own bot's credentials, and neither the host's
// identity, nor another bot's, nor a value that its agent isn't given.
func TestAChannelHoldsOnlyItsOwn(t *testing.T) {
	ownertest.NeedRoot(t) // who alone may look
	if unraced(t) {       // there is much to look through
		return
	}
	w := newWorld(t)
	bob := w.server.AddUser("bob", pretend.UserOptions{Bot: true})
	w.add("ada")
	w.works(bob.Token, "add", "bob", "--server", w.url, "--user-id", bob.ID, "--owner-id", w.owner.ID)
	const unnamed = "vqzjxkwpmtbydhgr" // no run of it is anything else
	w.works(unnamed, "secret", "ada", "set", "NOT_NAMED")
	daemon := w.command("", "run", "--isolation", "process", "--allow-root")
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	must(t, daemon.Start())
	defer func() { _ = daemon.Process.Signal(syscall.SIGTERM); _ = daemon.Wait() }()
	awaitSocket(t, w.at("c.sock"))
	w.works("", "wait", "ada", "bob", "--for", "online", "--timeout", "20s")
	askAda(t, w)
	identity := w.identity()
	tokens := map[string]string{"ada": w.ada.Token, "bob": bob.Token}
	if !holdsRun(memory(t, daemon.Process.Pid), identity) {
		t.Error("the supervisor's memory does not hold the identity: what was looked at?")
	}
	looked := 0
	for _, pid := range workers(t, daemon.Process.Pid) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		must(t, err)
		mem := memory(t, pid)
		for name, token := range tokens {
			own := bytes.Contains(args, []byte("\x00"+name+"\x00"))
			if own {
				looked++
			}
			if got := bytes.Contains(mem, []byte(token)); got != own {
				t.Errorf("%q holds the token of %s: %v", args, name, got)
			}
		}
		if holdsRun(mem, identity) {
			t.Errorf("%q holds some of the host's identity", args)
		}
		if holdsRun(mem, unnamed) {
			t.Errorf("%q holds a value that nobody named", args)
		}
	}
	if looked != len(tokens) {
		t.Errorf("%d workers were looked at", looked)
	}
}

// memory is all that a process may have written.
func memory(t *testing.T, pid int) (all []byte) {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	must(t, err)
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	must(t, err)
	defer mem.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		const page = 1 << 20 // what was never touched reads as zeros, quickly
		buf := make([]byte, page)
		for at := from; at < to; at += page {
			n, _ := mem.ReadAt(buf[:min(page, to-at)], at)
			if chunk := bytes.Trim(buf[:n], "\x00"); len(chunk) > 0 {
				all = append(all, chunk...)
			}
		}
	}
	if len(all) == 0 {
		t.Errorf("nothing of the memory of %d could be read", pid)
	}
	return all
}

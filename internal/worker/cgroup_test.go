package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// cgroups makes a cgroup to divide, and has this process back where it was at
// the test's end. Where none can be made it says so.
func cgroups(t *testing.T) *Cgroups {
	t.Helper()
	root, err := mountPoint("/proc/self/mountinfo")
	if err != nil {
		t.Skip(err)
	}
	before := ownBefore(t)
	base := filepath.Join(root, before, "rcsupervisor-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Skipf("no cgroup can be made here: %v", err)
	}
	t.Cleanup(func() {
		err := os.WriteFile(filepath.Join(root, before, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
		for _, path := range []string{filepath.Join(base, ownGroup), base} {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			t.Error(err)
		}
	})
	g, err := OpenCgroups(base, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ownBefore(t *testing.T) string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path
		}
	}
	t.Skip("no cgroups of version 2")
	return ""
}

// A worker has a cgroup of its own with all it starts, which dies whole and
// leaves nothing.
func TestAWorkersCgroup(t *testing.T) {
	g := cgroups(t)
	p := newPlace(t)
	mark := "5" + strconv.Itoa(os.Getpid())
	job, bot := p.job("alice", os.Geteuid(), "sh", "-c", fmt.Sprintf(
		`(env -i setsid sleep %[1]s >/dev/null 2>&1 </dev/null &); cat /proc/self/cgroup; exec >/dev/null; exec sleep %[1]s`, mark))
	ear := newEar(t)
	c := NewProcesses(g)
	defer c.Close()
	run := c.Begin(job, ear)
	run.Command(channel.Connect{Number: 1})
	ear.await("online", online)
	p.server.Say(p.owner, p.server.AddDirect(p.owner, bot), "go")
	until(t, "two sleepers", func() bool { return count(mark) == 2 })
	path := filepath.Join(g.base, "profile-alice")
	procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if err != nil || len(strings.Fields(string(procs))) != 3 || !strings.Contains(string(procs), strconv.Itoa(run.PID())) {
		t.Errorf("in the cgroup are %q, %v; the worker is %d", procs, err, run.PID())
	}
	run.Kill(End{Reason: healthcheck.Hung})
	ear.ended()
	if n := count(mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is left: %v", err)
	}
}

// What an earlier supervisor left in a profile's cgroup is ended first.
func TestALeftCgroup(t *testing.T) {
	g := cgroups(t)
	left := g.make("alice", 0)
	if left == nil {
		t.Fatal("no cgroup")
	}
	left.dir.Close()
	again := g.make("alice", 1<<30)
	if again == nil {
		t.Fatal("no cgroup in the place of one that was left")
	}
	again.remove()
	var none *Cgroups
	if none.make("alice", 0) != nil {
		t.Error("a cgroup where none is delegated")
	}
	var nobody *cgroup
	nobody.kill()
	nobody.remove()
}

func TestFindingTheOwnCgroup(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mounts := write("mounts", "25 1 0:22 / /sys rw - sysfs sysfs rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
	for text, want := range map[string]string{
		"0::/user.slice/rcsupervisor.service\n":                "/sys/fs/cgroup/user.slice/rcsupervisor.service",
		"4:memory:/x\n0::/system.slice/r.service/supervisor\n": "/sys/fs/cgroup/system.slice/r.service/supervisor",
		"0::/\n":        "",
		"1:memory:/x\n": "",
	} {
		got, err := ownCgroup(write("cgroup", text), mounts)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := mountPoint(write("none", "25 1 0:22 / /sys rw - sysfs sysfs rw\n")); err == nil {
		t.Error("a mount where there is none")
	}
}

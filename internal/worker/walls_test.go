package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel"
	"rcsupervisor/profile"
)

// Two homes of two users under a supervisor that is root: each worker runs as
// its owner, and its agent can look into nothing that is not its own.
func TestTwoOwners(t *testing.T) {
	needsRoot(t)
	const ada, bob = 61001, 61002
	p := newPlace(t)
	identity := filepath.Join(p.dir, "identity.txt")
	if err := os.WriteFile(identity, []byte("AGE-SECRET-KEY-"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(p.dir, "bob", profile.Folder, "secrets.age")
	// Each line is "what: answer"; what can't be had says so in its own words.
	script := fmt.Sprintf(`
try() { if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi; }
echo "uid: $(id -u) $(id -g) $(id -G)"
echo "fds:"; ls /proc/$$/fd # a pipe would be one more
echo "worker: $(tr '\0' ' ' </proc/$PPID/cmdline)"
echo "worker's owner in /proc: $(stat -c %%u /proc/$PPID/mem)"
echo "worker's environment: $(try cat /proc/$PPID/environ)"
echo "worker's memory: $(try head -c1 /proc/$PPID/mem)"
echo "worker's maps: $(try cat /proc/$PPID/maps)"
echo "worker's descriptors: $(try ls /proc/$PPID/fd)"
echo "other's home: $(try ls %[1]s)"
echo "other's secrets: $(try cat %[2]s)"
echo "identity: $(try cat %[3]s)"
echo "new privileges: $(grep NoNewPrivs /proc/self/status | tr -d '\t')"
echo "core: $(ulimit -c)"
echo "capabilities: $(grep CapPrm /proc/self/status | tr -d '\t')"
echo "bob's worker: $(try kill -0 "$(cat %[4]s)")"
`, filepath.Join(p.dir, "bob"), secret, identity, filepath.Join(p.dir, "pid"))
	c := NewProcesses(nil)
	defer c.Close()
	runs := map[string]Run{}
	start := func(name string, uid int) (channelUser func(string) string) {
		job, bot := p.job(name, uid, "sh", "-c", script)
		ear := newEar(t)
		run := c.Begin(job, ear)
		runs[name] = run
		run.Command(channel.Connect{Number: 1})
		ear.await("online", online)
		return func(text string) string { return p.asks(bot, text) }
	}
	start("bob", bob)
	if err := os.WriteFile(secret, []byte("sealed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "pid"), []byte(fmt.Sprint(runs["bob"].PID())), 0o644); err != nil {
		t.Fatal(err)
	}
	askAda := start("ada", ada)
	got := strings.Split(askAda("look around"), "\n")
	want := []string{
		"uid: 61001 65534 65534",
		"fds:", "0", "1", "2",
		fmt.Sprintf("worker: rcsupervisor channel ada %d 61001 65534 ", os.Getpid()),
		"worker's owner in /proc: 0",
		"worker's environment: no",
		"worker's memory: no",
		"worker's maps: no",
		"worker's descriptors: no",
		"other's home: no",
		"other's secrets: no",
		"identity: no",
		"new privileges: NoNewPrivs:1",
		"core: 0",
		"capabilities: CapPrm:0000000000000000",
		"bob's worker: no",
	}
	if d := cmp.Diff(want, trimmed(got), cmp.Transformer("trim", strings.TrimSpace)); d != "" {
		t.Error(d)
	}
	for name, uid := range map[string]int{"ada": ada, "bob": bob} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", runs[name].PID()))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", uid), "Gid:\t65534\t65534\t65534\t65534", "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000",
		} {
			if !strings.Contains(string(status), line+"\n") {
				t.Errorf("%s: %q is not in\n%s", name, line, status)
			}
		}
	}
	// What a worker writes is its owner's.
	info, err := os.Stat(filepath.Join(p.dir, "ada", profile.Folder, profile.StateFolder, "dedup.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func trimmed(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
}

// An agent of the supervisor's own user can't look into its worker either.
func TestOneOwner(t *testing.T) {
	p := newPlace(t)
	job, bot := p.job("alice", os.Geteuid(), "sh", "-c", `
echo "fds:"; ls /proc/$$/fd # a pipe would be one more
echo "dumpable: $(stat -c %u:%g /proc/$PPID/environ)"
env`)
	job.Start.Settings.Agent.Kind = "exec"
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	run := c.Begin(job, ear)
	run.Command(channel.Connect{Number: 1})
	ear.await("online", online)
	got := p.asks(bot, "look around")
	if !strings.HasPrefix(got, "fds:\n0\n1\n2\ndumpable") || strings.Contains(got, bot.Token) {
		t.Error(got)
	}
	// environ of a process that is not dumpable is root's; root sees it anyway.
	if !strings.Contains(got, "dumpable: 0:0") {
		t.Error(got)
	}
}

// The command line of a worker says whom it is to become, and nothing else does.
func TestWallsOnTheCommandLine(t *testing.T) {
	for _, w := range []walls{
		{parent: 7}, {parent: 7, drop: true, uid: 1000, gid: 1001, groups: []int{}}, {parent: 7, drop: true, uid: 1000, gid: 1001, groups: []int{4, 27}},
	} {
		args := w.args("alice")
		if !IsWorker(args) {
			t.Errorf("%q is no worker's", args)
		}
		got, err := parseWalls(args[3:])
		if d := cmp.Diff(w, got, cmp.AllowUnexported(walls{})); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	}
	for _, bad := range [][]string{{}, {"x"}, {"7", "1000"}, {"7", "0", "1"}, {"7", "1", "0"}, {"-7"}, {"7", "1000", "1000", "x"}} {
		if w, err := parseWalls(bad); err == nil {
			t.Errorf("%q: %+v", bad, w)
		}
	}
	for _, people := range [][]string{{"rcsupervisor"}, {"rcsupervisor", "channel"}, {"rcsupervisor", "channel", "alice"}, {"rcsupervisor", "status", "channel", "7"}} {
		if IsWorker(people) {
			t.Errorf("%q is a worker's", people)
		}
	}
}

// Where no cgroup holds a bound of memory, each process has it for itself.
func TestABoundOfMemory(t *testing.T) {
	p := newPlace(t)
	// A line without an end is kept whole.
	job, bot := p.job("alice", os.Geteuid(), "sh", "-c", `ulimit -d; head -c 1500000000 /dev/zero | tail >/dev/null 2>&1 && echo had it || echo refused`)
	job.Memory = roomy
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	run := c.Begin(job, ear)
	run.Command(channel.Connect{Number: 1})
	ear.await("online", online)
	if got := p.asks(bot, "take it"); got != fmt.Sprintf("%d\nrefused", roomy>>10) {
		t.Error(got)
	}
}

// Nothing that is in the supervisor's environment for somebody else gets to a
// worker, or through it to an agent (hermes#54675, #82936): a token that lies
// there is nobody's.
func TestTheEnvironmentIsScrubbed(t *testing.T) {
	for _, name := range []string{"ROCKETCHAT_TOKEN", "ROCKETCHAT_AUTH_TOKEN", "OPENAI_API_KEY", "HERMES_HOME", "RCSUPERVISOR_IDENTITY_FILE", "HTTPS_PROXY", "GODEBUG", "LD_PRELOAD"} {
		t.Setenv(name, "decoy")
	}
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("LC_TIME", "de_DE.UTF-8")
	p := newPlace(t)
	job, bot := p.job("alice", os.Geteuid())
	ear := newEar(t)
	c := NewProcesses(nil)
	defer c.Close()
	run := c.Begin(job, ear)
	run.Command(channel.Connect{Number: 1})
	ear.await("online", online) // with the sealed token
	if got := p.asks(bot, "hello"); got != "echo: hello" {
		t.Error(got)
	}
	env := ownerOf(os.Geteuid()).environment()
	if os.Geteuid() == 0 { // of a process that is not dumpable root alone may read it
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", run.PID()))
		if err != nil {
			t.Fatal(err)
		}
		env = strings.Split(string(data), "\x00")
	}
	for _, v := range env {
		if strings.Contains(v, "decoy") {
			t.Errorf("a worker is given %s", v)
		}
	}
	for _, want := range []string{"LANG=C.UTF-8", "LC_TIME=de_DE.UTF-8"} {
		if !slices.Contains(env, want) {
			t.Errorf("a worker is not given %s: %q", want, env)
		}
	}
	for _, v := range ownerOf(61001).environment() {
		if strings.HasPrefix(v, "HOME=") && v != "HOME=/" || strings.HasPrefix(v, "USER=") {
			t.Errorf("somebody without an entry has %s", v)
		}
	}
}

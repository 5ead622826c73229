package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary one of the programs below.
const roleVariable = "AGENT_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// roles are what the test binary can be, as a process of its own.
var roles = map[string]func(){
	"report": report,
	"family": func() { family(); select {} },
	"orphans": func() {
		family()
	},
	"subreaper": func() {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		exe, _ := os.Executable()
		p, err := Start(quiet(), Spec{Argv: []string{exe}, Env: []string{"PATH=/usr/bin:/bin", roleVariable + "=orphans", "FAMILY=" + os.Getenv("FAMILY")}, Dir: "/"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("ended with", p.Wait())
		for _, c := range processes() {
			if c.parent == os.Getpid() {
				fmt.Printf("left: %+v\n", c)
			}
		}
	},
	"parent": func() {
		// A supervisor that dies without a word.
		p, err := Start(quiet(), Spec{Argv: []string{"sleep", "600"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.(*local).cmd.Process.Pid)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	},
}

// A reported is what a process knows of itself.
type reported struct {
	Descriptors []string
	Env         []string
	Group, PID  int
	Args        []string
	Dir         string
	OOM         string
	Signal      int // of its parent's death
}

func report() {
	var r reported
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		// Go's own runtime opens some by itself, each close-on-exec.
		if fd, err := strconv.Atoi(e.Name()); err == nil && !closeOnExec(fd) {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			r.Descriptors = append(r.Descriptors, e.Name()+" "+strings.SplitN(to, ":", 2)[0])
		}
	}
	r.Env, r.PID, r.Group = os.Environ(), os.Getpid(), syscall.Getpgrp()
	r.Args = os.Args
	r.Dir, _ = os.Getwd()
	score, _ := os.ReadFile("/proc/self/oom_score_adj")
	r.OOM = strings.TrimSpace(string(score))
	r.Signal = deathSignal()
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	_ = json.NewEncoder(os.Stdout).Encode(r)
	fmt.Fprintf(os.Stderr, "read %q", line)
}

// family starts children that try to get away: in the group, in a session of
// their own, and in one without a parent. It returns once all of them run.
func family() {
	dir := os.Getenv("FAMILY")
	lines, out, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for _, script := range []string{
		`echo $$ > "$0/group"; echo there; exec sleep 600 >/dev/null`,
		`exec setsid sh -c 'echo $$ > "$0/session"; echo there; exec sleep 600 >/dev/null' "$0"`,
		`(setsid sh -c 'trap "" TERM; echo $$ > "$0/orphan"; echo there; exec >/dev/null; sleep 600; sleep 600' "$0" &) &`,
		`exec setsid env -i /bin/sh -c 'echo $$ > "$0/bare"; echo there; exec sleep 600 >/dev/null' "$0"`,
	} {
		child := exec.Command("sh", "-c", script, dir)
		child.Stdout = out
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	out.Close()
	_, _ = io.Copy(io.Discard, lines) // to the end: all have said that they are there
	fmt.Println("all there")
}

func pidIn(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// alive reports whether a process runs.
func alive(pid int) bool {
	p, ok := look(pid)
	return ok && !p.zombie
}

// self is the spec of the test binary in a role.
func self(t *testing.T, role string, env ...string) Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Argv: []string{exe}, Env: slices.Concat([]string{"PATH=/usr/bin:/bin", roleVariable + "=" + role}, env), Dir: t.TempDir()}
}

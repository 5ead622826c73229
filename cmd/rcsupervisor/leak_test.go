package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/sealed"
)

// binary is the program's file.
func binary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	if plainDir != "" {
		self = filepath.Join(plainDir, "rcsupervisor")
	}
	self, err = filepath.EvalSymlinks(self)
	must(t, err)
	return self
}

// The program in processes of its own, as people run it: the test binary under
// its name is the program.
func (w *world) command(stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary(w.t), args...)
	cmd.Args[0] = "rcsupervisor"
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// A watcher reads all that /proc shows of processes of the program, again and
// again, until it is stopped. What it read is kept by file name, so that a
// finding says where it was.
type procWatch struct {
	mu   sync.Mutex
	seen map[string][]byte
	pids map[int]bool
	stop chan struct{}
	done chan struct{}
}

func watchProc(self string) *procWatch {
	p := &procWatch{seen: map[string][]byte{}, pids: map[int]bool{}, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(time.Millisecond):
				p.look(self)
			}
		}
	}()
	return p
}

func (p *procWatch) look(self string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err != nil || exe != self {
			continue
		}
		p.mu.Lock()
		p.pids[pid] = true
		for _, name := range []string{"cmdline", "environ", "comm", "status", "stat", "maps", "mountinfo", "limits", "cgroup", "wchan", "stack", "io"} {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				p.keep(name, data)
			}
		}
		for _, sub := range []string{"fd", "task"} {
			inside, _ := os.ReadDir(filepath.Join(dir, sub))
			for _, f := range inside {
				path := filepath.Join(dir, sub, f.Name())
				if target, err := os.Readlink(path); err == nil {
					p.keep(sub, []byte(target))
				}
				if data, err := os.ReadFile(filepath.Join(path, "comm")); err == nil && sub == "task" {
					p.keep("task/comm", data)
				}
			}
		}
		p.mu.Unlock()
	}
}

// keep adds what was not seen yet.
func (p *procWatch) keep(name string, data []byte) {
	if !bytes.Contains(p.seen[name], data) {
		p.seen[name] = append(append(p.seen[name], data...), '\n')
	}
}

// A run is the program's processes in which every secret passes through, and
// all that they say.
type leakRun struct {
	*world
	t       *testing.T
	secrets []string
	printed bytes.Buffer
}

const leakValue, leakAsker = "sk-value-0123456789abcdef", "asker-key-9876543210fedcba"

// step runs a verb, which has to end so.
func (r *leakRun) step(code int, stdin string, args ...string) {
	r.t.Helper()
	cmd := r.command(stdin, args...)
	out, _ := cmd.CombinedOutput()
	r.printed.Write(out)
	if got := cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("%v: exit %d, want %d\n%s", args, got, code, out)
	}
}

// identity is the secret part of the host's present identity.
func (w *world) identity() string {
	w.t.Helper()
	text, err := os.ReadFile(w.at("home/.config/rcsupervisor/identity.txt"))
	must(w.t, err)
	_, key, _ := strings.Cut(string(text), "AGE-SECRET-KEY-PQ-1")
	key, _, _ = strings.Cut(key, "\n")
	return strings.TrimSpace(key)
}

// A full run, in which every secret passes through: no run of eight of its
// bytes is printed, written to a file, or to be seen under /proc.
func TestNoSecretShowsAnywhere(t *testing.T) {
	w := newWorld(t)
	r := &leakRun{world: w, t: t, secrets: []string{w.ada.Token, leakValue, leakAsker}}
	proc := watchProc(binary(t))
	r.enroll()
	told := notifySocket(t, w.at("notify"))
	daemon := w.command("", "run", "--isolation", "process", "--allow-root", "--debug")
	daemon.Env = append(os.Environ(), "NOTIFY_SOCKET="+w.at("notify"), "GOTRACEBACK=all")
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	must(t, daemon.Start())
	r.drive()
	r.step(0, "", "status")
	if !bytes.Contains(r.printed.Bytes(), []byte("debug is on")) {
		t.Error("status keeps quiet about debug")
	}
	for _, page := range []string{"/v1/status", "/v1/profiles/ada", "/v1/profiles/ada/logs", "/v1/plan", "/v1/events", "/metrics", "/healthz", "/readyz", "/debug"} {
		r.printed.Write(fetch(t, w.at("c.sock"), page))
	}
	// Whatever ends it, it says where it was and nothing of what it held.
	for _, pid := range workers(t, daemon.Process.Pid) {
		must(t, syscall.Kill(pid, syscall.SIGABRT))
	}
	r.step(0, "", "wait", "ada", "--for", "online", "--timeout", "20s")
	must(t, daemon.Process.Signal(syscall.SIGQUIT))
	_ = daemon.Wait()
	close(proc.stop)
	<-proc.done

	for what, text := range map[string][]byte{"what was printed": r.printed.Bytes(), "the log": log.Bytes(), "what systemd is told": told()} {
		if holdsRun(text, r.secrets...) {
			t.Errorf("%s holds some of a secret:\n%s", what, text)
		}
		if len(text) == 0 {
			t.Errorf("%s is nothing", what)
		}
	}
	if !bytes.Contains(log.Bytes(), []byte("level=DEBUG")) {
		t.Errorf("nothing was logged for those who debug:\n%s", log.Bytes())
	}
	if !bytes.Contains(log.Bytes(), []byte("SIGQUIT")) || !bytes.Contains(log.Bytes(), []byte("goroutine ")) {
		t.Errorf("it did not say where it was:\n%s", log.Bytes())
	}
	r.seen(proc)
	w.noPlain(r.secrets, w.at("home/.config/rcsupervisor/identity.txt"))
}

// enroll has bots added, imported and changed, rightly and wrongly.
func (r *leakRun) enroll() {
	w := r.world
	r.step(0, "", "init")
	r.step(0, "Token: "+w.ada.Token+"\nYour user Id: "+w.ada.ID+"\n", "add", "ada", "--server", w.url, "--owner-id", w.owner.ID)
	r.step(1, "wrong-"+w.ada.Token, "add", "eve", "--server", w.url, "--user-id", w.ada.ID)
	r.step(1, w.ada.Token, "add", "eve", "--server", w.url, "--user-id", w.owner.ID)
	r.step(2, w.ada.Token, "add", "eve", "--server", "https://user:"+leakValue[:4]+"@example.org")
	r.step(0, leakValue, "secret", "ada", "set", "OPENAI_API_KEY")
	r.step(0, "", "check", "ada")
	must(r.t, os.MkdirAll(w.home("ivy"), 0o755))
	env := fmt.Sprintf("ROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\nROCKETCHAT_TOKEN=%s\nROCKETCHAT_TEAM_ASKER_KEY=%s\n", w.url, w.ada.ID, w.ada.Token, leakAsker)
	must(r.t, os.WriteFile(filepath.Join(w.home("ivy"), ".env"), []byte(env), 0o600))
	r.step(0, "", "import", "ivy", "--agent", "echo", "--scrub")
	r.step(0, "", "remove", "ivy")
}

// drive has the supervisor asked for all that it does.
func (r *leakRun) drive() {
	awaitSocket(r.t, r.at("c.sock"))
	r.step(0, "", "wait", "ada", "--for", "online", "--timeout", "20s")
	askAda(r.t, r.world)
	r.step(0, leakAsker, "secret", "ada", "set", "asker")
	r.step(0, r.ada.Token, "secret", "ada", "set", "token")
	r.step(1, leakValue, "secret", "ada", "set", "token")
	e, err := r.envelope("ada")
	must(r.t, err)
	r.secrets = append(r.secrets, e.Keys[sealed.PostKey].Reveal(), r.identity())
	for _, args := range [][]string{
		{"reseal", "--all"},
		{"reseal", "--all", "--new-identity"},
		{"secret", "ada"},
		{"people", "ada"},
		{"rooms", "ada"},
		{"status", "--json"},
		{"status", "ada"},
		{"logs", "ada"},
		{"plan"},
		{"check", "ada", "--json"},
		{"doctor"},
		{"reload"},
		{"restart", "ada", "--wait"},
	} {
		r.step(0, "", args...)
	}
	r.secrets = append(r.secrets, r.identity())
}

// seen fails for what /proc showed of a secret, or if it showed too little.
func (r *leakRun) seen(proc *procWatch) {
	if len(proc.pids) < 10 || len(proc.seen["cmdline"]) == 0 {
		r.t.Errorf("not much was looked at: %d processes", len(proc.pids))
	}
	if os.Geteuid() == 0 && len(proc.seen["environ"]) == 0 { // nobody else may see that
		r.t.Error("no environment was seen")
	}
	if !bytes.Contains(proc.seen["cmdline"], []byte("\x00channel")) {
		r.t.Error("no channel's process was seen")
	}
	for name, data := range proc.seen {
		if holdsRun(data, r.secrets...) {
			r.t.Errorf("/proc/PID/%s showed some of a secret", name)
		}
	}
}

// workers are the processes that a supervisor has started.
func workers(t *testing.T, supervisor int) (pids []int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", supervisor, supervisor))
	must(t, err)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", supervisor))
	must(t, err)
	for _, path := range tasks {
		if more, err := os.ReadFile(path); err == nil {
			data = append(append(data, ' '), more...)
		}
	}
	for _, field := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Error("the supervisor has no worker")
	}
	return pids
}

// notifySocket is where systemd would be told; what it was comes with told.
func notifySocket(t *testing.T, path string) (told func() []byte) {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	var all bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			all.Write(append(buf[:n], '\n'))
		}
	}()
	return func() []byte {
		conn.Close()
		<-done
		return all.Bytes()
	}
}

func awaitSocket(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond) // another process; there is nothing to wait on
	}
	t.Fatal("the supervisor does not answer")
}

// askAda has olivia ask, so that a turn runs and an answer is posted.
func askAda(t *testing.T, w *world) {
	t.Helper()
	room := w.server.AddDirect(w.owner, w.ada)
	w.server.Say(w.owner, room, "hello")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := w.server.AwaitMessage(ctx, room, func(m pretend.Message) bool { return m.User.ID == w.ada.ID && strings.Contains(m.Text, "hello") })
	must(t, err)
}

// fetch asks the control socket for a page; of one that has no end, what comes
// within a second.
func fetch(t *testing.T, socket, path string) []byte {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://supervisor"+path, nil)
	must(t, err)
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if strings.HasSuffix(path, "/events") {
		time.AfterFunc(time.Second, cancel)
	}
	var b bytes.Buffer
	if _, err = b.ReadFrom(resp.Body); ctx.Err() == nil {
		must(t, err)
	}
	if resp.StatusCode != 200 || b.Len() == 0 {
		t.Errorf("%s: HTTP %d, %d bytes", path, resp.StatusCode, b.Len())
	}
	return b.Bytes()
}

// A run of a secret that is written somewhere is found, or the test above says
// nothing.
func TestARunOfASecretIsFound(t *testing.T) {
	w := newWorld(t)
	if holdsRun([]byte("nothing"), w.ada.Token) || !holdsRun([]byte("x"+w.ada.Token[5:13]+"y"), w.ada.Token) || holdsRun([]byte(w.ada.Token[5:12]), w.ada.Token) {
		t.Error("a run is eight bytes")
	}
	proc := watchProc(binary(t))
	var out []byte
	for range 25 { // each may end before it is looked at
		said, _ := w.command("", "check", w.ada.Token).CombinedOutput()
		out = append(out, said...)
	}
	close(proc.stop)
	<-proc.done
	if !holdsRun(proc.seen["cmdline"], w.ada.Token) {
		t.Error("what is in the arguments was not seen")
	}
	if holdsRun(out, w.ada.Token) {
		t.Errorf("a token in the place of a name is repeated: %s", out)
	}
}

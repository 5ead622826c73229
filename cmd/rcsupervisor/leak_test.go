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

// A full run, in which every secret passes through: no run of eight of its
// bytes is printed, written to a file, or to be seen under /proc.
func TestNoSecretShowsAnywhere(t *testing.T) {
	w := newWorld(t)
	const value, asker = "sk-value-0123456789abcdef", "asker-key-9876543210fedcba"
	secrets := []string{w.ada.Token, value, asker}
	identity := func() string {
		text, err := os.ReadFile(w.at("home/.config/rcsupervisor/identity.txt"))
		must(t, err)
		_, key, _ := strings.Cut(string(text), "AGE-SECRET-KEY-PQ-1")
		return strings.TrimSpace(key)
	}
	proc := watchProc(binary(t))
	var printed bytes.Buffer
	step := func(code int, stdin string, args ...string) {
		t.Helper()
		cmd := w.command(stdin, args...)
		out, _ := cmd.CombinedOutput()
		printed.Write(out)
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit %d, want %d\n%s", args, got, code, out)
		}
	}
	step(0, "", "init")
	step(0, "Token: "+w.ada.Token+"\nYour user Id: "+w.ada.ID+"\n", "add", "ada", "--server", w.url, "--owner-id", w.owner.ID)
	step(1, "wrong-"+w.ada.Token, "add", "eve", "--server", w.url, "--user-id", w.ada.ID)
	step(1, w.ada.Token, "add", "eve", "--server", w.url, "--user-id", w.owner.ID)
	step(2, w.ada.Token, "add", "eve", "--server", "https://user:"+value[:4]+"@example.org")
	step(0, value, "secret", "ada", "set", "OPENAI_API_KEY")
	step(0, "", "check", "ada")
	must(t, os.MkdirAll(w.home("ivy"), 0o755))
	env := filepath.Join(w.home("ivy"), ".env")
	must(t, os.WriteFile(env, fmt.Appendf(nil, "ROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\nROCKETCHAT_TOKEN=%s\nROCKETCHAT_TEAM_ASKER_KEY=%s\n", w.url, w.ada.ID, w.ada.Token, asker), 0o600))
	step(0, "", "import", "ivy", "--agent", "echo", "--scrub")
	step(0, "", "remove", "ivy")

	daemon := w.command("", "run", "--isolation", "process", "--allow-root")
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	must(t, daemon.Start())
	step0 := func(args ...string) { t.Helper(); step(0, "", args...) }
	awaitSocket(t, w.at("c.sock"))
	step0("wait", "ada", "--for", "online", "--timeout", "20s")
	askAda(t, w)
	step(0, asker, "secret", "ada", "set", "asker")
	step(0, w.ada.Token, "secret", "ada", "set", "token")
	step(1, value, "secret", "ada", "set", "token")
	e, err := w.envelope("ada")
	must(t, err)
	secrets = append(secrets, e.Keys[sealed.PostKey].Reveal(), identity())
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
		step0(args...)
	}
	secrets = append(secrets, identity())
	printed.Write(fetch(t, w.at("c.sock"), "/v1/status"))
	printed.Write(fetch(t, w.at("c.sock"), "/debug"))
	must(t, daemon.Process.Signal(syscall.SIGINT))
	must(t, daemon.Wait())
	close(proc.stop)
	<-proc.done

	for what, text := range map[string][]byte{"what was printed": printed.Bytes(), "the log": log.Bytes()} {
		if holdsRun(text, secrets...) {
			t.Errorf("%s holds some of a secret:\n%s", what, text)
		}
	}
	if log.Len() == 0 || len(proc.pids) < 10 || len(proc.seen["environ"]) == 0 || len(proc.seen["cmdline"]) == 0 {
		t.Errorf("not much was looked at: %d processes, %d bytes of log", len(proc.pids), log.Len())
	}
	if !bytes.Contains(proc.seen["cmdline"], []byte("\x00channel")) {
		t.Error("no channel's process was seen")
	}
	for name, data := range proc.seen {
		if holdsRun(data, secrets...) {
			t.Errorf("/proc/PID/%s showed some of a secret", name)
		}
	}
	w.noPlain(secrets, w.at("home/.config/rcsupervisor/identity.txt"))
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

// fetch asks the control socket for a page.
func fetch(t *testing.T, socket, path string) []byte {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://supervisor" + path)
	must(t, err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	must(t, err)
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

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A post is a supervisor with a socket, over homes that hold no credentials:
// what control does about a profile does not depend on a server.
type post struct {
	*testing.T
	dir    string
	socket string
	super  *supervisor.Supervisor
	client *Client
	end    func()
}

const patience = 20 * time.Second

// newPost runs a supervisor over homes of the owners given, by name.
func newPost(t *testing.T, owners map[string]int, more ...Verb) *post {
	t.Helper()
	p := &post{T: t, dir: t.TempDir()}
	p.must(errors.Join(os.Chmod(p.dir, 0o755), os.Chmod(filepath.Dir(p.dir), 0o755)))
	for name, uid := range owners {
		p.home(name, uid, "agent: {kind: echo}\n")
	}
	p.must(os.Mkdir(filepath.Join(p.dir, "state"), 0o700))
	state, err := os.OpenRoot(filepath.Join(p.dir, "state"))
	p.must(err)
	p.super, err = supervisor.New(supervisor.Config{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: filepath.Join(p.dir, "root")}}},
		Root:    true, State: state, Carrier: worker.NewShared(channel.Env{}),
	})
	p.must(err)
	p.socket = filepath.Join(p.dir, "c.sock")
	l, err := Listen(p.socket)
	p.must(err)
	server := NewServer(Config{
		Supervisor: p.super, Verbs: append(Orders(p.super), more...), Audit: NewAudit(state), Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ran, served := make(chan error, 1), make(chan error, 1)
	go func() { ran <- p.super.Run(ctx, nil) }()
	go func() { served <- server.Serve(ctx, l) }()
	p.client, err = Dial(t.Context(), p.socket)
	p.must(err)
	ended := false
	p.end = func() {
		if ended {
			return
		}
		ended = true
		p.client.Close()
		cancel()
		if err := errors.Join(<-ran, <-served, state.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(p.end)
	<-p.super.Ready()
	return p
}

func (p *post) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *post) home(name string, uid int, settings string) {
	p.Helper()
	home := filepath.Join(p.dir, "root", "profiles", name)
	ours := filepath.Join(home, profile.Folder)
	p.must(os.MkdirAll(filepath.Join(ours, profile.StateFolder), 0o755))
	p.must(os.WriteFile(filepath.Join(ours, profile.SettingsFile), []byte(settings), 0o644))
	for _, path := range []string{home, ours, filepath.Join(ours, profile.StateFolder), filepath.Join(ours, profile.SettingsFile)} {
		p.must(os.Chown(path, uid, uid))
	}
}

// as is a client whose connections are another user's.
func (p *post) as(uid int) *Client {
	c := &Client{socket: p.socket}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return dialAs(p.socket, uid) },
		DisableKeepAlives: true,
	}}
	return c
}

// dialAs connects on a thread that is another user's: the kernel tells the peer
// what that thread was.
func dialAs(path string, uid int) (net.Conn, error) {
	type result struct {
		c   net.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with us
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			done <- result{nil, err}
			return
		}
		f := os.NewFile(uintptr(fd), path)
		defer f.Close()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- result{nil, errno}
			return
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			done <- result{nil, os.NewSyscallError("connect", err)}
			return
		}
		c, err := net.FileConn(f)
		done <- result{c, err}
	}()
	r := <-done
	return r.c, r.err
}

func code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

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

func names(st supervisor.Status) []string {
	var list []string
	for _, p := range st.Profiles {
		list = append(list, p.Name)
	}
	return list
}

// Who may do what: root everything, an owner what is his, and of what is
// another's he is told that there is none.
func TestWhoMayDoWhat(t *testing.T) {
	needsRoot(t)
	const ada, bob, eve = 61001, 61002, 61003
	p := newPost(t, map[string]int{"ada": ada, "ada2": ada, "bob": bob})
	for uid, want := range map[int][]string{0: {"ada", "ada2", "bob"}, ada: {"ada", "ada2"}, bob: {"bob"}, eve: nil} {
		st, err := p.as(uid).Status(t.Context())
		if err != nil || !slices.Equal(names(st), want) || st.Supervisor.Profiles != len(want) {
			t.Errorf("uid %d sees %q (%d), %v", uid, names(st), st.Supervisor.Profiles, err)
		}
	}
	for _, act := range []struct {
		uid           int
		verb, profile string
		want          string
	}{
		{0, "stop", "ada", ""},
		{ada, "start", "ada", ""},
		{ada, "stop", "bob", CodeNoProfile},
		{ada, "stop", "nobody", CodeNoProfile},
		{eve, "stop", "ada", CodeNoProfile},
		{ada, "suspend", "ada", CodeRefused},
		{0, "suspend", "ada", ""},
		{ada, "start", "ada", CodeRefused},
		{ada, "restart", "ada", CodeRefused},
		{ada, "resume", "ada", CodeRefused},
		{ada, "suspend", "bob", CodeNoProfile},
		{0, "resume", "ada", ""},
		{ada, "start", "ada", ""},
		{bob, "accept", "bob", ""},
		{bob, "adopt", "bob", ""},
		{bob, "dance", "bob", CodeUsage},
	} {
		if err := p.as(act.uid).Do(t.Context(), act.verb, act.profile, nil, nil); code(err) != act.want {
			t.Errorf("uid %d %s %s: %v", act.uid, act.verb, act.profile, err)
		}
	}
	if _, err := p.as(ada).Explain(t.Context(), "bob"); code(err) != CodeNoProfile {
		t.Errorf("ada asks about bob: %v", err)
	}
	for uid, want := range map[int]string{0: "", ada: CodeNoProfile, bob: ""} {
		if err := p.as(uid).Logs(t.Context(), "bob", 0, false, func(supervisor.Line) error { return nil }); code(err) != want {
			t.Errorf("uid %d reads bob's log: %v", uid, err)
		}
	}
	if _, err := p.as(ada).open(t.Context(), "GET", "/debug", nil); code(err) != CodeRefused {
		t.Errorf("ada sees /debug: %v", err)
	}
	own, err := p.as(ada).Status(t.Context())
	if err != nil || own.Supervisor.Identity != nil || len(own.Supervisor.Unnamed) > 0 {
		t.Errorf("%+v", own.Supervisor)
	}
	p.end()
	p.audited("suspend", "ada", "refused", ada)
	p.audited("suspend", "ada", "done", 0)
}

// audited looks for a line in the audit file.
func (p *post) audited(verb, name, outcome string, uid int) {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "state", AuditFile))
	p.must(err)
	for line := range strings.Lines(string(data)) {
		var a Act
		p.must(json.Unmarshal([]byte(line), &a))
		if a.Verb == verb && a.Profile == name && a.Outcome == outcome && a.UID == uid && a.PID == os.Getpid() && !a.Time.IsZero() {
			return
		}
	}
	p.Errorf("no line says %s %s %s by %d in\n%s", verb, name, outcome, uid, data)
}

// A home that was another's before is not for its new owner to adopt.
func TestAdoptOfAnothers(t *testing.T) {
	needsRoot(t)
	const ada, bob = 61001, 61002
	p := newPost(t, map[string]int{"ada": ada})
	p.home("ada", bob, "agent: {kind: echo}\n")
	p.must(errors.Join(p.super.Rescan(t.Context())))
	p.state("ada", healthcheck.Held)
	if err := p.as(bob).Do(t.Context(), "adopt", "ada", nil, nil); code(err) != CodeRefused {
		t.Errorf("bob adopts ada: %v", err)
	}
	if err := p.as(0).Do(t.Context(), "adopt", "ada", nil, nil); err != nil {
		t.Errorf("root adopts ada: %v", err)
	}
}

func (p *post) state(name string, want healthcheck.State) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	err := p.super.Await(ctx, name, func(s supervisor.ProfileStatus) bool { return s.State == want })
	if err != nil {
		s, _ := p.super.Profile(supervisor.Everybody, name)
		p.Fatalf("%s is %s, not %s: %v", name, s.State, want, err)
	}
}

// What descends from the supervisor gets status and nothing else, also when it
// hides behind a session of its own.
func TestADescendantGetsStatusAlone(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid()})
	ask := func(method, path string, through ...string) string {
		args := append(slices.Clone(through), "curl", "-s", "-X", method, "--unix-socket", p.socket, "http://x"+path)
		out, err := exec.Command(args[0], args[1:]...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	for _, through := range [][]string{nil, {"setsid", "-w"}, {"sh", "-c", `"$@" & wait`, "sh"}, {"env", "-i", "PATH=/usr/bin:/bin"}} {
		if got := ask("GET", "/v1/status", through...); !strings.Contains(got, `"name":"ada"`) {
			t.Errorf("status through %q: %s", through, got)
		}
		for _, path := range []string{"POST /v1/profiles/ada/stop", "POST /v1/profiles/ada/accept", "POST /v1/reload", "GET /v1/events", "GET /v1/profiles/ada/logs", "GET /v1/plan", "GET /debug"} {
			method, path, _ := strings.Cut(path, " ")
			if got := ask(method, path, through...); !strings.Contains(got, `"code":"refused"`) {
				t.Errorf("%s through %q: %s", path, through, got)
			}
		}
	}
	if s, _ := p.super.Profile(supervisor.Everybody, "ada"); s.State == healthcheck.Off {
		t.Error("it was stopped")
	}
}

// Somebody whose ancestry can't be told gets no more than that either.
func TestAPeerThatIsGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	c := &peerConn{uid: 0, pid: cmd.Process.Pid, pidfd: -1, began: 1}
	if p := c.peer(); !p.Ours {
		t.Errorf("%+v", p)
	}
	self, ok := readStat(os.Getpid())
	if !ok {
		t.Fatal("this process is not in /proc")
	}
	c = &peerConn{uid: 0, pid: os.Getpid(), pidfd: -1, began: self.start}
	if p := c.peer(); p.Ours {
		t.Errorf("%+v", p)
	}
	c.began++ // another process has the number now
	if p := c.peer(); !p.Ours {
		t.Errorf("%+v", p)
	}
	if yes, ok := descendsFrom(os.Getpid(), self.start, self.parent); !yes || !ok {
		t.Error("a child does not descend from its parent")
	}
}

// The socket: a stale one is replaced, a live one is not, and what is no socket
// stays.
func TestTheSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "c.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	go func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}(l)
	info, err := os.Stat(path)
	want := os.FileMode(0o600)
	if os.Geteuid() == 0 {
		want = 0o666
	}
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("%v %v", info, err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	l.(*listener).UnixListener.Close() // as after a kill: the file stays
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	l, err = Listen(path)
	if err != nil {
		t.Fatalf("a stale one: %v", err)
	}
	l.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); !errors.Is(err, ErrNotSocket) {
		t.Errorf("no socket: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := Listen(filepath.Join(dir, strings.Repeat("x", 200))); err == nil {
		t.Error("a path that the kernel can't take")
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, "none")); code(err) != CodeNotRunning {
		t.Errorf("nobody there: %v", err)
	}
}

// The event stream opens with a snapshot, goes on with what changes, and ends
// with the supervisor.
func TestEvents(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid(), "bob": os.Geteuid()})
	p.state("ada", healthcheck.NeedsToken)
	p.state("bob", healthcheck.NeedsToken)
	updates := make(chan Update, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- p.client.Watch(t.Context(), func(u Update) error {
			updates <- u
			return nil
		})
	}()
	next := func(what string, ok func(Update) bool) {
		t.Helper()
		timeout := time.After(patience)
		for {
			select {
			case u := <-updates:
				if ok(u) {
					return
				}
			case <-timeout:
				t.Fatalf("no event says %s", what)
			}
		}
	}
	if u := <-updates; u.Snapshot == nil || len(u.Snapshot.Profiles) != 2 || u.Snapshot.Supervisor == nil {
		t.Fatalf("the first event is %+v", u)
	}
	p.must(p.client.Do(t.Context(), "stop", "ada", nil, nil))
	next("ada is off", func(u Update) bool {
		return u.Profile != nil && u.Profile.Name == "ada" && u.Profile.State == healthcheck.Off
	})
	p.must(os.RemoveAll(filepath.Join(p.dir, "root", "profiles", "bob")))
	next("bob is gone", func(u Update) bool { return u.Gone == "bob" })
	p.home("carol", os.Geteuid(), "agent: {kind: echo}\n")
	next("carol is there", func(u Update) bool { return u.Profile != nil && u.Profile.Name == "carol" })
	p.end()
	if err := <-ended; code(err) != CodeNotRunning {
		t.Errorf("the stream ended with %v", err)
	}
}

// The log can be followed.
func TestFollowingALog(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid()})
	p.state("ada", healthcheck.NeedsToken)
	lines := make(chan supervisor.Line, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- p.client.Logs(ctx, "ada", 0, true, func(l supervisor.Line) error { lines <- l; return nil })
	}()
	await := func(text string) supervisor.Line {
		t.Helper()
		for {
			select {
			case l := <-lines:
				if l.Text == text {
					return l
				}
			case <-time.After(patience):
				t.Fatalf("no line says %s", text)
			}
		}
	}
	first := await("needs-token")
	p.must(p.client.Do(ctx, "stop", "ada", nil, nil))
	if l := await("off"); l.Number <= first.Number {
		t.Errorf("line %d after %d", l.Number, first.Number)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What a stranger may send: odd bodies, verbs and paths end in an error of the
// form that is public.
func TestOddRequests(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid()}, Verb{Name: "echo", Reads: true, Do: func(_ context.Context, c Call) (any, error) {
		var args struct {
			Text string `json:"text"`
		}
		err := c.Decode(&args)
		return args, err
	}})
	c := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.socket) }, DisableKeepAlives: true,
	}}
	for _, r := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/v1/profiles/ada/echo", `{"text":"x"}`, 200, ""},
		{"POST", "/v1/profiles/ada/echo", ``, 200, ""},
		{"POST", "/v1/profiles/ada/echo", `{"text":"x"} {}`, 400, CodeUsage},
		{"POST", "/v1/profiles/ada/echo", `{"other":"x"}`, 400, CodeUsage},
		{"POST", "/v1/profiles/ada/echo", `{`, 400, CodeUsage},
		{"POST", "/v1/profiles/ada/echo", strings.Repeat("x", maxBody+1), 400, CodeUsage},
		{"POST", "/v1/profiles/..%2f..%2fetc/stop", ``, 404, CodeNoProfile},
		{"POST", "/v1/profiles/%00/stop", ``, 404, CodeNoProfile},
		{"GET", "/v1/profiles/ada/stop", ``, 400, CodeUsage},
		{"GET", "/", ``, 400, CodeUsage},
		{"DELETE", "/v1/status", ``, 400, CodeUsage},
		{"GET", "/v1/status?name=nobody", ``, 404, CodeNoProfile},
		{"POST", "/v1/profiles/ada/suspend", `{"reason":"` + strings.Repeat("x", 300) + `"}`, 400, CodeUsage},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, "http://x"+r.path, strings.NewReader(r.body))
		p.must(err)
		resp, err := c.Do(req)
		p.must(err)
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var b body
		_ = json.Unmarshal(data, &b)
		got := ""
		if b.Error != nil {
			got = b.Error.Code
			if b.Error.Message == "" || b.Error.Try == "" {
				t.Errorf("%s %s: %s", r.method, r.path, data)
			}
		}
		if resp.StatusCode != r.status || got != r.code {
			t.Errorf("%s %s %.40q: %d %s", r.method, r.path, r.body, resp.StatusCode, data)
		}
	}
}

// The audit file begins anew before it grows without bound, and a line is never
// torn.
func TestTheAuditFile(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	a := NewAudit(root)
	if err := a.Write(Act{Verb: "stop", Profile: "ada", Outcome: "done"}); err != nil {
		t.Fatal(err)
	}
	f, err := root.OpenFile(AuditFile, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(auditBytes+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := a.Write(Act{Verb: fmt.Sprint("verb", i), Outcome: "done"}); err != nil {
			t.Fatal(err)
		}
	}
	f, err = root.Open(AuditFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var act Act
		if err := json.Unmarshal(s.Bytes(), &act); err != nil || act.Verb != fmt.Sprint("verb", n) {
			t.Errorf("%s: %v", s.Text(), err)
		}
	}
	if _, err := root.Stat(auditPrevious); n != 3 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

package control

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	p, run := idlePost(t, owners, more...)
	run()
	<-p.super.Ready()
	return p
}

// idlePost is newPost with a supervisor that runs only once run is called.
func idlePost(t *testing.T, owners map[string]int, more ...Verb) (_ *post, run func()) {
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
	run = func() { go func() { ran <- p.super.Run(ctx, nil) }() }
	go func() { served <- server.Serve(ctx, l) }()
	p.client, err = Dial(t.Context(), p.socket)
	p.must(err)
	p.end = sync.OnceFunc(func() {
		p.client.Close()
		cancel()
		if err := errors.Join(<-ran, <-served, state.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.end)
	return p, run
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
		err := p.as(act.uid).Do(t.Context(), act.verb, act.profile, nil, nil)
		if code(err) != act.want {
			t.Errorf("uid %d %s %s: %v", act.uid, act.verb, act.profile, err)
		}
		if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeRefused && e.Try != askAdmin {
			t.Errorf("uid %d may not %s %s, and is told: try: %s", act.uid, act.verb, act.profile, e.Try)
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
	// What is wrong with another's home is not an owner's to know.
	p.home("bob", bob, "agent: {kind: eco}\n")
	for uid, want := range map[int]bool{0: false, ada: true, bob: false} {
		r, err := p.as(uid).Reload(t.Context())
		st, err2 := p.as(uid).Status(t.Context())
		if err != nil || err2 != nil || r.OK != want || st.Supervisor.Reload.OK != want || (r.Error != nil) != (uid == 0) {
			t.Errorf("uid %d reloads: %+v %v, and is told %+v %v", uid, r, err, st.Supervisor.Reload, err2)
		}
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

// The command that ends a suspension is told to those whom it is for.
func TestWhoIsToldToResume(t *testing.T) {
	needsRoot(t)
	const ada = 61001
	p := newPost(t, map[string]int{"ada": ada})
	p.must(p.as(0).Do(t.Context(), "suspend", "ada", nil, nil))
	for uid, want := range map[int]string{0: "rcsupervisor resume ada", ada: askAdmin} {
		err := p.as(uid).Do(t.Context(), "start", "ada", nil, nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Try != want {
			t.Errorf("uid %d starts a suspended profile: %#v", uid, err)
		}
	}
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

// A tenant can't keep others from the socket by opening it again and again.
func TestConnectionsOfOneUserAreBounded(t *testing.T) {
	needsRoot(t)
	const ada, bob = 61001, 61002
	p := newPost(t, map[string]int{"ada": ada, "bob": bob})
	var held []net.Conn
	for range maxConns {
		c, err := dialAs(p.socket, ada)
		p.must(err)
		held = append(held, c)
	}
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := p.as(ada).Status(ctx); err == nil {
		t.Error("ada has one more")
	}
	for _, uid := range []int{0, bob} {
		if _, err := p.as(uid).Status(ctx); err != nil {
			t.Errorf("uid %d: %v", uid, err)
		}
	}
	held[0].Close()
	for ok := false; !ok && ctx.Err() == nil; {
		_, err := p.as(ada).Status(ctx)
		ok = err == nil
	}
	if ctx.Err() != nil {
		t.Error("a place that was given back is lost")
	}
}

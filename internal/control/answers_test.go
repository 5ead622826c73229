package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
)

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
		ended <- p.client.Watch(t.Context(), nil, func(u Update) error {
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

// A supervisor that hangs is said to, and not waited for without end.
func TestASupervisorThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	l, err := net.Listen("unix", path) // the kernel takes connections in; nobody else does
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.within = map[string]time.Duration{"GET": 50 * time.Millisecond, "POST": 50 * time.Millisecond}
	for name, ask := range map[string]func(context.Context) error{
		"status": func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"stop":   func(ctx context.Context) error { return c.Do(ctx, "stop", "ada", nil, nil) },
	} {
		if err := ask(t.Context()); code(err) != CodeFailed || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, given up: %v", name, err)
		}
	}
}

// Who asks before all homes were looked at waits until they were, so that no
// profile is denied.
func TestBeforeTheFirstLook(t *testing.T) {
	p, run := idlePost(t, map[string]int{"ada": os.Geteuid()})
	type answer struct {
		names []string
		err   error
	}
	asked := make(chan answer, 1)
	stopped := make(chan error, 1)
	go func() {
		st, err := p.client.Status(t.Context())
		asked <- answer{names(st), err}
	}()
	go func() { stopped <- p.client.Do(t.Context(), "stop", "ada", nil, nil) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if st, err := p.client.Status(ctx); err == nil {
		t.Errorf("it knows of %q", names(st))
	}
	run()
	if a := <-asked; a.err != nil || len(a.names) != 1 {
		t.Errorf("%q, %v", a.names, a.err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Who waits for one profile hears of that one alone, and of one that comes
// later.
func TestEventsOfSome(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid(), "bob": os.Geteuid()})
	p.state("ada", healthcheck.NeedsToken)
	p.state("bob", healthcheck.NeedsToken)
	enough := errors.New("enough")
	err := p.client.Watch(t.Context(), []string{"bob", "carol"}, func(u Update) error {
		switch {
		case u.Snapshot != nil:
			if got := names(*u.Snapshot); len(got) != 1 || got[0] != "bob" {
				t.Errorf("the snapshot is of %q", got)
			}
			p.must(p.client.Do(t.Context(), "stop", "ada", nil, nil))
			p.home("carol", os.Geteuid(), "agent: {kind: echo}\n")
		case u.Profile != nil && u.Profile.Name == "carol":
			return enough
		case u.Profile != nil && u.Profile.Name == "ada":
			t.Error("an event of ada")
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

// Who follows a log is told why no more comes.
func TestALogThatEnds(t *testing.T) {
	p := newPost(t, map[string]int{"ada": os.Geteuid(), "bob": os.Geteuid()})
	p.state("ada", healthcheck.NeedsToken)
	p.state("bob", healthcheck.NeedsToken)
	follow := func(name string, then func()) error {
		var once sync.Once
		return p.client.Logs(t.Context(), name, 0, true, func(supervisor.Line) error {
			once.Do(then)
			return nil
		})
	}
	err := follow("ada", func() { p.must(os.RemoveAll(filepath.Join(p.dir, "root", "profiles", "ada"))) })
	if code(err) != CodeNoProfile {
		t.Errorf("the profile went: %v", err)
	}
	if err := follow("bob", func() { go p.end() }); code(err) != CodeNotRunning {
		t.Errorf("the supervisor ended: %v", err)
	}
	p.end()
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
		{"GET", "/v1/profiles/ada/stop", ``, 404, CodeUsage},
		{"GET", "/", ``, 404, CodeUsage},
		{"DELETE", "/v1/status", ``, 404, CodeUsage},
		{"GET", "/v1/profiles/ada/logs?after=x", ``, 400, CodeUsage},
		{"GET", "/v1/profiles/ada/logs?after=-1", ``, 400, CodeUsage},
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

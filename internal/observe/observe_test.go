package observe

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house runs a supervisor over homes without credentials.
func house(t *testing.T, names ...string) (super *supervisor.Supervisor, run func(), end func()) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	for _, name := range names {
		ours := filepath.Join(dir, "profiles", name, profile.Folder)
		must(t, os.MkdirAll(ours, 0o755))
		must(t, os.WriteFile(filepath.Join(ours, profile.SettingsFile), []byte("agent: {kind: echo}\n"), 0o644))
	}
	super, err := supervisor.New(supervisor.Config{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: dir}}}, Root: true, Carrier: worker.NewShared(channel.Env{}),
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	return super, func() { go func() { done <- super.Run(ctx, nil) }() }, func() {
		cancel()
		must(t, <-done)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const patience = 20 * time.Second

// The page says of each profile what status says.
func TestMetrics(t *testing.T) {
	super, run, end := house(t, "alice", "bob")
	run()
	defer end()
	<-super.Ready()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"alice", "bob"} {
		must(t, super.Await(ctx, name, func(p supervisor.ProfileStatus) bool { return p.State == healthcheck.NeedsToken }))
	}
	must(t, super.Stop(ctx, "bob"))
	pages := Pages(super)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		pages["GET "+path].ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	code, page := get("/metrics")
	if code != http.StatusOK {
		t.Fatal(code, page)
	}
	for _, line := range []string{
		`rcsupervisor_profiles{state="needs-token"} 1`, `rcsupervisor_profiles{state="off"} 1`, `rcsupervisor_profiles{state="online"} 0`,
		`rcsupervisor_profile_online{profile="alice"} 0`, `rcsupervisor_profile_state{profile="alice",reason="unsealed",state="needs-token"} 1`,
		`rcsupervisor_profile_state{profile="bob",reason="operator",state="off"} 1`, `rcsupervisor_profile_restarts_total{profile="alice"} 0`,
		`rcsupervisor_messages_received_total{profile="alice"} 0`, `rcsupervisor_reload_success 1`, `rcsupervisor_polling 0`, "go_goroutines ",
		`isolation="shared"`,
	} {
		if !strings.Contains(page, line) {
			t.Errorf("no line says %s", line)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		deadline := time.Now().Add(patience)
		for code := 0; code != http.StatusOK; time.Sleep(10 * time.Millisecond) {
			if code, _ = get(path); time.Now().After(deadline) {
				t.Fatalf("%s: %d", path, code)
			}
		}
	}
}

// Before all homes were looked at it is not ready.
func TestNotReadyYet(t *testing.T) {
	super, run, end := house(t)
	w := httptest.NewRecorder()
	Pages(super)["GET /readyz"].ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Error(w.Code)
	}
	run()
	end()
}

// systemd is told when we are ready, how many are online, that we reload, that
// we still go round, and that we end.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "200000")
	t.Setenv("WATCHDOG_PID", "")
	os.Unsetenv("WATCHDOG_PID")
	super, run, end := house(t, "alice")
	n := NewNotifier(super, slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Run(ctx)
	}()
	run()
	heard := func(want string) {
		t.Helper()
		must(t, l.SetReadDeadline(time.Now().Add(patience)))
		buf := make([]byte, 4096)
		for {
			n, err := l.Read(buf)
			if err != nil {
				t.Fatalf("nothing says %q: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
	}
	heard("READY=1\nSTATUS=0 of 1 profiles online")
	heard("WATCHDOG=1")
	finished := n.Reloading()
	heard("RELOADING=1\nMONOTONIC_USEC=")
	finished()
	heard("READY=1")
	cancel()
	<-done
	heard("STOPPING=1")
	end()
}

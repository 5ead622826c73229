package supervisor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
)

// gateway starts a process that looks like one of Hermes' gateways, and returns
// what its lock says.
func gateway(t *testing.T, home string) (hermesLock, func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read x; : gateway run")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return hermesLock{PID: cmd.Process.Pid, StartTime: start, Home: home}, end
}

func writeLock(t *testing.T, dir, server, user string, content any) string {
	t.Helper()
	sum := sha256.Sum256([]byte(server + ":" + user))
	path := filepath.Join(dir, "rocketchat-"+hex.EncodeToString(sum[:])[:16]+".lock")
	data, err := json.Marshal(content)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A bot that a gateway of Hermes runs is not run a second time, and runs as
// soon as the gateway is gone.
func TestHermesRunsTheBot(t *testing.T) {
	for _, kind := range []worker.Kind{worker.Shared, worker.Process} {
		t.Run(string(kind), func(t *testing.T) { // the environment is the process's, so one after another
			h := newHouseIn(t, kind, func(dir string) { t.Setenv("HERMES_GATEWAY_LOCK_DIR", dir) })
			locks := filepath.Join(h.dir, "locks")
			h.add("alice", quick)
			lock, end := gateway(t, "/home/x/.hermes/profiles/wolf")
			writeLock(t, locks, h.url, h.bots["alice"].ID, lock)
			h.start()
			p := h.await("alice", healthcheck.Held, healthcheck.Duplicate)
			if !strings.Contains(deref(p.Error), "Hermes' profile wolf") || deref(p.Action) != "hermes -p wolf gateway stop" {
				h.Errorf("%q, %q", deref(p.Error), deref(p.Action))
			}
			end()
			h.must(h.super.Rescan(h.Context()))
			h.online("alice")
			// One that starts while we run throws us out at the next look.
			lock, end = gateway(t, "/home/x/.hermes")
			writeLock(t, locks, h.url, h.bots["alice"].ID, lock)
			h.must(h.super.Rescan(h.Context()))
			h.await("alice", healthcheck.Held, healthcheck.Duplicate)
			end()
			h.must(h.super.Rescan(h.Context()))
			h.online("alice")
		})
	}
}

// What Hermes itself would take for a stale lock is none.
func TestStaleLocksOfHermes(t *testing.T) {
	lock, _ := gateway(t, "/h")
	for name, stale := range map[string]any{
		"another start":   hermesLock{PID: lock.PID, StartTime: lock.StartTime + 1},
		"gone":            hermesLock{PID: 1 << 30, StartTime: 1},
		"no gateway":      hermesLock{PID: os.Getpid()},
		"no pid":          hermesLock{},
		"not even a lock": "x",
	} {
		dir := t.TempDir()
		t.Setenv("HERMES_GATEWAY_LOCK_DIR", dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		writeLock(t, dir, "https://x.example", "u", stale)
		if by, _ := readHermesLock(os.Geteuid(), "https://x.example", "u"); by != "" {
			t.Errorf("%s: %s", name, by)
		}
		writeLock(t, dir, "https://x.example", "u", lock)
		if by, _ := readHermesLock(os.Geteuid(), "https://x.example", "u"); by == "" {
			t.Errorf("a live lock is not seen")
		}
	}
}

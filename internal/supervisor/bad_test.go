package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
)

// A database that is cut short under a running channel is that channel's
// trouble, and over with the next question or the one after it.
func TestATruncatedDatabase(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"to nothing": 0, "to a page": 4096, "to two": 8192} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(h *house) {
				h.add("alice", quick)
				h.add("bob", quick)
				h.start()
				h.online("alice", "bob")
				undisturbed := h.undisturbed("bob")
				h.asks("alice", "one")
				h.must(os.Truncate(h.path("alice", "state/dedup.db"), size))
				room := h.server.AddDirect(h.owner, h.bots["alice"])
				h.server.Say(h.owner, room, "two")
				h.until("the file is put aside", func() bool {
					aside, _ := filepath.Glob(h.path("alice", "state/dedup.db.corrupt-*"))
					return len(aside) > 0
				})
				h.online("alice")
				h.asks("alice", "three")
				undisturbed()
				h.asks("bob", "and you?")
			})
		})
	}
}

// smallDisk marks a test's process that may mount.
const smallDisk = "SUPERVISOR_TEST_MAY_MOUNT"

// mayMount runs a test in a mount namespace of its own, and reports whether
// this is it.
func mayMount(t *testing.T) bool {
	t.Helper()
	if os.Getenv(smallDisk) != "" {
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	again.Env = append(os.Environ(), smallDisk+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		again.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := again.CombinedOutput()
	switch {
	case err == nil:
	case strings.Contains(string(out), errCantMount.Error()), errors.Is(err, os.ErrPermission), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EINVAL):
		if os.Getenv("CI") == "true" {
			t.Fatalf("this host can't mount a small disk: %v %s", err, out)
		}
		t.Skipf("NOT RUN: this host can't mount a small disk in a namespace: %v %s", err, out)
	default:
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

var errCantMount = errors.New("can't mount a small disk")

// A full disk: the channel keeps its socket, takes nothing in and says so; what
// was asked meanwhile is answered when there is room again. Nobody else notices.
func TestAFullDisk(t *testing.T) {
	if !mayMount(t) { // before others begin, whose carriers end what they don't know
		return
	}
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.add("bob", quick)
		state := h.path("alice", profile.StateFolder)
		if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=512k,mode=700"); err != nil {
			h.Fatal(errCantMount, err)
		}
		h.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
		h.start()
		h.online("alice", "bob")
		undisturbed, same := h.undisturbed("bob"), h.undisturbed("alice")
		h.asks("alice", "one")
		ballast := filepath.Join(state, "ballast")
		f, err := os.Create(ballast)
		h.must(err)
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		h.must(f.Close())
		room := h.server.AddDirect(h.owner, h.bots["alice"])
		asked := 0
		h.until("the store is said to be in trouble", func() bool {
			h.server.Say(h.owner, room, fmt.Sprint("question ", asked))
			asked++
			h.pause(300 * time.Millisecond)
			p, _ := h.super.Profile(Everybody, "alice")
			return slices.ContainsFunc(p.Warnings, func(w healthcheck.Warning) bool { return w.Code == "store" })
		})
		same()
		h.must(os.Remove(ballast))
		for i := range asked {
			answer := fmt.Sprint("echo: question ", i)
			h.until(answer, func() bool { return slices.Contains(h.answers("alice"), answer) })
		}
		h.awaitThat("alice", "without trouble", func(p ProfileStatus) bool {
			return !slices.ContainsFunc(p.Warnings, func(w healthcheck.Warning) bool { return w.Code == "store" })
		})
		undisturbed()
	})
}

// Homes that are no homes of ours, or not as they should be, come while nine
// others run: each says what it is, and the others keep their sockets
// (hermes#52796).
func TestBadHomesAmongGoodOnes(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		var good []string
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			h.add(name, quick)
			good = append(good, name)
		}
		h.start()
		h.online(good...)
		var undisturbed []func()
		for _, name := range good {
			undisturbed = append(undisturbed, h.undisturbed(name))
		}
		bad := map[string]struct {
			do   func(name string)
			says string
		}{
			"yaml":  {func(name string) { h.write(name, profile.SettingsFile, "agent: {kind: [\n") }, "channel.yaml:1"},
			"wide":  {func(name string) { h.must(os.Chmod(h.homeDir(name), 0o777)) }, "writ"},
			"inner": {func(name string) { h.must(os.Chmod(h.path(name, ""), 0o777)) }, "writ"},
			"huge":  {func(name string) { h.must(os.Truncate(h.path(name, profile.SettingsFile), 2<<20)) }, "too large"},
			"pipe":  {func(name string) { h.replace(name, func(p string) error { return unix.Mkfifo(p, 0o600) }) }, "channel.yaml"},
			"link": {func(name string) {
				h.replace(name, func(p string) error { return os.Symlink(h.path("a", profile.SettingsFile), p) })
			}, "link"},
			"folder": {func(name string) { h.replace(name, func(p string) error { return os.Mkdir(p, 0o700) }) }, "channel.yaml"},
		}
		if os.Geteuid() == 0 {
			bad["foreign"] = struct {
				do   func(name string)
				says string
			}{func(name string) { h.must(os.Chown(h.path(name, profile.SettingsFile), 54321, 54321)) }, "54321"}
		}
		for name, b := range bad {
			h.add(name, quick)
			b.do(name)
		}
		for name, b := range bad {
			p := h.awaitThat(name, "needs-config or online with an error", func(p ProfileStatus) bool {
				return p.Error != nil && (p.State == healthcheck.NeedsConfig || p.State == healthcheck.Online)
			})
			if p.Action == nil || !strings.Contains(*p.Error, b.says) {
				h.Errorf("%s: %q, try %q", name, *p.Error, deref(p.Action))
			}
		}
		// A home that is a link is not followed to another's.
		h.must(os.Symlink(h.homeDir("a"), h.homeDir("alias")))
		h.must(h.rescan())
		if p, ok := h.super.Profile(Everybody, "alias"); ok && (p.State == healthcheck.Online || p.Error == nil) {
			h.Errorf("a link to another home is %s %v", p.State, deref(p.Error))
		}
		for _, f := range undisturbed {
			f()
		}
	})
}

// replace puts something else in the place of a home's channel.yaml.
func (h *house) replace(name string, by func(path string) error) {
	h.Helper()
	path := h.path(name, profile.SettingsFile)
	h.must(os.Remove(path))
	h.must(by(path))
}

// rescan has all homes read anew; what is wrong with some of them is none of
// the caller's concern.
func (h *house) rescan() error {
	if err := h.super.Rescan(h.Context()); err != nil && !strings.Contains(err.Error(), h.dir) {
		return err
	}
	return nil
}

// Ten thousand homes are found by mistake: the one that runs is among the five
// thousand that are the most, keeps its socket and answers, and status says
// what is wrong. (A thousand where everything is slower.)
func TestTenThousandHomes(t *testing.T) {
	t.Parallel()
	n, listed := 10_000, 5_000
	if raceEnabled {
		n, listed = 1000, 1001
	}
	h := newHouse(t, worker.Shared)
	wide := filepath.Join(h.dir, "wide")
	h.config.Sources.Roots = []profile.Root{{Dir: wide}}
	h.add("zoe", quick) // behind them by name
	h.start()
	h.online("zoe")
	undisturbed := h.undisturbed("zoe")
	aside := filepath.Join(h.dir, "aside")
	for i := range n {
		dir := filepath.Join(aside, "profiles", fmt.Sprintf("stray%04d", i), profile.Folder)
		h.must(os.MkdirAll(dir, 0o755))
		h.must(os.WriteFile(filepath.Join(dir, profile.SettingsFile), []byte("agent: {kind: echo}\n"), 0o600))
	}
	h.must(os.Rename(aside, wide))
	err := h.super.Rescan(h.Context())
	if told := err != nil && strings.Contains(err.Error(), "is one of the roots too wide?"); told != (n >= listed) {
		h.Errorf("%v", err)
	}
	h.until("all are listed", func() bool {
		h.pause(200 * time.Millisecond) // it is not free
		st, _ := h.super.Status(Everybody)
		waiting := 0
		for _, p := range st.Profiles {
			if p.State == healthcheck.NeedsToken && deref(p.Action) == "rcsupervisor add "+p.Name+" --server URL" {
				waiting++
			}
		}
		return len(st.Profiles) == listed && waiting == listed-1
	})
	undisturbed()
	h.asks("zoe", "are you there?")
	h.must(h.stop())
}

package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Cgroups is a cgroup that was given to us to divide: each worker gets one of
// its own below it, with all it starts, and dies with it whole. nil stands for
// none.
type Cgroups struct {
	base   string
	memory bool // bounds of memory can be set
	log    *slog.Logger
}

// ownGroup is where we go ourselves: a cgroup that gives bounds to those below
// may hold no process.
const ownGroup = "supervisor"

// FindCgroups returns the cgroup this process may divide, by the mark that
// systemd puts on one it delegates, or because it is the user's own. Without
// one it returns nil: then orphans are looked for instead.
func FindCgroups(log *slog.Logger) *Cgroups {
	path, err := ownCgroup("/proc/self/cgroup", "/proc/self/mountinfo")
	if err != nil {
		log.Debug("no cgroup is used", "err", err)
		return nil
	}
	base := path
	if filepath.Base(base) == ownGroup {
		base = filepath.Dir(base)
	}
	if !delegated(base) && !delegated(path) {
		return nil
	}
	g, err := OpenCgroups(base, log)
	if err != nil {
		log.Debug("no cgroup is used", "err", err)
		return nil
	}
	return g
}

// OpenCgroups divides the cgroup at base, which must be empty but for this
// process.
func OpenCgroups(base string, log *slog.Logger) (*Cgroups, error) {
	g := &Cgroups{base: base, log: log}
	own := filepath.Join(base, ownGroup)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(own, "cgroup.kill")); err != nil {
		return nil, fmt.Errorf("the kernel can't end a whole cgroup: %w", err)
	}
	if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return nil, err
	}
	err := os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("+memory"), 0)
	g.memory = err == nil
	return g, nil
}

// ownCgroup is the folder of this process's cgroup, of version 2.
func ownCgroup(cgroups, mounts string) (string, error) {
	data, err := os.ReadFile(cgroups)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		if path == "/" {
			return "", errors.New("this process is in the host's own cgroup")
		}
		root, err := mountPoint(mounts)
		return filepath.Join(root, path), err
	}
	return "", errors.New("no cgroups of version 2")
}

// mountPoint is where the cgroups of version 2 are mounted.
func mountPoint(mounts string) (string, error) {
	data, err := os.ReadFile(mounts)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		// ID PARENT DEVICE ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS
		head, tail, ok := strings.Cut(line, " - ")
		fields := strings.Fields(head)
		if ok && strings.HasPrefix(tail, "cgroup2 ") && len(fields) > 4 && fields[3] == "/" {
			return fields[4], nil
		}
	}
	return "", errors.New("cgroups of version 2 are not mounted")
}

// delegated reports whether a cgroup was given to us.
func delegated(path string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(path, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Uid != 0 && int(st.Uid) == os.Geteuid()
}

// A cgroup of one worker.
type cgroup struct {
	path    string
	dir     *os.File
	limited bool // its memory is bounded
}

// make makes the cgroup of a worker; nil when it can't be done.
func (g *Cgroups) make(profile string, memory int64) *cgroup {
	if g == nil {
		return nil
	}
	path := filepath.Join(g.base, "profile-"+profile)
	old := &cgroup{path: path}
	old.remove() // what an earlier supervisor left there
	if err := os.Mkdir(path, 0o755); err != nil {
		g.log.Warn("a worker has no cgroup of its own", "profile", profile, "err", err)
		return nil
	}
	c := &cgroup{path: path}
	if memory > 0 && g.memory {
		err := os.WriteFile(filepath.Join(path, "memory.max"), []byte(strconv.FormatInt(memory, 10)), 0)
		c.limited = err == nil
		_ = os.WriteFile(filepath.Join(path, "memory.swap.max"), []byte("0"), 0)
	}
	dir, err := os.Open(path)
	if err != nil {
		c.remove()
		g.log.Warn("a worker has no cgroup of its own", "profile", profile, "err", err)
		return nil
	}
	c.dir = dir
	return c
}

// kill kills everything in the cgroup.
func (c *cgroup) kill() {
	if c != nil {
		_ = os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0)
	}
}

// remove ends what is in the cgroup and takes it away.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	if c.dir != nil {
		c.dir.Close()
		c.dir = nil
	}
	for range sweepRounds {
		err := os.Remove(c.path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		c.kill()
		time.Sleep(10 * time.Millisecond)
	}
}

package supervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/ownerfs"
)

// Hermes marks a bot that one of its gateways runs by a file in a folder of the
// owner's. A gateway that lives would answer everything a second time, so its
// lock is honoured. Ours it would take for stale, whatever we wrote: it
// believes only gateways of its own.
//
// The rules are those of Hermes' gateway/status.py: the file's name is the
// scope and the first 16 hex digits of SHA-256 of "<server>:<user id>"; a lock
// is stale when its process is gone, is another one (by its start time), is no
// gateway, or is stopped, and when the file can't be read as JSON.

// hermesScope is what the Rocket.Chat plugins for Hermes call themselves.
const hermesScope = "rocketchat"

// hermesLock is what is read of a lock.
type hermesLock struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"start_time"`
	Home      string `json:"hermes_home"`
	Profile   string `json:"profile"`
}

// lockBytes bounds a lock's file.
const lockBytes = 64 << 10

// lockTimeout is how long the owner's file system may take to show it.
const lockTimeout = 5 * time.Second

// hermesHolder says which Hermes runs a bot of the owner's, "" if none does,
// and what ends it. A file system that doesn't answer counts as none: it must
// not keep a profile from running that Hermes has nothing to do with.
func hermesHolder(ctx context.Context, owner int, server, userID string) (by, try string) {
	type answer struct{ by, try string }
	found := make(chan answer, 1)
	go func() {
		by, try := readHermesLock(owner, server, userID)
		found <- answer{by, try}
	}()
	timeout := time.NewTimer(lockTimeout)
	defer timeout.Stop()
	select {
	case a := <-found:
		return a.by, a.try
	case <-timeout.C:
	case <-ctx.Done():
	}
	return "", ""
}

// lookForHermes has the profiles of owners that have a folder of locks look into
// it, and those that were held for what lay there.
func (s *Supervisor) lookForHermes() {
	has := make(map[int]bool)
	s.each(func(k *keeper) {
		v := k.view.Load()
		there, known := has[v.owner]
		if !known {
			_, err := os.Lstat(hermesLockDir(v.owner))
			there = err == nil
			has[v.owner] = there
		}
		if there || v.history.Reason == healthcheck.Duplicate {
			k.tell(k.lookAround)
		}
	})
}

func hermesHas(by, try string) *Unready {
	return &Unready{Reason: healthcheck.Duplicate, Err: fmt.Errorf("%s", by), Try: try}
}

func readHermesLock(owner int, server, userID string) (by, try string) {
	folder := hermesLockDir(owner)
	if folder == "" {
		return "", ""
	}
	sum := sha256.Sum256([]byte(server + ":" + userID))
	dir, err := ownerfs.Open(folder)
	if err != nil {
		return "", ""
	}
	defer dir.Close()
	data, _, err := dir.ReadFile(hermesScope+"-"+hex.EncodeToString(sum[:])[:16]+".lock", lockBytes)
	if err != nil {
		return "", ""
	}
	var lock hermesLock
	if json.Unmarshal(data, &lock) != nil || !lock.live() {
		return "", ""
	}
	name := lock.Profile
	if name == "" {
		name = filepath.Base(lock.Home)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) || len(name) > 64 || name == "" {
		name = "default"
	}
	return fmt.Sprintf("its bot is run by the gateway of Hermes' profile %s (process %d)", name, lock.PID), "hermes -p " + name + " gateway stop"
}

// hermesLockDir is where the owner's Hermes keeps its locks. What his
// environment may say instead is known only of ourselves.
func hermesLockDir(owner int) string {
	if owner == os.Geteuid() {
		if dir := os.Getenv("HERMES_GATEWAY_LOCK_DIR"); filepath.IsAbs(dir) {
			return dir
		}
		if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "hermes", "gateway-locks")
		}
	}
	home := homeOf(owner)
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "hermes", "gateway-locks")
}

// userHomes are the home folders of users, as last looked up. A thousand
// profiles of one owner ask for the same one.
var userHomes sync.Map // uid to userHome

type userHome struct {
	dir string
	at  time.Time
}

func homeOf(uid int) string {
	if h, ok := userHomes.Load(uid); ok && time.Since(h.(userHome).at) < lookUpEvery {
		return h.(userHome).dir
	}
	dir := ""
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && filepath.IsAbs(u.HomeDir) {
		dir = u.HomeDir
	}
	userHomes.Store(uid, userHome{dir, time.Now()})
	return dir
}

// lookUpEvery is how long what the user database said is believed.
const lookUpEvery = 5 * time.Minute

// live reports whether the process that took the lock runs as a gateway.
func (l hermesLock) live() bool {
	if l.PID <= 0 {
		return false
	}
	proc := "/proc/" + strconv.Itoa(l.PID)
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return false
	}
	// The second field is a name in brackets that may hold anything.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return false
	}
	fields := strings.Fields(string(stat[i+1:]))
	const state, start = 0, 19 // fields 3 and 22 of the line
	if len(fields) <= start || fields[state] == "T" || fields[state] == "t" || fields[state] == "Z" {
		return false
	}
	if began, err := strconv.ParseUint(fields[start], 10, 64); err != nil || l.StartTime != 0 && began != l.StartTime {
		return false
	}
	cmdline, err := os.ReadFile(proc + "/cmdline")
	if err != nil {
		return false
	}
	return isGateway(strings.Split(string(bytes.TrimRight(cmdline, "\x00")), "\x00"))
}

// isGateway reports whether a command line is one of Hermes' gateways:
// "... hermes ... gateway run" or "... gateway/run.py".
func isGateway(argv []string) bool {
	line := strings.Join(argv, " ")
	return strings.Contains(line, "gateway run") || strings.Contains(line, "gateway/run.py") || strings.Contains(line, "hermes_cli.main gateway")
}

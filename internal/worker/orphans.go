package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Both the supervisor and its workers take in orphans: what an agent's process
// left behind comes under its worker, and what a dead worker left behind under
// the supervisor. So there is no place to hide in, and what nobody knows can be
// ended.

// children returns the pids of this process's children, zombies among them.
func children() []int {
	var pids []int
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	for _, path := range tasks {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// sweepRounds bounds how often what is left is looked for: ending one orphan
// makes orphans of its children.
const sweepRounds = 50

// endChildren kills this process's children, but those that spare says, and
// theirs when they come under us in turn, and reaps them. It reports whether
// none was left.
func endChildren(spare func(pid int) bool) bool {
	for round := range sweepRounds {
		left := 0
		for _, pid := range children() {
			if spare(pid) {
				continue
			}
			left++
			_ = unix.Kill(pid, unix.SIGKILL)
			reap(pid)
		}
		if left == 0 {
			return true
		}
		if round > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return false
}

// reap takes note of a child's end, if it has ended.
func reap(pid int) {
	var st unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &st, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// agentMark is the variable that an agent's processes are known by.
const agentMark = "RCSUPERVISOR_AGENT="

// isAgents reports whether a process has an agent's mark, or belongs to a user
// that is neither root nor us: a process that comes under us because we are the
// container's first may be anybody's else.
func isAgents(pid int) bool {
	var st unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &st) != nil {
		return false
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return true
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(env, []byte(agentMark)) || bytes.Contains(env, []byte("\x00"+agentMark)))
}

// reapEvery is how often orphans that have ended are looked for. Whoever
// started a process itself takes note of its end at once; what is found ended
// twice is nobody's.
const reapEvery = 10 * time.Second

// reapOrphans takes note of the end of orphans, but those that spare says, until
// stop is closed.
func reapOrphans(stop <-chan struct{}, spare func(pid int) bool) {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	seen := make(map[int]bool)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := make(map[int]bool)
		for _, pid := range children() {
			if !isZombie(pid) || spare(pid) {
				continue
			}
			if seen[pid] {
				reap(pid)
			} else {
				now[pid] = true
			}
		}
		seen = now
	}
}

func isZombie(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(data, ')')
	return i >= 0 && len(data) > i+2 && data[i+2] == 'Z'
}

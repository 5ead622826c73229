package agent

import (
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// markName is the variable by which a process that left its group, its session
// and its parent is still known as an agent's. It is inherited, and means
// nothing to anybody else.
const markName = "RCSUPERVISOR_AGENT"

func newMark() string { return markName + "=" + rand.Text() }

// politeness is how long what an agent left behind may take to end by itself: a
// daemon of its own, such as Hermes' gateway, has files to write.
const politeness = time.Second

// awaitExit returns when a child has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// killTree kills the group that pid leads and all that descends from it, until
// nothing of it is left that starts anything new. pid is not reaped yet.
func killTree(pid int) {
	for range 8 { // a fork bomb is the cgroup's to end
		found := descendants(pid)
		_ = unix.Kill(-pid, unix.SIGKILL)
		_ = unix.Kill(pid, unix.SIGKILL)
		for _, d := range found {
			d.signal(unix.SIGKILL)
		}
		if len(found) == 0 {
			return
		}
	}
}

// sweep ends what carries a mark, wherever it went: asked first, then killed.
func sweep(mark string) {
	left := marked(mark)
	for _, p := range left {
		p.signal(unix.SIGTERM)
	}
	for until := time.Now().Add(politeness); len(left) > 0 && time.Now().Before(until); left = marked(mark) {
		time.Sleep(20 * time.Millisecond)
	}
	for range 8 {
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			p.signal(unix.SIGKILL)
		}
		left = marked(mark)
	}
}

// leaders are the processes that Start started and has not reaped. Its lock is
// held while one is started, so that no child of ours is ever unknown.
var leaders = struct {
	sync.Mutex
	pids map[int]bool
}{pids: make(map[int]bool)}

// adopted ends what came to us when its parent died, where we are a child
// subreaper: a process that is one starts its children with Start alone. What
// is dead is reaped. What lives and has lost even its mark may be of any agent
// of ours, and is killed once none is left.
func adopted() {
	if !subreaper() {
		return
	}
	leaders.Lock()
	defer leaders.Unlock()
	for range 8 {
		left := false
		for _, p := range processes() {
			switch {
			case p.parent != os.Getpid() || leaders.pids[p.pid]:
			case p.zombie:
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			case len(leaders.pids) == 0:
				p.signal(unix.SIGKILL)
				_, _ = unix.Wait4(p.pid, nil, 0, nil)
				left = true // its own children are ours now
			}
		}
		if !left {
			return
		}
	}
}

func subreaper() bool {
	var is int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&is)), 0, 0, 0)
	return err == nil && is != 0
}

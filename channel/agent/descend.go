package agent

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"time"

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

// A running is a process as it was seen: its number may be another's by the
// time it is used, its start never.
type running struct {
	pid, parent int
	start       string // field 22 of stat
	zombie      bool
}

// signal sends a signal to the process that was seen, and to no other.
func (r running) signal(s unix.Signal) {
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := look(r.pid); ok && now.start == r.start {
		_ = unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// descendants are the living children of pid, theirs, and so on.
func descendants(pid int) []running {
	all := processes()
	children := make(map[int][]running, len(all))
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []running
	for next := children[pid]; len(next) > 0; {
		p := next[0]
		next = append(next[1:], children[p.pid]...)
		if !p.zombie {
			found = append(found, p)
		}
	}
	return found
}

// marked are the living processes whose environment holds mark.
func marked(mark string) []running {
	var found []running
	needle := []byte("\x00" + mark + "\x00")
	for _, p := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err == nil && !p.zombie && bytes.Contains(append([]byte{0}, env...), needle) {
			found = append(found, p)
		}
	}
	return found
}

func processes() []running {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	var all []running
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := look(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// look reads one process's stat. Its second field, the name, may hold anything.
func look(pid int) (running, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return running{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return running{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return running{pid: pid, parent: parent, start: string(fields[19]), zombie: fields[0][0] == 'Z'}, err == nil
}

// sealDescriptors sees to it that a program we start inherits nothing: Go opens
// everything close-on-exec, but what we were started with may not be.
func sealDescriptors() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	folder, err := os.Open("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// raiseOOM makes a process one of the first to go when memory runs out.
func raiseOOM(pid int) {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	score, err := strconv.Atoi(string(bytes.TrimSpace(own)))
	if err != nil {
		return
	}
	score = min(score+500, 1000)
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(strconv.Itoa(score)), 0)
}

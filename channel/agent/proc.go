package agent

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

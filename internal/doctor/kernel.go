package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a profile takes of what the kernel bounds: folders that are watched, and
// open files of the supervisor (its link, its watches, a probe).
const (
	watchesEach = 3
	filesEach   = 8
	filesBase   = 256
)

// kernel looks at the kernel's bounds: for the profiles that there are, and
// with room for as many again.
func (e *examination) kernel() {
	need := 2 * max(e.homesIn, 8)
	if n, ok := e.number("sys/fs/inotify/max_user_watches"); ok && n < uint64(need*watchesEach) {
		e.warn("inotify", "sysctl fs.inotify.max_user_watches=524288", "%d watches are allowed; beyond them files are polled", n)
	} else if n, ok := e.number("sys/fs/inotify/max_user_instances"); ok && n < 8 {
		e.warn("inotify", "sysctl fs.inotify.max_user_instances=128", "%d instances are allowed; without one files are polled", n)
	} else if ok {
		e.ok("inotify", "%d watches are allowed, enough for %d profiles", e.watches(), e.watches()/watchesEach)
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		if want := uint64(filesBase + need*filesEach); files.Max < want {
			e.warn("files", "LimitNOFILE="+strconv.FormatUint(want, 10)+" in the unit, or ulimit -n", "%d open files are allowed", files.Max)
		} else {
			e.ok("files", "%d open files are allowed", files.Max)
		}
	}
	var procs unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &procs); err == nil && procs.Cur < uint64(need*16) {
		e.warn("processes", "LimitNPROC=infinity in the unit, or ulimit -u", "%d processes and threads are allowed", procs.Cur)
	}
}

// watches is how many folders a user may have watched, 0 where it can't be told.
func (e *examination) watches() uint64 {
	n, _ := e.number("sys/fs/inotify/max_user_watches")
	return n
}

// number reads a number below /proc.
func (e *examination) number(name string) (uint64, bool) {
	data, err := os.ReadFile(filepath.Join(e.Proc, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// clock looks whether the kernel believes its own clock. Ages of messages are
// by the server's; codes and asker tokens are by ours.
func (e *examination) clock() {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return
	}
	if state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		e.warn("clock", "timedatectl set-ntp true", "this host's clock is not kept in step with others")
		return
	}
	e.ok("clock", "kept in step")
}

package agent

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

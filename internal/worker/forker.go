package worker

import (
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// A forker starts processes from one thread that lives as long as it does: the
// kernel tells a child of its parent's death when the thread dies that forked
// it. The thread may get no new privileges, so none of its children can.
type forker struct {
	jobs chan forkJob
	done chan struct{}
}

// workers are the pids of this process's workers, whoever began them. The lock
// is held while one is started and until it is known, so that whoever looks at
// this process's children sees no worker that nobody knows.
var workers = struct {
	sync.Mutex
	known map[int]bool
}{known: make(map[int]bool)}

type forkJob struct {
	cmd  *exec.Cmd
	done chan error
}

func newForker() *forker {
	f := &forker{jobs: make(chan forkJob), done: make(chan struct{})}
	go f.run()
	return f
}

func (f *forker) run() {
	defer close(f.done)
	// Never unlocked: the thread ends with the goroutine, and what it gave up
	// with it.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for job := range f.jobs {
		job.done <- job.cmd.Start()
	}
}

// start starts cmd, whose process counts as known until forget.
func (f *forker) start(cmd *exec.Cmd) error {
	workers.Lock()
	defer workers.Unlock()
	done := make(chan error, 1)
	f.jobs <- forkJob{cmd, done}
	err := <-done
	if err == nil {
		workers.known[cmd.Process.Pid] = true
	}
	return err
}

// forget says that a worker has been reaped.
func forget(pid int) {
	workers.Lock()
	defer workers.Unlock()
	delete(workers.known, pid)
}

// isWorker reports whether a pid is that of a worker.
func isWorker(pid int) bool {
	workers.Lock()
	defer workers.Unlock()
	return workers.known[pid]
}

// close ends the thread. No process that was started may be left.
func (f *forker) close() {
	close(f.jobs)
	<-f.done
}

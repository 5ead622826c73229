package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// NewProcesses returns the carrier of runs that are processes of their own. A
// program that uses it calls [Main] first of all when it is executed as
// "channel", and [Harden] before.
func NewProcesses(groups *Cgroups) Carrier {
	p := &processes{
		forker: newForker(), cgroups: groups, runs: make(map[*processRun]struct{}), before: children(), stop: make(chan struct{}),
	}
	p.reaping.Go(func() { reapOrphans(p.stop, isWorker) })
	return p
}

type processes struct {
	forker  *forker
	cgroups *Cgroups // nil where none is delegated
	before  []int    // children that this process had before: they are none of ours
	stop    chan struct{}
	reaping sync.WaitGroup

	mu    sync.Mutex
	runs  map[*processRun]struct{}
	group sync.WaitGroup
}

func (*processes) Kind() Kind { return Process }

func (p *processes) Begin(job Job, ear Ear) Run {
	r := &processRun{carrier: p, job: job, ear: ear, out: newOutbox(), over: make(chan struct{}), asks: make(map[uint64]context.CancelFunc)}
	r.hear()
	p.mu.Lock()
	p.runs[r] = struct{}{}
	p.mu.Unlock()
	p.group.Go(func() {
		end := r.live()
		p.mu.Lock()
		delete(p.runs, r)
		p.mu.Unlock()
		ear.Over(end)
	})
	return r
}

func (p *processes) Close() {
	p.mu.Lock()
	for r := range p.runs {
		r.Kill(End{Reason: healthcheck.Operator})
	}
	p.mu.Unlock()
	p.group.Wait()
	close(p.stop)
	p.reaping.Wait()
	p.sweep()
	p.forker.close()
}

// sweep ends what dead workers left behind.
func (p *processes) sweep() {
	workers.Lock()
	defer workers.Unlock()
	first := os.Getpid() == 1
	endChildren(func(pid int) bool {
		return workers.known[pid] || slices.Contains(p.before, pid) || first && !isAgents(pid)
	})
}

// A processRun is one worker, as its supervisor knows it.
type processRun struct {
	carrier *processes
	job     Job
	ear     Ear
	out     *outbox
	over    chan struct{} // closed when the link has ended
	heard   atomic.Pointer[time.Time]
	pid     atomic.Int64

	mu     sync.Mutex
	cmd    *exec.Cmd // nil before it was started
	group  *cgroup
	killed bool
	why    End // why it was killed

	// Owned by the reading goroutine.
	flood meter

	asking sync.Mutex
	asks   map[uint64]context.CancelFunc
	work   sync.WaitGroup
}

var _ Run = (*processRun)(nil)

func (r *processRun) Command(c channel.Command) { r.out.command(c) }

func (r *processRun) Pulse() Pulse { return Pulse{Heard: *r.heard.Load(), Asked: r.out.asked()} }

func (r *processRun) PID() int { return int(r.pid.Load()) }

func (r *processRun) hear() {
	now := time.Now()
	r.heard.Store(&now)
}

func (r *processRun) Kill(why End) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.killed {
		r.killed, r.why = true, why
	}
	r.signal()
	return true
}

// signal kills the worker and all that is in its cgroup. Called with the lock.
func (r *processRun) signal() {
	if r.group != nil {
		r.group.kill()
	}
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
	}
}

// live is the whole life of the worker.
func (r *processRun) live() End {
	ours, stderr, err := r.start()
	if err != nil {
		return End{Reason: healthcheck.Crashed, Detail: "start a worker: " + err.Error()}
	}
	words := &lastWords{ear: r.ear}
	var reading sync.WaitGroup
	reading.Go(func() {
		_, _ = io.Copy(words, stderr)
		stderr.Close()
	})
	said, linkErr := r.speak(ours)
	ours.Close()
	if errors.Is(linkErr, errNonsense) || errors.Is(linkErr, errFlood) {
		r.mu.Lock()
		r.signal() // nothing it says or does is to be trusted
		r.mu.Unlock()
	}
	r.awaitExit()
	state := r.cmd.Wait()
	pid := r.PID()
	r.pid.Store(0)
	forget(pid)
	r.endAll()
	r.carrier.sweep()
	reading.Wait()
	words.flush()
	r.work.Wait()
	return r.ended(said, linkErr, state, words.first)
}

// ended says how the run ended, by what is known of it: that it was killed, what
// the worker said itself, what was wrong with what it said, or how the process
// ended.
func (r *processRun) ended(said *End, linkErr, state error, words string) End {
	r.mu.Lock()
	killed, why := r.killed, r.why
	r.mu.Unlock()
	switch {
	case killed:
		return why
	case said != nil:
		return *said
	case words != "":
		return End{Reason: healthcheck.Crashed, Detail: words}
	case errors.Is(linkErr, errNonsense), errors.Is(linkErr, errFlood):
		return End{Reason: healthcheck.Crashed, Detail: linkErr.Error()}
	case linkErr != nil && !errors.Is(linkErr, io.EOF) && !errors.Is(linkErr, unix.ECONNRESET): // which is an end with something unread
		return End{Reason: healthcheck.Crashed, Detail: "the worker's link broke: " + linkErr.Error()}
	case state != nil:
		return End{Reason: healthcheck.Crashed, Detail: "the worker ended: " + state.Error()}
	}
	return End{Reason: healthcheck.Crashed, Detail: "the worker ended without a word"}
}

// start makes the link and executes the worker at its other end.
func (r *processRun) start() (link net.Conn, stderr *os.File, err error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	errOut, errIn, err := os.Pipe()
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	defer errIn.Close()
	o := ownerOf(r.job.Owner)
	w := walls{parent: os.Getpid(), drop: os.Geteuid() == 0 && o.uid != 0, uid: o.uid, gid: o.gid, groups: o.groups}
	cmd := &exec.Cmd{
		// The very file this process was started from, also after another was
		// put in its place.
		Path: "/proc/self/exe", Args: w.args(r.job.Start.Profile), Env: o.environment(), Dir: "/",
		Stderr: errIn, ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM},
	}
	group := r.carrier.cgroups.make(r.job.Start.Profile, r.job.Memory)
	if group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.dir.Fd())
	}
	err = r.carrier.forker.start(cmd)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		group.remove()
		ours.Close()
		errOut.Close()
		return nil, nil, err
	}
	r.cmd, r.group = cmd, group
	r.pid.Store(int64(cmd.Process.Pid))
	if r.killed {
		r.signal()
	}
	return ours, errOut, nil
}

// awaitExit gives the worker the time it has to end after its link, and kills
// it then.
func (r *processRun) awaitExit() {
	pid := r.PID()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		for {
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	patience := time.NewTimer(exitWithin + time.Second)
	defer patience.Stop()
	select {
	case <-exited:
		return
	case <-patience.C:
	}
	r.mu.Lock()
	r.signal()
	r.mu.Unlock()
	<-exited
}

// endAll ends what is left in the worker's cgroup.
func (r *processRun) endAll() {
	r.mu.Lock()
	group := r.group
	r.mu.Unlock()
	group.remove()
}

// socketPair makes the two ends of a link.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a link: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "link")
	f := os.NewFile(uintptr(fds[0]), "link")
	defer f.Close()
	if ours, err = net.FileConn(f); err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("make a link: %w", err)
	}
	return ours, theirs, nil
}

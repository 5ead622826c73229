package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotFound is what starting a program ends with that is not in the PATH of
// its own environment, or may not be executed.
var ErrNotFound = errors.New("no such program")

// LastWords is how long the output of a process that is gone may still be read.
const LastWords = 2 * time.Second

// local is a process of this machine.
type local struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	mark   string
	gone   chan struct{} // closed when all of it is gone; err is set by then
	err    error

	mu     sync.Mutex
	reaped bool // the pid means nothing any more
}

var _ Process = (*local)(nil)

// Start starts a process on this machine, as this user. It leads a process
// group of its own, dies when we die, inherits descriptors 0, 1 and 2 alone,
// and is the first to go when memory runs out. When it ends, by itself or by
// Kill, its group is killed, and so is whatever else it started that can be
// found: what descends from it, what carries the mark that Start puts into its
// environment, and, in a process that is a child subreaper, what came to it.
func Start(ctx context.Context, s Spec) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.Argv) == 0 {
		return nil, fmt.Errorf("start an agent: %w: no command", ErrNotFound)
	}
	path, err := LookPath(s.Argv[0], s.Env, s.Dir)
	if err != nil {
		return nil, err
	}
	p := &local{mark: newMark(), gone: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: path, Args: s.Argv, Dir: s.Dir, Env: append(s.Env[:len(s.Env):len(s.Env)], p.mark),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.life(started)
	err = <-started
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closeAll()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	return p, nil
}

// life starts the process and waits for its end. It stays on one thread: the
// signal of our death is sent when the thread dies that started the process.
func (p *local) life(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sealDescriptors()
	pid, err := p.begin()
	if err != nil {
		started <- err
		return
	}
	raiseOOM(pid)
	started <- nil
	awaitExit(pid)
	// Until it is reaped its pid, and its group's number, are nobody else's.
	p.mu.Lock()
	killTree(pid)
	p.err = p.cmd.Wait()
	p.reaped = true
	p.mu.Unlock()
	leaders.Lock()
	delete(leaders.pids, pid)
	leaders.Unlock()
	sweep(p.mark)
	adopted()
	soon := time.Now().Add(LastWords)
	_ = p.stdout.SetReadDeadline(soon)
	_ = p.stderr.SetReadDeadline(soon)
	p.stdin.Close()
	close(p.gone)
}

func (p *local) begin() (pid int, err error) {
	leaders.Lock()
	defer leaders.Unlock()
	if err := p.cmd.Start(); err != nil {
		return 0, err
	}
	pid = p.cmd.Process.Pid
	leaders.pids[pid] = true
	return pid, nil
}

// pipes makes the three pipes and returns the process's ends of them.
func (p *local) pipes() (theirs []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range theirs {
				f.Close()
			}
			p.closeAll()
		}
	}()
	in, out, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	p.stdin, p.cmd.Stdin, theirs = out, in, append(theirs, in)
	if in, out, err = os.Pipe(); err != nil {
		return theirs, err
	}
	p.stdout, p.cmd.Stdout, theirs = in, out, append(theirs, out)
	if in, out, err = os.Pipe(); err != nil {
		return theirs, err
	}
	p.stderr, p.cmd.Stderr, theirs = in, out, append(theirs, out)
	return theirs, nil
}

func (p *local) closeAll() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *local) Stdin() io.WriteCloser { return p.stdin }
func (p *local) Stdout() io.Reader     { return output{p.stdout} }
func (p *local) Stderr() io.Reader     { return output{p.stderr} }

func (p *local) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killTree(p.cmd.Process.Pid)
	}
	return nil
}

func (p *local) Wait() error {
	<-p.gone
	return p.err
}

// output ends where its deadline does, and closes with its end.
type output struct{ f *os.File }

func (o output) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	if err != nil {
		o.f.Close()
	}
	return n, err
}

// LookPath finds a program in the PATH of env, the last one if there are
// several. A name with a slash in it is looked for from dir.
func LookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if !executable(name) {
			return "", fmt.Errorf("%w: %s can't be executed", ErrNotFound, filepath.Base(name))
		}
		return name, nil
	}
	path := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	for _, d := range filepath.SplitList(path) {
		if full := filepath.Join(d, name); name != "" && filepath.IsAbs(d) && executable(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not in the agent's PATH", ErrNotFound, name)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

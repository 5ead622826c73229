package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
)

// NewShared returns the carrier of runs that are goroutines of this process,
// in the world env. A panic of one, or a fault in a file it has mapped, is its
// own end; what hangs can't be killed.
func NewShared(env channel.Env) Carrier {
	return &shared{env: env, runs: make(map[*sharedRun]struct{})}
}

type shared struct {
	env channel.Env

	mu    sync.Mutex
	runs  map[*sharedRun]struct{}
	group sync.WaitGroup
}

func (*shared) Kind() Kind { return Shared }

func (s *shared) Begin(job Job, ear Ear) Run {
	ctx, cancel := context.WithCancel(context.Background())
	r := &sharedRun{ear: ear, cancel: cancel, commands: make(chan channel.Command), over: make(chan struct{})}
	r.hear()
	s.mu.Lock()
	s.runs[r] = struct{}{}
	s.mu.Unlock()
	s.group.Go(func() {
		err := locked(job.Start.Home, func() error {
			return contained(func() error { return s.env.Run(ctx, job.Start, sharedLink{r, ctx}) })
		})
		cancel()
		close(r.over)
		r.inbox.close()
		r.pumps.Wait()
		s.mu.Lock()
		delete(s.runs, r)
		s.mu.Unlock()
		ear.Over(endOf(err))
	})
	return r
}

func (s *shared) Close() {
	s.mu.Lock()
	for r := range s.runs {
		r.cancel()
	}
	s.mu.Unlock()
	s.group.Wait()
}

// locked calls f with the home's lock held.
func locked(home string, f func() error) error {
	lock, err := Lock(home)
	if err != nil {
		return err
	}
	defer lock.Close()
	return f()
}

// contained calls f so that its panic, or a fault in a file it has mapped, is
// an error.
func contained(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCrashed, p)
		}
	}()
	return f()
}

// A sharedRun is one run of goroutines.
type sharedRun struct {
	ear      Ear
	cancel   context.CancelFunc
	commands chan channel.Command // unbuffered: what was sent was taken
	over     chan struct{}        // closed when the channel has returned
	inbox    inbox
	heard    atomic.Pointer[time.Time]
	pumps    sync.WaitGroup
}

var _ Run = (*sharedRun)(nil)

func (r *sharedRun) Command(c channel.Command) {
	r.inbox.put(c, time.Now(), func() { r.pumps.Go(r.pump) })
}

// pump hands commands over until none is left. It is not there in between, so
// that a quiet channel has no goroutine for it.
func (r *sharedRun) pump() {
	for {
		c, ok := r.inbox.next(time.Now())
		if !ok {
			return
		}
		select {
		case r.commands <- c:
		case <-r.over:
		}
	}
}

func (r *sharedRun) Pulse() Pulse {
	return Pulse{Heard: *r.heard.Load(), Asked: r.inbox.since()}
}

func (r *sharedRun) hear() {
	now := time.Now()
	r.heard.Store(&now)
}

func (r *sharedRun) Kill(End) bool {
	r.cancel()
	return false
}

func (r *sharedRun) PID() int { return 0 }

// sharedLink is the channel's end.
type sharedLink struct {
	run *sharedRun
	ctx context.Context // ends with the run
}

var _ channel.Link = sharedLink{}

func (l sharedLink) Report(r channel.Report) {
	l.run.hear()
	l.run.ear.Report(r)
}

func (l sharedLink) Log(r channel.Record)             { l.run.ear.Log(r) }
func (l sharedLink) Commands() <-chan channel.Command { return l.run.commands }

func (l sharedLink) Allow(ctx context.Context, p channel.Permit) error {
	return l.run.ear.Allow(ctx, p)
}

func (l sharedLink) Ask(ctx context.Context, r channel.Request) (channel.Reply, error) {
	return l.run.ear.Ask(ctx, r)
}

func (l sharedLink) Spawn(ctx context.Context, s agent.Spec) (agent.Process, error) {
	return spawn(ctx, s)
}

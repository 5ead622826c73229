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
	"rcsupervisor/internal/collector"
)

// NewShared returns the carrier of runs that are goroutines of this process,
// in the world env. A panic of one, or a fault in a file it has mapped, is its
// own end; what hangs can't be killed. From the first run to Close it paces the
// process's garbage collector.
func NewShared(env channel.Env) Carrier {
	over, stop := context.WithCancel(context.Background())
	return &shared{env: env, runs: make(map[*sharedRun]struct{}), over: over.Done(), stop: stop}
}

type shared struct {
	env    channel.Env
	pace   sync.Once
	pacing sync.WaitGroup
	over   <-chan struct{}    // ends the pacing
	stop   context.CancelFunc // closes over

	mu    sync.Mutex
	runs  map[*sharedRun]struct{}
	group sync.WaitGroup
}

func (*shared) Kind() Kind { return Shared }

func (s *shared) Begin(job Job, ear Ear) Run {
	s.pace.Do(func() { s.pacing.Go(func() { collector.Run(s.over) }) })
	ctx, cancel := context.WithCancel(context.Background())
	r := &sharedRun{ear: ear, cancel: cancel, commands: make(chan channel.Command), over: make(chan struct{})}
	r.hear()
	s.mu.Lock()
	s.runs[r] = struct{}{}
	s.mu.Unlock()
	start := &job.Start
	s.group.Go(func() {
		err := s.live(ctx, start, r)
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

// live is a run, with the home's lock held. A quiet channel waits in it for days
// and keeps what is on its goroutine's stack by then, so that what begins it is
// another function.
func (s *shared) live(ctx context.Context, start *channel.Start, r *sharedRun) error {
	return locked(start.Home, func() error {
		return contained(func() error {
			live, err := s.begin(ctx, start, r)
			if err != nil {
				return err
			}
			return live()
		})
	})
}

//go:noinline
func (s *shared) begin(ctx context.Context, start *channel.Start, r *sharedRun) (live func() error, err error) {
	return s.env.Begin(ctx, *start, sharedLink{r})
}

func (s *shared) Close() {
	s.mu.Lock()
	for r := range s.runs {
		r.cancel()
	}
	s.mu.Unlock()
	s.group.Wait()
	s.stop()
	s.pacing.Wait()
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
type sharedLink struct{ run *sharedRun }

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

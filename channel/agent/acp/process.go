package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
)

// A process is one life of the agent's program, from the wish for it to its
// end. Its fields are guarded by the agent's mu, save those said to be fixed.
type process struct {
	ready  chan struct{} // closed when it is started, or can't be
	queued chan struct{} // closed when the host's leave takes long
	gone   chan struct{} // closed when nothing of it is left
	poke   chan struct{} // capacity 1: something changed for its watcher
	conn   *conn         // fixed once ready
	err    error         // fixed once ready: why it is not

	users    int       // turns that need it
	since    time.Time // when the last of them left
	retiring bool      // takes no more turns
	until    time.Time // how long those it has may take
}

func (p *process) started() bool {
	select {
	case <-p.ready:
		return p.err == nil
	default:
		return false
	}
}

// retire lets the process take no more turns; it ends when those it has are
// over, or at until. The caller holds the agent's mu.
func (p *process) retire(until time.Time) {
	if !p.retiring {
		p.retiring, p.until = true, until
	} else if until.Before(p.until) {
		p.until = until
	}
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// pauses are how long a program that failed to start is left alone, by how
// often it failed in a row.
var pauses = []time.Duration{0, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second}

// obtain returns the process, started if need be. The caller is counted as one
// who needs it until release.
func (a *Agent) obtain(ctx context.Context, t *turn) (*process, error) {
	for {
		p, err := a.current()
		if err != nil {
			return nil, err
		}
		if err := p.await(ctx, t); err != nil {
			return nil, err
		}
		if p.err != nil {
			return nil, p.err
		}
		if a.use(p) {
			return p, nil
		}
		select {
		case <-p.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// await waits until the process is started, and says so.
func (p *process) await(ctx context.Context, t *turn) error {
	select {
	case <-p.ready:
		return nil
	default:
	}
	t.feed.Put(agent.Progress{Title: "starting the agent"})
	queued := p.queued
	for {
		select {
		case <-p.ready:
			return nil
		case <-queued:
			queued = nil
			t.feed.Put(agent.Progress{Title: agent.TitleQueued})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// current is the process there is, or a new one being started.
func (a *Agent) current() (*process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, agent.ErrClosed
	}
	if a.proc != nil {
		return a.proc, nil
	}
	pause := pauses[min(a.state.Failures, len(pauses)-1)]
	if a.state.State == agent.Failing && time.Since(a.failed) < pause {
		return nil, agent.Fail(sayBroken, fmt.Errorf("it failed a moment ago: %s", a.state.Error))
	}
	p := &process{
		ready: make(chan struct{}), queued: make(chan struct{}), gone: make(chan struct{}), poke: make(chan struct{}, 1),
		since: time.Now(),
	}
	a.proc = p
	a.become(agent.Starting, "")
	a.group.Go(func() { a.live(p) })
	return p, nil
}

func (a *Agent) use(p *process) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.proc != p || p.retiring {
		return false
	}
	p.users++
	return true
}

func (a *Agent) release(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.users--
	p.since = time.Now()
	if p.retiring {
		p.retire(p.until)
	}
}

// live is the goroutine of one process, from its start to its end.
func (a *Agent) live(p *process) {
	release, err := a.config.Leave(a.life, func() { close(p.queued) })
	if err == nil {
		defer release()
		p.conn, err = a.start()
	}
	if err != nil {
		err = notStarted(err)
	}
	p.err = err
	a.mu.Lock()
	if err != nil {
		a.proc = nil
		a.fail(err)
	} else {
		a.become(agent.Ready, "")
	}
	a.mu.Unlock()
	close(p.ready)
	if err == nil {
		a.watch(p)
	}
	close(p.gone)
}

// start starts the program and agrees on the protocol with it.
func (a *Agent) start() (*conn, error) {
	env, err := a.config.Env()
	if err != nil {
		return nil, err
	}
	dir, err := agent.MakeWorkDir(a.config.Home, "")
	if err != nil {
		return nil, err
	}
	proc, err := a.config.Spawn(a.life, agent.Spec{Argv: a.config.Command, Env: env, Dir: dir})
	if errors.Is(err, agent.ErrNotFound) {
		return nil, agent.Fail(agent.SayNotInstalled, err)
	}
	if err != nil {
		return nil, err
	}
	c := newConn(proc, a.config.Log)
	c.vars = make(map[string]bool, len(env))
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); value != "" {
			c.vars[name] = true
		}
	}
	if err := a.initialize(c); err != nil {
		c.kill()
		<-c.gone
		c.group.Wait()
		return nil, err
	}
	return c, nil
}

// initialize advertises nothing: an agent then uses its own file system and
// shell, and asks its questions as requests for permission.
func (a *Agent) initialize(c *conn) error {
	ctx, cancel := context.WithTimeoutCause(a.life, initTimeout, errSlow)
	defer cancel()
	err := c.call(ctx, mInitialize, object{
		"protocolVersion":    protocolVersion,
		"clientCapabilities": object{},
		"clientInfo":         object{"name": "rcsupervisor", "version": "1"},
	}, &c.info)
	if err != nil {
		a.explain(err)
		return fmt.Errorf("the agent did not start: %w", err)
	}
	if c.info.Version != protocolVersion {
		return fmt.Errorf("the agent speaks version %d of the protocol, and not %d", c.info.Version, protocolVersion)
	}
	name := strings.ToLower(c.info.Info.Name + " " + filepath.Base(a.config.Command[0]))
	c.hermes = strings.Contains(name, "hermes")
	c.slots = make(chan struct{}, slotsOf(c.hermes))
	return nil
}

// slotsOf is how many questions a process is given at once: Hermes works on
// four, and takes a fifth for one that follows the fourth.
func slotsOf(hermes bool) int {
	if hermes {
		return 4
	}
	return 16
}

// explain logs what an agent said of a failure before it was asked anything:
// whoever runs it needs that to mend it.
func (a *Agent) explain(err error) {
	if e, ok := errors.AsType[*rpcError](err); ok {
		a.config.Log.Warn("the agent gave a reason", "code", e.Code, "reason", e.Message[:min(len(e.Message), 300)])
	}
}

// fail counts a failure; the caller holds a.mu.
func (a *Agent) fail(err error) {
	a.failed = time.Now()
	a.state.Failures++
	a.config.Log.Warn("the agent failed", "failures", a.state.Failures, "err", err)
	a.become(agent.Failing, err.Error())
}

// answered notes that the agent works. One that had to be logged in was, by now.
func (a *Agent) answered(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Failures = 0
	if p := a.proc; a.state.State == agent.Failing && p != nil && p.started() && p.conn == c {
		a.become(agent.Ready, "")
	}
}

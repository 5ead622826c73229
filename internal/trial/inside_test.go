package trial

import (
	"context"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
)

// An inside is a world's channel that runs in this process.
type inside struct {
	link  *link
	ended chan struct{}
	err   error // of Run, once ended

	mu      sync.Mutex
	report  channel.Report // the latest
	changed chan struct{}
}

// runInside runs the world's channel with a script for an agent.
func (w *world) runInside(env channel.Env, o orders, s *script) *inside {
	c := &inside{ended: make(chan struct{}), changed: make(chan struct{})}
	c.link = newLink(c.observe, explain)
	env.Agent = func(channel.Start, channel.Link) (agent.Agent, error) { return s, nil }
	go func() {
		defer close(c.ended)
		c.err = env.Run(context.Background(), o.start(), c.link)
		c.link.end()
	}()
	return c
}

func (c *inside) observe(r channel.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report = r
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *inside) latest() (channel.Report, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report, c.changed
}

// await waits for a report of which cond says yes.
func (c *inside) await(ctx context.Context, cond func(channel.Report) bool) error {
	for {
		r, changed := c.latest()
		if cond(r) {
			return nil
		}
		select {
		case <-changed:
		case <-c.ended:
			return c.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drain has the channel end in peace and returns its last counters.
func (c *inside) drain(t testing.TB) channel.Counters {
	t.Helper()
	c.link.tell(channel.Drain{Deadline: time.Now().Add(drainTime)})
	<-c.ended
	if c.err != nil {
		t.Fatal(c.err)
	}
	r, _ := c.latest()
	return r.Counters
}

// A tally counts what a script was asked.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

func newTally() *tally { return &tally{times: make(map[string]int)} }

func (c *tally) add(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[id]++
}

func (c *tally) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]int, len(c.times))
	for id, n := range c.times {
		all[id] = n
	}
	return all
}

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/internal/lane"
)

// Bounds of one connection.
const (
	maxUnsent = 128 << 20       // bytes the agent has not read yet
	maxQueued = 4096            // messages it has not read yet
	exitGrace = 2 * time.Second // for a process that closed its output to end by itself
	maxID     = 200             // bytes of a request's id, which we have to say again
)

// errEnded is how calls fail whose agent is gone.
var errEnded = errors.New("the agent's process ended")

// A conn is one process of the agent, from its start to its end.
type conn struct {
	proc   agent.Process
	log    *slog.Logger
	errs   *agent.Complaints
	group  sync.WaitGroup // its goroutines
	out    lane.Lane[[]byte]
	unsent atomic.Int64
	gone   chan struct{} // closed at its end; err is set by then
	err    error
	slots  chan struct{} // how many prompts at once

	// Set once it is initialized.
	info   initialized
	hermes bool
	vars   map[string]bool // the variables that it was started with

	login  chan struct{} // capacity 1; whoever fills it may use these two:
	tried  bool          // to log it in
	logged bool          // it was

	mu     sync.Mutex
	calls  map[int64]func(frame) // guarded by mu, as all below
	last   int64
	turns  map[string]*turn     // by session: those that have been given
	replay map[string]time.Time // sessions being taken up: when the last update came
	closed bool
	odd    map[string]int // lines that were not understood, by what was odd
	untook []string       // the variables with which it would not be logged in
}

// newConn begins to read and write. run has to be called.
func newConn(p agent.Process, log *slog.Logger) *conn {
	c := &conn{
		proc: p, log: log, errs: &agent.Complaints{Log: log}, gone: make(chan struct{}), login: make(chan struct{}, 1),
		calls: make(map[int64]func(frame)), turns: make(map[string]*turn),
		replay: make(map[string]time.Time), odd: make(map[string]int),
	}
	c.out.Group, c.out.Bound, c.out.Do = &c.group, maxQueued, c.write
	c.group.Go(func() { c.errs.Read(p.Stderr()) })
	c.group.Go(c.run)
	return c
}

// run reads until the agent closes its output or ends, and sees to its end.
func (c *conn) run() {
	c.read()
	exited := make(chan error, 1)
	c.group.Go(func() { exited <- c.proc.Wait() })
	grace := time.NewTimer(exitGrace)
	defer grace.Stop()
	var err error
	select {
	case err = <-exited:
	case <-grace.C:
		c.kill()
		err = <-exited
	}
	c.fail(err)
}

// fail ends the connection: every call and every turn of it is told.
func (c *conn) fail(exit error) {
	c.mu.Lock()
	c.closed = true
	c.err = errEnded
	if exit != nil {
		c.err = fmt.Errorf("%w: %w", errEnded, exit)
	}
	odd := c.odd
	c.mu.Unlock()
	close(c.gone)
	c.proc.Stdin().Close()
	for what, n := range odd {
		c.log.Warn("the agent wrote what is not its protocol", "what", what, "lines", n)
	}
}

func (c *conn) kill() {
	if err := c.proc.Kill(); err != nil {
		c.log.Warn("the agent could not be killed", "err", err)
	}
}

// stop ends the process: its input is closed, and it is killed when that is not
// enough within grace, or when ctx ends.
func (c *conn) stop(ctx context.Context, grace time.Duration) {
	c.proc.Stdin().Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.gone:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	c.kill()
	<-c.gone
}

// write is the lane's: the only one that writes.
func (c *conn) write(batch [][]byte) {
	for _, line := range batch {
		_, err := c.proc.Stdin().Write(line)
		c.unsent.Add(-int64(len(line)))
		if err != nil {
			return // the reader notices the end
		}
	}
}

// send queues a message. An agent that does not read what it is sent is ended.
func (c *conn) send(f frame) {
	f.Version = "2.0"
	line, err := json.Marshal(f)
	if err != nil {
		c.log.Error("a message could not be written", "method", f.Method, "err", err)
		return
	}
	line = append(line, '\n')
	c.mu.Lock()
	ok := c.closed || c.unsent.Add(int64(len(line))) <= maxUnsent && c.out.Put(line)
	c.mu.Unlock()
	if !ok {
		c.log.Warn("the agent reads nothing of what it is sent; it is ended")
		c.kill()
	}
}

func (c *conn) notify(method string, params any) {
	c.send(frame{Method: method, Params: mustJSON(params)})
}

// begin sends a request. then is called once with its answer, on the goroutine
// that reads, in the order of what the agent wrote; never when the agent ends
// first. forget gives up on the answer.
func (c *conn) begin(method string, params any, then func(frame)) (forget func()) {
	c.mu.Lock()
	c.last++
	id := c.last
	c.calls[id] = then
	c.mu.Unlock()
	c.send(frame{ID: json.RawMessage(strconv.FormatInt(id, 10)), Method: method, Params: mustJSON(params)})
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}
}

// call sends a request and waits for its answer.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	reply := make(chan frame, 1)
	defer c.begin(method, params, func(f frame) { reply <- f })()
	select {
	case f := <-reply:
		return f.into(result)
	case <-c.gone:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// into reads the answer to a request. A null result leaves result as it is.
func (f frame) into(result any) error {
	if f.Error != nil {
		return f.Error
	}
	if result == nil || len(f.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(f.Result, result); err != nil {
		return errors.New("the agent's answer is not of the form it has to have")
	}
	return nil
}

func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("acp: " + err.Error()) // maps of text, numbers and lists
	}
	return data
}

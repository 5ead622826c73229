package worker

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/sealed"
)

// Bounds of what waits to be said to the supervisor.
const linesWaiting = 256

// A childLink is a worker's end of the link, as its channel knows it. None of
// its methods waits for the supervisor to read but those that want an answer.
type childLink struct {
	conn     net.Conn
	commands chan channel.Command // closed when the supervisor is gone
	done     chan struct{}        // closed when the link has ended

	mu      sync.Mutex
	poke    *sync.Cond
	report  *channel.Report
	lines   []channel.Record
	dropped int
	frames  []frame // small ones that must not be lost
	asks    map[uint64]chan wireReply
	last    uint64
	ended   bool
	over    *End
	written chan struct{} // closed when the writer has ended

	credentials sealed.Credentials // the reader's
}

var _ channel.Link = (*childLink)(nil)

func newChildLink(conn net.Conn, c sealed.Credentials) *childLink {
	l := &childLink{
		conn: conn, commands: make(chan channel.Command), done: make(chan struct{}), asks: make(map[uint64]chan wireReply),
		written: make(chan struct{}), credentials: c,
	}
	l.poke = sync.NewCond(&l.mu)
	return l
}

// read takes in what the supervisor says, until it says no more.
func (l *childLink) read(in *bufio.Reader) {
	taking := make(chan numbered, 64)
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		l.pass(taking)
	}()
	for {
		k, body, err := readFrame(in, maxToWorker)
		if err != nil || !l.heard(k, body, taking) {
			break
		}
	}
	close(l.done)
	close(taking)
	<-passed
	l.mu.Lock()
	l.ended = true
	for id, answer := range l.asks {
		close(answer)
		delete(l.asks, id)
	}
	l.poke.Broadcast()
	l.mu.Unlock()
}

// A numbered command.
type numbered struct {
	number  uint64
	command channel.Command
}

// heard takes one frame, and reports false for one that makes no sense.
func (l *childLink) heard(k kind, body []byte, taking chan<- numbered) bool {
	switch k {
	case kindCredentials:
		c, err := sealed.UnmarshalHandover(body)
		clear(body)
		if err != nil {
			return false
		}
		l.credentials = c
	case kindCommand:
		var w wireCommand
		if decode(body, &w) != nil {
			return false
		}
		c := w.command()
		if a, ok := c.(channel.Apply); ok {
			a.Credentials = l.credentials
			c = a
		}
		select {
		case taking <- numbered{w.Number, c}:
		default:
			return false // the supervisor sends one of a kind at a time
		}
	case kindReply:
		var r wireReply
		if decode(body, &r) != nil {
			return false
		}
		l.mu.Lock()
		if answer := l.asks[r.ID]; answer != nil {
			delete(l.asks, r.ID)
			answer <- r
		}
		l.mu.Unlock()
	default:
		return false
	}
	return true
}

// pass hands commands to the channel, one after another, and says of each that
// it was taken.
func (l *childLink) pass(taking <-chan numbered) {
	defer close(l.commands)
	for n := range taking {
		select {
		case l.commands <- n.command:
			l.put(frame{kindTaken, marshal(wireTaken{n.number})})
		case <-l.done:
			return
		}
	}
}

// put has a frame sent.
func (l *childLink) put(f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.frames = append(l.frames, f)
		l.poke.Signal()
	}
}

// write sends what there is to say until there is nothing more.
func (l *childLink) write() {
	defer close(l.written)
	for {
		f, last := l.next()
		if f.body != nil {
			if err := writeFrame(l.conn, f.kind, f.body); err != nil {
				return
			}
		}
		if last {
			return
		}
	}
}

// next waits for the next frame. What ends the run comes last.
func (l *childLink) next() (f frame, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case len(l.frames) > 0:
			f, l.frames = l.frames[0], l.frames[1:]
			return f, false
		case l.report != nil:
			f = frame{kindReport, marshal(l.report)}
			l.report = nil
			return f, false
		case len(l.lines) > 0:
			f = frame{kindLog, marshal(l.lines[0])}
			l.lines = l.lines[1:]
			return f, false
		case l.over != nil:
			return frame{kindOver, marshal(l.over)}, true
		case l.ended:
			return frame{}, true
		}
		l.poke.Wait()
	}
}

// finish says how the run ended, and returns when that is said or can't be.
func (l *childLink) finish(end End) {
	l.mu.Lock()
	l.over = &end
	l.poke.Broadcast()
	l.mu.Unlock()
	select {
	case <-l.written:
	case <-time.After(time.Second):
	}
}

// Report keeps the latest until it is sent.
func (l *childLink) Report(r channel.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = &r
	l.poke.Signal()
}

// Log keeps a line until it is sent. When too many wait it is dropped, and the
// next one that isn't says how many were.
func (l *childLink) Log(r channel.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) >= linesWaiting {
		l.dropped++
		return
	}
	if l.dropped > 0 {
		l.lines = append(l.lines, channel.Record{Time: r.Time, Level: 4, Message: "log lines were dropped", Attrs: map[string]string{"lines": itoa(l.dropped)}})
		l.dropped = 0
	}
	l.lines = append(l.lines, r)
	l.poke.Signal()
}

func (l *childLink) Commands() <-chan channel.Command { return l.commands }

func (l *childLink) Allow(ctx context.Context, p channel.Permit) error {
	_, err := l.ask(ctx, wireAsk{Permit: &p})
	return err
}

func (l *childLink) Ask(ctx context.Context, r channel.Request) (channel.Reply, error) {
	reply, err := l.ask(ctx, wireAsk{Request: &r})
	if err != nil || reply.Reply == nil {
		return channel.Reply{}, err
	}
	return *reply.Reply, nil
}

// errNoSupervisor is what is answered when nobody can answer any more.
var errNoSupervisor = errors.New("the supervisor is gone")

// ask asks, and waits for the answer.
func (l *childLink) ask(ctx context.Context, a wireAsk) (wireReply, error) {
	answer := make(chan wireReply, 1)
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return wireReply{}, errNoSupervisor
	}
	l.last++
	a.ID = l.last
	l.asks[a.ID] = answer
	l.frames = append(l.frames, frame{kindAsk, marshal(a)})
	l.poke.Signal()
	l.mu.Unlock()
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return r, errNoSupervisor
		case r.Error != "":
			return r, &remoteError{r.Error}
		}
		return r, nil
	case <-ctx.Done():
		l.mu.Lock()
		_, open := l.asks[a.ID]
		delete(l.asks, a.ID)
		if open && !l.ended {
			l.frames = append(l.frames, frame{kindCancel, marshal(wireCancel{a.ID})})
			l.poke.Signal()
		}
		l.mu.Unlock()
		return wireReply{}, context.Cause(ctx)
	}
}

// Spawn starts a process below this one, as this one's user.
func (l *childLink) Spawn(ctx context.Context, s agent.Spec) (agent.Process, error) {
	return spawn(ctx, s)
}

package trial

import (
	"context"
	"errors"
	"sync"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
)

// A link is a supervisor that does one thing: when a connection has ended it
// asks for the next, at once.
type link struct {
	observe  func(channel.Report) // called on the link's goroutine
	log      func(channel.Record)
	commands chan channel.Command
	done     chan struct{} // closed by end
	ended    sync.WaitGroup
	reports  *slot[channel.Report]
}

var _ channel.Link = (*link)(nil)

// newLink begins a link whose first command is to connect.
func newLink(observe func(channel.Report), log func(channel.Record)) *link {
	l := &link{
		observe: observe, log: log, commands: make(chan channel.Command, 8), done: make(chan struct{}), reports: newSlot[channel.Report](),
	}
	l.commands <- channel.Connect{Number: 1}
	l.ended.Go(l.follow)
	return l
}

// end is called after the channel's Run.
func (l *link) end() {
	close(l.done)
	l.ended.Wait()
}

// refusedPause is how long a server is left alone that takes no connection.
const refusedPause = 10 * time.Millisecond

func (l *link) follow() {
	number := uint64(1)
	for {
		select {
		case <-l.reports.wake:
		case <-l.done:
			if r := l.reports.take(); r != nil {
				l.observe(*r)
			}
			return
		}
		r := l.reports.take()
		if r == nil {
			continue
		}
		l.observe(*r)
		if r.Connection != number || r.End == nil {
			continue
		}
		if r.End.Reason == healthcheck.Unreachable {
			pause := time.NewTimer(refusedPause)
			select {
			case <-pause.C:
			case <-l.done:
			}
			pause.Stop()
		}
		number++
		l.tell(channel.Connect{Number: number})
	}
}

// tell gives the channel a command, unless it has ended.
func (l *link) tell(c channel.Command) {
	select {
	case l.commands <- c:
	case <-l.done:
	}
}

func (l *link) Report(r channel.Report) { l.reports.put(r) }

func (l *link) Log(r channel.Record) { l.log(r) }

func (l *link) Commands() <-chan channel.Command { return l.commands }

func (l *link) Allow(ctx context.Context, _ channel.Permit) error { return ctx.Err() }

func (l *link) Spawn(context.Context, agent.Spec) (agent.Process, error) {
	return nil, errors.New("no process is begun here")
}

func (l *link) Ask(context.Context, channel.Request) (channel.Reply, error) {
	return channel.Reply{}, errors.New("nobody is asked here")
}

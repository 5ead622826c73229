package supervisor

import (
	"context"
	"errors"
	"sync"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
)

// A link joins a channel and its keeper within one process. Neither side waits
// for the other: reports are latest-wins, commands are few and bounded.
type link struct {
	keeper   *keeper
	server   string
	commands chan channel.Command

	mu      sync.Mutex
	latest  *channel.Report // not yet taken by the keeper
	sending bool
}

var _ channel.Link = (*link)(nil)

// commandsWaiting bounds what a channel has not read yet.
const commandsWaiting = 16

func newLink(k *keeper, server string) *link {
	return &link{keeper: k, server: server, commands: make(chan channel.Command, commandsWaiting)}
}

// command hands a command over. A channel that has not read the last ones
// loses it: it hangs, which is for others to notice.
func (l *link) command(c channel.Command) {
	select {
	case l.commands <- c:
	default:
		l.keeper.config.Log.Warn("a channel reads no commands", "profile", l.keeper.home.Name)
	}
}

// Report keeps the latest; the keeper takes it when it can.
func (l *link) Report(r channel.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = &r
	if l.sending {
		return
	}
	l.sending = true
	l.keeper.group.Go(l.send)
}

func (l *link) send() {
	for {
		l.mu.Lock()
		report := l.latest
		l.latest = nil
		if report == nil {
			l.sending = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.keeper.tell(func() {
			if r := l.keeper.live; r != nil && r.link == l {
				l.keeper.heard(r, *report)
			}
		})
	}
}

// Log passes a line on at once: the observer does not block.
func (l *link) Log(r channel.Record) {
	l.keeper.config.Observe(Event{Time: r.Time, Profile: l.keeper.home.Name, Record: &r})
}

func (l *link) Commands() <-chan channel.Command { return l.commands }

// Allow draws on the host's budgets.
func (l *link) Allow(ctx context.Context, p channel.Permit) error {
	switch p.Kind {
	case channel.PermitDial:
		return l.keeper.servers.mayDial(ctx, l.server, l.keeper.home.Name)
	case channel.PermitCheck:
		return l.keeper.servers.mayCheck(ctx, l.server)
	}
	return nil
}

// Spawn starts nothing: no agent of this build needs a process.
func (l *link) Spawn(context.Context, agent.Spec) (agent.Process, error) {
	return nil, errors.New("this supervisor starts no processes")
}

// Ask passes a stranger's request, or a code, to whoever writes them down.
func (l *link) Ask(ctx context.Context, r channel.Request) (channel.Reply, error) {
	if l.keeper.config.People == nil {
		return channel.Reply{}, nil
	}
	return l.keeper.config.People.Ask(ctx, l.keeper.home.Name, r)
}

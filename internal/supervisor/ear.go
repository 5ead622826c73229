package supervisor

import (
	"context"
	"log/slog"
	"sync"

	"rcsupervisor/channel"
	"rcsupervisor/internal/worker"
)

// An ear brings what a run says to its keeper. Neither waits for the other: of
// reports the latest is kept until the keeper takes it.
type ear struct {
	keeper *keeper
	run    *run
	server string
	reload bool // the connection was told to end for new files; its keeper's alone

	mu      sync.Mutex
	latest  *channel.Report
	sending bool // the keeper was told that there is one
}

var _ worker.Ear = (*ear)(nil)

func (e *ear) Report(r channel.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.latest = &r
	if !e.sending {
		e.sending = e.keeper.tell(e.take)
	}
}

// take runs on the keeper's goroutine.
func (e *ear) take() {
	e.mu.Lock()
	report := e.latest
	e.latest, e.sending = nil, false
	e.mu.Unlock()
	if report != nil {
		e.keeper.heard(e.run, report)
	}
}

// Log takes a line of the channel. Lines of level debug may hold what people
// wrote, so they are kept only when somebody turned that on.
func (e *ear) Log(r channel.Record) {
	k := e.keeper
	if slog.Level(r.Level) < slog.LevelInfo && !k.config.debug() {
		return
	}
	r.Message = k.config.Redact.String(r.Message)
	for key, v := range r.Attrs {
		r.Attrs[key] = k.config.Redact.String(v)
	}
	line, ok := k.ring.add(r)
	if !ok {
		return
	}
	k.logged(line)
	k.config.Observe(Event{Time: r.Time, Profile: k.name, Record: &r})
}

func (e *ear) Allow(ctx context.Context, p channel.Permit) error {
	return e.keeper.servers.allow(ctx, e.server, e.keeper.name, p)
}

func (e *ear) Ask(ctx context.Context, r channel.Request) (channel.Reply, error) {
	if e.keeper.config.People == nil {
		return channel.Reply{}, nil
	}
	return e.keeper.config.People.Ask(ctx, e.keeper.name, r)
}

func (e *ear) Over(end worker.End) {
	end.Detail = e.keeper.config.Redact.String(end.Detail)
	e.keeper.tell(func() { e.keeper.over(e.run, end) })
}

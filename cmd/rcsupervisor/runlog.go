package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"sync"

	"rcsupervisor/internal/supervisor"
)

// logHandler writes the supervisor's own log: for a terminal as the verb logs
// shows it, and else as one that collects logs reads it. Lines below least are
// left out.
func logHandler(out io.Writer, least slog.Level) slog.Handler {
	if isTerminal(out) {
		return newTerminalLog(out, least)
	}
	return slog.NewTextHandler(out, &slog.HandlerOptions{Level: least})
}

// A terminalLog is a handler whose lines people read as they come.
type terminalLog struct {
	out   io.Writer
	least slog.Level
	attrs map[string]string // of With; never changed
	group string            // before every key, with a dot after it

	mu *sync.Mutex // one line at a time
}

var _ slog.Handler = (*terminalLog)(nil)

func newTerminalLog(out io.Writer, least slog.Level) *terminalLog {
	return &terminalLog{out: out, least: least, mu: new(sync.Mutex)}
}

func (h *terminalLog) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *terminalLog) Handle(_ context.Context, r slog.Record) error {
	l := supervisor.Line{Time: r.Time, Level: r.Level.String(), Text: r.Message, Attrs: maps.Clone(h.attrs)}
	if l.Attrs == nil {
		l.Attrs = make(map[string]string)
	}
	r.Attrs(func(a slog.Attr) bool {
		h.keep(l.Attrs, a)
		return true
	})
	dropSaid(l)
	const profile = "profile"
	if name := l.Attrs[profile]; name != "" {
		delete(l.Attrs, profile)
		l.Text = name + ": " + l.Text
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return printLine(h.out, l)
}

func (h *terminalLog) keep(attrs map[string]string, a slog.Attr) {
	if a.Value.Kind() == slog.KindGroup {
		inner := *h
		inner.group += a.Key + "."
		for _, b := range a.Value.Group() {
			inner.keep(attrs, b)
		}
		return
	}
	attrs[h.group+a.Key] = a.Value.Resolve().String()
}

func (h *terminalLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = maps.Clone(h.attrs)
	if more.attrs == nil {
		more.attrs = make(map[string]string)
	}
	for _, a := range attrs {
		h.keep(more.attrs, a)
	}
	return &more
}

func (h *terminalLog) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	more := *h
	more.group += name + "."
	return &more
}

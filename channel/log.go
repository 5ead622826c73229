package channel

import (
	"context"
	"log/slog"
	"slices"
)

// logger is a slog.Logger whose lines go over the link.
func logger(link Link) *slog.Logger { return slog.New(&linkLog{link: link}) }

// linkLog is the slog.Handler of a channel. The link bounds what it takes; a
// line never waits.
type linkLog struct {
	link  Link
	group string // with its dots, before the keys of what follows
	attrs []slog.Attr
}

var _ slog.Handler = (*linkLog)(nil)

func (h *linkLog) Enabled(context.Context, slog.Level) bool { return true }

func (h *linkLog) Handle(_ context.Context, r slog.Record) error {
	out := Record{Time: r.Time, Level: int(r.Level), Message: r.Message, Attrs: make(map[string]string, len(h.attrs)+r.NumAttrs())}
	for _, a := range h.attrs {
		flatten(out.Attrs, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		flatten(out.Attrs, h.group, a)
		return true
	})
	h.link.Log(out)
	return nil
}

func (h *linkLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		next.attrs = append(next.attrs, a)
	}
	return &next
}

func (h *linkLog) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group = h.group + name + "."
	return &next
}

func flatten(into map[string]string, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			flatten(into, prefix, inner)
		}
		return
	}
	if a.Key != "" {
		into[prefix+a.Key] = v.String()
	}
}

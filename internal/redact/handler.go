package redact

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// Handler returns a handler that takes secrets out of records before next
// gets them: out of messages, keys, and values of every kind, in groups too.
// A value next would write by itself (a struct, a map) is passed on as it is
// only where no form next may choose shows a secret, and as text else.
//
// Attributes of [slog.Logger.With] are looked at again when secrets were added
// since.
func (r *Redactor) Handler(next slog.Handler) slog.Handler {
	return &handler{r: r, base: next}
}

// handler keeps the chain of With and WithGroup that led to it, and the
// handler these make of base. All but the cache is fixed when it is made.
type handler struct {
	r    *Redactor
	base slog.Handler
	with []with
	made atomic.Pointer[made]
}

// with is one WithAttrs, or with a name one WithGroup.
type with struct {
	group string
	attrs []slog.Attr
}

// made is base with the chain applied, redacted with what was known then.
type made struct {
	version uint64
	handler slog.Handler
}

func (h *handler) handler() slog.Handler {
	if len(h.with) == 0 {
		return h.base
	}
	version := h.r.version.Load()
	if m := h.made.Load(); m != nil && m.version == version {
		return m.handler
	}
	next := h.base
	for _, w := range h.with {
		if w.group != "" {
			next = next.WithGroup(h.r.String(w.group))
		} else {
			next = next.WithAttrs(h.r.attrs(w.attrs))
		}
	}
	h.made.Store(&made{version, next})
	return next
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.base.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	out := slog.NewRecord(rec.Time, rec.Level, h.r.String(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.r.attr(a))
		return true
	})
	return h.handler().Handle(ctx, out)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.and(with{attrs: attrs})
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.and(with{group: name})
}

func (h *handler) and(w with) slog.Handler {
	return &handler{r: h.r, base: h.base, with: append(h.with[:len(h.with):len(h.with)], w)}
}

func (r *Redactor) attrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = r.attr(a)
	}
	return out
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: r.String(a.Key), Value: r.value(a.Value.Resolve())}
}

func (r *Redactor) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(r.String(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(r.attrs(v.Group())...)
	case slog.KindAny:
		return r.any(v)
	}
	return v // numbers, times and the like
}

// any redacts what only the next handler knows how to write. Errors stay
// errors, and bytes bytes.
func (r *Redactor) any(v slog.Value) slog.Value {
	var text string
	switch x := v.Any().(type) {
	case nil, *slog.Source:
		return v
	case []byte:
		return slog.AnyValue(r.Bytes(x))
	case error:
		text = fmt.Sprint(x)
		if r.String(text) != text {
			return slog.AnyValue(r.Error(x))
		}
		if _, ok := x.(json.Marshaler); !ok {
			return v // handlers write an error's text
		}
	default:
		text = fmt.Sprintf("%+v", x)
	}
	for _, form := range []string{text, jsonForm(v.Any()), textForm(v.Any())} {
		if r.String(form) != form {
			return slog.StringValue(r.String(text))
		}
	}
	return v
}

func jsonForm(v any) (s string) {
	defer func() { _ = recover() }() // its methods are anybody's
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func textForm(v any) (s string) {
	defer func() { _ = recover() }()
	m, ok := v.(encoding.TextMarshaler)
	if !ok {
		return ""
	}
	b, err := m.MarshalText()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

package healthcheck

import (
	"testing"
	"time"
)

// BenchmarkBaseline copies a History through a function that does nothing: what
// a value costs by itself, beside BenchmarkNext.
func BenchmarkBaseline(b *testing.B) {
	h := online(day)
	b.ReportAllocs()
	for b.Loop() {
		_, h = nothing(h, Ended{Reason: Closed}, day, flat)
	}
}

//go:noinline
func nothing(h History, _ Ended, _ time.Time, _ Jitter) (Decision, History) { return Decision{}, h }

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct {
		name string
		h    History
		e    Ended
	}{
		{"closed", online(day), Ended{Reason: Closed, Detail: "close 1006: unexpected EOF"}},
		{"refused", online(day), Ended{Reason: Refused, Detail: "login 403"}},
		{"unreachable", started(day), Ended{Reason: Unreachable, Detail: "connection refused"}},
		{"crashed", online(day), Ended{Reason: Crashed, Detail: "signal: killed"}},
		{"duplicate", online(day), Ended{Reason: Duplicate, Detail: "bob"}},
		{"late", New(day), Ended{Reason: Closed}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Next(c.h, c.e, day, flat)
			}
		})
	}
}

// A connection that comes and goes: all calls of one round.
func BenchmarkRound(b *testing.B) {
	h, now := online(day), day
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Hour)
		_, h = Next(h, Ended{Reason: Closed}, now, flat)
		h = h.Began(now, flat).Online(now)
	}
}

func BenchmarkExplain(b *testing.B) {
	_, h := Next(online(day), Ended{Reason: RateLimited, Limit: time.Minute}, day, flat)
	b.ReportAllocs()
	for b.Loop() {
		_ = Explain(h, alice, day)
	}
}

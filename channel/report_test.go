package channel

import (
	"fmt"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// Reports are truthful within a second, also while so much happens that there
// is always something new to report.
func TestReportsAreTruthful(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		for i := range 300 {
			h.server.Say(h.stranger, h.lab, fmt.Sprint("chatter ", i))
			h.pass(50 * time.Millisecond)
			r, _ := h.super.look()
			if behind := uint64(i+1) - r.Counters.Ignored["unwoken"]; behind > 20 {
				h.t.Fatalf("after %d messages %d are not reported", i+1, behind)
			}
			if age := time.Since(r.LastFrame); age > time.Second {
				h.t.Fatalf("the last frame reported is of %s ago", age)
			}
		}
		h.pass(time.Second)
		before := h.super.reports
		h.pass(time.Second)
		if n := h.super.reports - before; n > 1 {
			h.t.Errorf("%d reports of nothing in a second", n)
		}
		if n := before; n > 80 {
			h.t.Errorf("%d reports in 15 s", n)
		}
	})
}

// What a channel is doing is reported as it changes.
func TestReportsFollowAConnection(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		mend := h.server.Break(pretend.Fault{Kind: pretend.HoldLogin})
		h.run()
		h.rest()
		r, _ := h.super.look()
		if r.Run != 1 || r.Connection != 1 || r.Phase != Connecting || !r.OnlineSince.IsZero() || r.End != nil {
			h.t.Errorf("connecting: %+v", r)
		}
		mend()
		h.rest()
		r, _ = h.super.look()
		if r.Phase != Online || r.OnlineSince.IsZero() || r.TokenChecked.IsZero() || r.LastFrame.IsZero() || r.Username != "hermes" || r.Agent.Kind != "echo" {
			h.t.Errorf("online: %+v", r)
		}
		checked := r.TokenChecked
		h.pass(6 * time.Minute)
		if r, _ = h.super.look(); !r.TokenChecked.After(checked) {
			h.t.Errorf("the token was not checked: %+v", r)
		}
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Minute)})
		h.pass(time.Second)
		r, _ = h.super.look()
		if r.Phase == Online || !r.OnlineSince.IsZero() || !r.LastFrame.IsZero() || r.End == nil && r.Phase != Connecting {
			h.t.Errorf("cut: %+v", r)
		}
		if e := h.super.ends[0]; !e.WasOnline || e.At.IsZero() || e.Detail == "" {
			h.t.Errorf("the end: %+v", e)
		}
	})
}

// Whatever a server brings, what is kept of it is bounded: rooms, people,
// refusals, strangers. What still waits is not forgotten for it.
func TestWhatIsKeptIsBounded(t *testing.T) {
	in := &intake{pens: make(map[string]*pen)}
	in.pen("waits").asking = true
	in.pen("behind").behind = true
	in.pen("holds").hold(heard{})
	var s strangers
	now := time.Now()
	for i := range 3 * pensKept {
		name := fmt.Sprint(i)
		in.pen(name)
		in.personSaid(name, person{bot: true, until: now.Add(time.Hour)})
		in.first(name, time.Hour)
		s.mayTell(name, now.Add(time.Duration(i)*10*time.Minute))
	}
	if len(in.pens) > pensKept || len(in.people) > peopleKept || len(in.once) > onceKept || len(s.told) > strangersKept || len(s.recent) > strangersAnHour {
		t.Errorf("kept: %d rooms, %d people, %d refusals, %d strangers, %d of late", len(in.pens), len(in.people), len(in.once), len(s.told), len(s.recent))
	}
	for _, room := range []string{"waits", "behind", "holds"} {
		if in.pens[room] == nil {
			t.Errorf("a room that %s was forgotten", room)
		}
	}
	if !in.people[fmt.Sprint(3*pensKept-1)].bot {
		t.Error("the last who was asked about was forgotten")
	}
}

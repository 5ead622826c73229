package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
)

// A super is a supervisor in a few lines: it obeys healthcheck.Next and nothing
// else. What it can't know (whether the server is there again) it finds out by
// trying.
type super struct {
	house    *house
	commands chan Command

	mu       sync.Mutex
	changed  chan struct{}
	latest   Report
	reports  int
	history  healthcheck.History
	timer    *time.Timer
	dials    uint64
	seen     uint64 // the connection whose end was taken note of
	online   uint64
	ends     []End
	at       []time.Time // of each Connect
	log      []Record
	asked    []Request
	answer   func(Request) (Reply, error)
	allow    func(context.Context, Permit) error
	reread   func(*super) // what the sealed file says when it is read again
	finished bool
}

var _ Link = (*super)(nil)

func newSuper(h *house) *super {
	return &super{
		house: h, commands: make(chan Command, 100), changed: make(chan struct{}), history: healthcheck.New(time.Now()),
		answer: func(Request) (Reply, error) { return Reply{}, nil },
		allow:  h.allow,
		reread: func(*super) {},
	}
}

// begin makes the first connection.
func (s *super) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, h := s.history.Start(time.Now())
	s.follow(d, h)
}

// follow does what was decided, now or later. The lock is held.
func (s *super) follow(d healthcheck.Decision, h healthcheck.History) {
	s.history = h
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.finished {
		return
	}
	switch d.Do {
	case healthcheck.Begin, healthcheck.Dial, healthcheck.Reread:
		s.timer = time.AfterFunc(d.After, s.due)
	case healthcheck.Halt:
		s.commands <- Stop{}
	case healthcheck.Await: // for a server
		s.timer = time.AfterFunc(s.house.probe, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.follow(s.history.Released(time.Now()))
		})
	}
}

func (s *super) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	plan := s.history.Plan
	s.history = s.history.Began(time.Now(), nil)
	if plan == healthcheck.Reread {
		s.reread(s)
	}
	s.dials++
	s.at = append(s.at, time.Now())
	s.commands <- Connect{Number: s.dials}
	s.history = s.history.Dialing(time.Now())
}

func (s *super) Report(r Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = r
	s.reports++
	switch {
	case r.Connection != s.dials:
	case r.End != nil && s.seen != r.Connection:
		s.seen = r.Connection
		s.ends = append(s.ends, *r.End)
		s.follow(healthcheck.Next(s.history, healthcheck.Ended{Reason: r.End.Reason, Detail: r.End.Detail, Limit: r.End.RetryAfter}, time.Now(), nil))
	case !r.OnlineSince.IsZero() && s.online != r.Connection:
		s.online = r.Connection
		s.history = s.history.Online(time.Now())
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *super) Log(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, r)
}

func (s *super) Commands() <-chan Command                        { return s.commands }
func (s *super) Allow(ctx context.Context, p Permit) error       { return s.permit(ctx, p) }
func (s *super) Ask(_ context.Context, r Request) (Reply, error) { return s.heard(r) }

func (s *super) Spawn(ctx context.Context, spec agent.Spec) (agent.Process, error) {
	if s.house.spawn == nil {
		return nil, errors.New("no processes here")
	}
	return s.house.spawn(ctx, spec)
}

func (s *super) permit(ctx context.Context, p Permit) error {
	if s.allow == nil {
		return nil
	}
	return s.allow(ctx, p)
}

func (s *super) heard(r Request) (Reply, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	return s.answer(r)
}

// over takes note of the end of the run.
func (s *super) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.follow(healthcheck.Next(s.history, healthcheck.Ended{Reason: healthcheck.Operator, Over: true}, time.Now(), nil))
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// stop ends the channel.
func (s *super) stop() {
	s.quit()
	s.commands <- Stop{}
}

// quit does nothing more.
func (s *super) quit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// look returns the latest report, and what is closed at the next.
func (s *super) look() (Report, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest, s.changed
}

// reasons lists how connections ended.
func (s *super) reasons() []healthcheck.Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []healthcheck.Reason
	for _, e := range s.ends {
		all = append(all, e.Reason)
	}
	return all
}

func (s *super) state() healthcheck.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.State
}

// lines is the log from info on.
func (s *super) lines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, r := range s.log {
		if r.Level < int(slog.LevelInfo) {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s", r.Time.Format(time.TimeOnly), slog.Level(r.Level), r.Message)
		for _, k := range slices.Sorted(maps.Keys(r.Attrs)) {
			fmt.Fprintf(&b, " %s=%s", k, r.Attrs[k])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

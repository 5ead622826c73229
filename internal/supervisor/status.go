package supervisor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// A ProfileStatus is what status says of one profile. Its JSON is public:
// times are RFC 3339 in UTC or null, and what is absent is null.
type ProfileStatus struct {
	Name           string                `json:"name"`
	Home           *string               `json:"home"`
	State          healthcheck.State     `json:"state"`
	Reason         *string               `json:"reason"`
	Since          *time.Time            `json:"since"`
	RetryAt        *time.Time            `json:"retry_at"`
	Restarts       uint64                `json:"restarts"`
	Run            *uint64               `json:"run"`
	Generation     *uint64               `json:"generation"`
	LastFrameAge   *float64              `json:"last_frame_age_seconds"`
	TokenCheckedAt *time.Time            `json:"token_checked_at"`
	Server         *string               `json:"server"`
	UserID         *string               `json:"user_id"`
	Username       *string               `json:"username"`
	Error          *string               `json:"error"`
	Action         *string               `json:"action"`
	Flapping       bool                  `json:"flapping"`
	CatchingUp     bool                  `json:"catching_up"`
	Pending        []string              `json:"pending"`
	Agent          AgentStatus           `json:"agent"`
	Warnings       []healthcheck.Warning `json:"warnings"`
	Counters       channel.Counters      `json:"counters"`
}

// An AgentStatus is what is known of a profile's agent.
type AgentStatus struct {
	Kind  *string    `json:"kind"`
	State *string    `json:"state"`
	Error *string    `json:"error"`
	Since *time.Time `json:"since"`
}

// A view is what a keeper lets others see. It never changes.
type view struct {
	name     string
	owner    int
	home     string
	history  healthcheck.History
	start    *channel.Start // without its secrets' values being shown
	report   *channel.Report
	run      uint64
	dials    uint64
	pid      int
	pending  []profile.Widening
	warnings []healthcheck.Warning
	other    string
	mend     string
	fault    string
	faultTry string
	kind     string    // of the agent in use
	agent    time.Time // since when it is in its state
	busy     time.Time // when a question was last taken in or answered
	wanted   bool
	why      string // of a suspension
	capped   []profile.KeyChange
	readErr  string            // why the files as they are can't be read
	begun    *profile.Settings // as the run began with
}

// publish makes what the keeper knows visible.
func (k *keeper) publish() {
	entry, _ := k.registry.entry(k.name)
	v := &view{
		name: k.name, owner: k.reading.Owner, home: k.reading.Home, history: k.history, start: k.start, report: k.report,
		pending: k.pending, other: k.other, mend: k.mend, kind: k.inUse.Agent.Kind, wanted: entry.Wanted, why: entry.Reason,
	}
	v.capped, v.dials = k.facts.capped, k.dials
	if k.reading.Err != nil {
		v.readErr = k.reading.Err.Error()
	}
	if k.live != nil {
		v.run, v.begun = k.live.number, &k.live.settings
		if k.live.Run != nil {
			v.pid = k.live.PID()
		}
	}
	if k.fault != nil {
		v.fault, v.faultTry = k.fault.Err.Error(), cmp.Or(k.fault.Try, "rcsupervisor check "+k.name)
	}
	v.agent, v.busy = k.agentSince(v), k.lastBusy(v)
	k.countAgent(v)
	v.warnings = k.warnings(v)
	k.view.Store(v)
}

// agentSince is since when the agent is in its state.
func (k *keeper) agentSince(v *view) time.Time {
	was := k.view.Load()
	if was == nil || v.report == nil || was.report == nil || was.report.Agent != v.report.Agent {
		return time.Now()
	}
	return was.agent
}

// lastBusy is when the channel's counters last told of work.
func (k *keeper) lastBusy(v *view) time.Time {
	was := k.view.Load()
	switch {
	case was == nil || v.report == nil || was.report == nil:
		return time.Now()
	case was.report.Counters.Claimed != v.report.Counters.Claimed, was.report.Counters.Answered != v.report.Counters.Answered:
		return time.Now()
	}
	return was.busy
}

// facts are the names in sentences about the profile. Who may not know of the
// other profile is told of "another profile on this host".
func (v *view) facts(all bool) healthcheck.Facts {
	f := healthcheck.Facts{Profile: v.name, Server: v.start.Credentials.Server, Home: v.home, Mend: v.mend}
	if all {
		f.Other = v.other
	}
	return f
}

// status is what a reader is told of the profile; all says that he may know of
// every other.
func (v *view) status(now time.Time, all bool) ProfileStatus {
	h := v.history.Settled(now)
	advice := healthcheck.Explain(h, v.facts(all), now)
	if h.Reason == healthcheck.Suspended && !all {
		advice.Action = "" // resume is for root and the supervisor's user
	}
	s := ProfileStatus{
		Name: v.name, Home: text(v.home), State: h.State, Reason: text(string(h.Reason)), Since: instant(h.Since), RetryAt: instant(h.RetryAt),
		Restarts: h.Restarts, Server: text(v.start.Credentials.Server), UserID: text(v.start.Credentials.UserID),
		Error: text(cmp.Or(v.fault, v.error(h, all))), Action: text(v.action(h, advice, all)), Flapping: h.Flapping,
		Pending: []string{}, Warnings: slices.Clone(v.warnings), Agent: AgentStatus{Kind: text(v.kind)},
	}
	if v.run > 0 {
		s.Run = &v.run
	}
	if g := v.start.Credentials.Generation; g > 0 {
		s.Generation = &g
	}
	for _, w := range v.pending {
		s.Pending = append(s.Pending, w.Text)
	}
	if s.Warnings == nil {
		s.Warnings = []healthcheck.Warning{}
	}
	s.Counters.Ignored = map[string]uint64{}
	if r := v.report; r != nil {
		v.reported(&s, r, now)
	}
	return s
}

// action is the command that mends it, for whom it is told: the server is known
// here, and who suspended a profile is not its owner.
func (v *view) action(h healthcheck.History, advice healthcheck.Advice, all bool) string {
	if h.Reason == healthcheck.Suspended && !all {
		return askAdministrator
	}
	action := cmp.Or(v.faultTry, advice.Action)
	if server := v.start.Credentials.Server; server != "" {
		action = strings.Replace(action, "--server URL", "--server "+server, 1)
	}
	return action
}

// askAdministrator is what an owner can do where only root and the supervisor's
// user may act.
const askAdministrator = "ask an administrator"

// error is the sentence behind the reason. That of a duplicate names the other
// profile.
func (v *view) error(h healthcheck.History, all bool) string {
	if h.Reason == healthcheck.Duplicate && v.other != "" && !all {
		return "its bot is run by another profile on this host"
	}
	if h.Reason == healthcheck.Suspended && v.why != "" {
		return v.why
	}
	return h.Error
}

// reported adds what the channel said last.
func (v *view) reported(s *ProfileStatus, r *channel.Report, now time.Time) {
	if v.run > 0 && !r.LastFrame.IsZero() {
		age := max(0, now.Sub(r.LastFrame).Seconds())
		s.LastFrameAge = &age
	}
	s.TokenCheckedAt = instant(r.TokenChecked)
	s.Username = text(r.Username)
	s.CatchingUp = v.run > 0 && r.CatchingUp
	if v.run > 0 {
		s.Agent.State, s.Agent.Error = text(r.Agent.State), text(r.Agent.Error)
		s.Agent.Since = instant(v.agent)
	}
	s.Counters = r.Counters
	s.Counters.Ignored = maps.Clone(r.Counters.Ignored)
	if s.Counters.Ignored == nil {
		s.Counters.Ignored = map[string]uint64{}
	}
}

// text is s, or null for none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// instant is t in UTC, or null for none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.Round(0).UTC().Truncate(time.Millisecond)
	return &t
}

// Wanted is the status of a profile while no supervisor runs: off, with what
// the ledger, which may be nil, says is wanted of it.
func Wanted(r profile.Reading, ledger *profile.Ledger) ProfileStatus {
	v := unrun(r, ledger)
	s := v.status(time.Time{}, true)
	if v.idle() {
		s.Action = text("rcsupervisor run")
	}
	return s
}

// ExplainWanted is Explain while no supervisor runs.
func ExplainWanted(r profile.Reading, ledger *profile.Ledger) Explained {
	v := unrun(r, ledger)
	e := v.explain(time.Time{}, true)
	e.Profile = Wanted(r, ledger)
	e.Action = e.Profile.Action
	if v.idle() {
		e.Why, e.Next, e.When = text("No supervisor runs."), text("It starts."), text("when the supervisor does")
		e.What = r.Name + " is off."
	}
	return e
}

// unrun is the view of a profile that no supervisor keeps.
func unrun(r profile.Reading, ledger *profile.Ledger) *view {
	h := healthcheck.New(time.Time{})
	e := profile.Entry{Wanted: true}
	if ledger != nil {
		if known, ok := ledger.Get(r.Name); ok {
			e = known
		}
	}
	enabled := r.Err != nil || r.Settings.Enabled
	v := &view{name: r.Name, home: r.Home, owner: r.Owner, history: h, kind: r.Settings.Agent.Kind, why: e.Reason, start: new(channel.Start)}
	v.start.Credentials.Server, v.start.Credentials.UserID = e.Server, e.Bot
	switch rest := healthcheck.Resting(enabled, e.Wanted, e.Suspended); {
	case rest != "":
		_, v.history = h.Stop(rest, time.Time{})
	case r.Err != nil:
		_, h = h.Start(time.Time{}) // a supervisor would, and find out
		_, v.history = healthcheck.Next(h, healthcheck.Ended{Reason: healthcheck.BadConfig, Detail: r.Err.Error(), Over: true}, time.Time{}, nil)
	}
	return v
}

// idle reports whether a profile that no supervisor keeps is off for that alone.
func (v *view) idle() bool { return v.history.State == healthcheck.Off && v.history.Reason == "" }

// home is where the profile's home lies, for any goroutine.
func (k *keeper) home() string { return k.view.Load().home }

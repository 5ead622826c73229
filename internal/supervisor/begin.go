package supervisor

import (
	"fmt"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
)

// begin starts a run with what was prepared, if nothing speaks against it.
func (k *keeper) begin(p prepared) {
	if k.live != nil || !k.history.Alive || k.history.State == healthcheck.Stopping {
		return // stopped while it was prepared
	}
	if u := k.judge(p); u != nil {
		k.unready(u)
		return
	}
	k.fault, k.other, k.mend = nil, "", ""
	k.runs++
	start := p.start
	start.Run, start.Siblings = k.runs, k.kin.of(start.Credentials.Server)
	k.start, k.facts, k.report = &start, p.facts, nil
	r := &run{number: k.runs, began: time.Now(), settings: start.Settings}
	r.ear = &ear{keeper: k, run: r, server: start.Credentials.Server}
	k.live = r
	r.Run = k.config.Carrier.Begin(worker.Job{Start: start, Owner: k.reading.Owner, Memory: start.Settings.Limits.Memory}, r.ear)
	k.watch.add(r)
	k.dial()
}

// judge says what speaks against running what was prepared: the ledger, another
// profile with the same bot, Hermes.
func (k *keeper) judge(p prepared) *Unready {
	// Whose the home is comes first: what lies in another's says nothing.
	claim := profile.Claim{Path: k.reading.Home, Owner: k.reading.Owner}
	if u := k.known(claim); u != nil {
		return u
	}
	if p.err != nil {
		return p.err
	}
	c := p.start.Credentials
	claim.Server, claim.Bot, claim.Generation = c.Server, c.UserID, c.Generation
	if u := k.known(claim); u != nil {
		return u
	}
	k.adopting = false
	if p.hermes != "" {
		k.other, k.suspect = "", bot{c.Server, c.UserID}
		return hermesHas(p.hermes, p.hermesTry)
	}
	if other := k.registry.claim(k.name, bot{c.Server, c.UserID}); other != "" {
		k.other = other
		return &Unready{Reason: healthcheck.Duplicate, Err: fmt.Errorf("its bot is run by %s", other)}
	}
	return nil
}

// known compares a claim with the ledger. What a person has adopted is what is
// known from then on.
func (k *keeper) known(c profile.Claim) *Unready {
	if k.adopting {
		k.registry.change(k.name, func(e *profile.Entry) { *e = e.Adopt(c) })
		return nil
	}
	entry, _ := k.registry.entry(k.name)
	if verdict, text := entry.Judge(c); verdict != profile.Known {
		return &Unready{Reason: healthcheck.Reason(verdict), Err: fmt.Errorf("%s", text)}
	}
	return nil
}

// unready takes note of a profile that can't run as it is. Of a run that there
// is nothing changes but for what a person, another profile or the ledger says.
func (k *keeper) unready(u *Unready) {
	if k.live != nil && (u.Reason == healthcheck.BadConfig || u.Reason == healthcheck.Unsealed) {
		k.fault = u
		k.config.Log.Warn("what is new can't be used; the last good goes on", "profile", k.name, "err", u.Err)
		k.observe(false)
		return
	}
	k.fault = nil
	k.mend = u.Try
	if u.Reason != healthcheck.Duplicate {
		k.other = ""
	}
	k.decide(healthcheck.Next(k.history, healthcheck.Ended{Reason: u.Reason, Detail: u.Err.Error(), Over: k.live == nil}, time.Now(), k.config.Jitter))
}

// holdsBot reports whether the profile's history lets it keep the bot it has
// or will have again.
func (k *keeper) holdsBot() bool {
	switch k.history.State {
	case healthcheck.Off:
		return false
	case healthcheck.Held:
		return k.history.Reason == healthcheck.Hung || k.history.Reason == healthcheck.Duplicate
	}
	return true
}

// freeBot lets go of the bot, and tells those who waited for it.
func (k *keeper) freeBot() {
	for _, name := range k.registry.release(k.name) {
		if o := k.keeper(name); o != nil {
			o.tell(func() { o.decide(o.history.Freed(healthcheck.Duplicate, time.Now())) })
		}
	}
}

// over takes note of a run that has ended.
func (k *keeper) over(r *run, end worker.End) {
	k.watch.remove(r)
	if k.live != r {
		return
	}
	k.live = nil
	k.servers.dialed(k.name)
	k.servers.agents.forget(k.name)
	if r.killed != nil {
		end = *r.killed
	} else {
		end = k.believedOver(end)
	}
	e := healthcheck.Ended{Reason: end.Reason, Detail: end.Detail, Over: true}
	k.decide(healthcheck.Next(k.history, e, time.Now(), k.config.Jitter))
	if !k.leaving && !k.ending && k.live == nil && k.fault != nil {
		k.fault = nil // the next start says it
	}
}

// hung is called for a run that takes no command or is not heard any more. It
// is killed, or held where that can't be done.
func (k *keeper) hung(r *run, detail string) {
	if k.live != r || r.killed != nil {
		return
	}
	k.config.Log.Warn("a channel hangs", "profile", k.name, "what", detail)
	if k.killRun(worker.End{Reason: healthcheck.Hung, Detail: detail}) {
		return
	}
	k.servers.leave(k.name)
	k.decide(healthcheck.Next(k.history, healthcheck.Ended{Reason: healthcheck.Hung, Detail: detail, Stuck: true}, time.Now(), k.config.Jitter))
}

// heard takes the latest report of a run.
func (k *keeper) heard(r *run, report *channel.Report) {
	if k.live != r || report.Run != r.number {
		return
	}
	was := k.report
	k.report = report
	if s := report.Agent.State; s == agent.Ready || s == agent.Failing {
		k.servers.agents.started(k.name)
		if was != nil && was.Agent.State != s {
			k.lookAround() // an agent that just started may be a Hermes that connects by itself
		}
	}
	switch {
	case report.Connection != k.dials:
	case report.End != nil && r.seen != report.Connection:
		r.seen = report.Connection
		k.ended(k.believed(r, *report.End))
		return
	case !report.OnlineSince.IsZero() && r.online != report.Connection:
		r.online = report.Connection
		k.cameOnline()
		return
	}
	k.observe(false)
}

// believed is how a connection ended, as far as its channel can know. That the
// home is gone or the profile suspended, that the worker died, or that it was
// told to end when it was not, is none of its business: it would stand still or
// spin on its own word.
func (k *keeper) believed(r *run, end channel.End) healthcheck.Ended {
	told := r.ear.reload
	r.ear.reload = false
	switch end.Reason {
	case healthcheck.Silent, healthcheck.Deaf, healthcheck.Closed, healthcheck.Dropped, healthcheck.Unreachable,
		healthcheck.RateLimited, healthcheck.Refused, healthcheck.Identity, healthcheck.BadConfig:
	case healthcheck.Operator:
		told = k.history.State == healthcheck.Stopping
		fallthrough
	case healthcheck.Reload:
		if told {
			break
		}
		fallthrough
	default:
		return healthcheck.Ended{Reason: healthcheck.Dropped, Detail: fmt.Sprintf("its channel says that the connection ended as %q, which can't be", end.Reason)}
	}
	return healthcheck.Ended{Reason: end.Reason, Detail: end.Detail, Limit: end.RetryAfter}
}

// believedOver is likewise how a run ended. One that was not told to has no
// reason to end.
func (k *keeper) believedOver(end worker.End) worker.End {
	switch {
	case end.Reason == healthcheck.Operator && k.history.State != healthcheck.Stopping && k.history.State != healthcheck.Held:
		return worker.End{Reason: healthcheck.Crashed, Detail: "it ended without being told to"}
	case end.Reason == healthcheck.Operator, end.Reason == healthcheck.Crashed, end.Reason == healthcheck.Busy, end.Reason == healthcheck.BadConfig:
		return end
	}
	return worker.End{Reason: healthcheck.Crashed, Detail: fmt.Sprintf("it says that it ended as %q, which can't be", end.Reason)}
}

// cameOnline takes note of a login that worked: the server is there, and the
// bot is ours.
func (k *keeper) cameOnline() {
	c := k.start.Credentials
	k.servers.connected(k.name, *k.start)
	k.history = k.history.Online(time.Now())
	k.logState()
	claim := profile.Claim{Path: k.reading.Home, Owner: k.reading.Owner, Server: c.Server, Bot: c.UserID, Generation: c.Generation}
	holder, others := k.registry.prove(k.name, claim)
	if holder != "" {
		k.other = holder
		k.unready(&Unready{Reason: healthcheck.Duplicate, Err: fmt.Errorf("its bot is run by %s", holder)})
		return
	}
	for _, name := range others {
		if o := k.keeper(name); o != nil {
			o.tell(func() { o.displaced(k.name, bot{c.Server, c.UserID}) })
		}
	}
	k.observe(true)
}

// displaced is told that another has proved to be this profile's bot.
func (k *keeper) displaced(by string, b bot) {
	c := k.start.Credentials
	if k.live == nil || (bot{c.Server, c.UserID}) != b {
		return
	}
	k.other = by
	k.unready(&Unready{Reason: healthcheck.Duplicate, Err: fmt.Errorf("its bot is run by %s", by)})
}

// away is the end of an attempt that was none: its server is known to be away.
var away = healthcheck.Ended{Reason: healthcheck.Unreachable, Common: true}

// ended asks what follows an end, of the profile and of its server.
func (k *keeper) ended(e healthcheck.Ended) {
	k.servers.dialed(k.name)
	if k.servers.turnedAway(k.name) {
		e = away
	}
	switch e.Reason {
	case healthcheck.Unreachable:
		k.servers.unreachable(k.name, *k.start)
	case healthcheck.Refused:
		var others []string
		e.Common, e.Limit, others = k.servers.refused(k.name, *k.start)
		for _, name := range others {
			if o := k.keeper(name); o != nil && o != k {
				o.tell(func() { o.decide(o.history.Doubted(e.Limit, time.Now())) })
			}
		}
	}
	k.decide(healthcheck.Next(k.history, e, time.Now(), k.config.Jitter))
}

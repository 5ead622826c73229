package healthcheck

import "time"

// An Ended is how a connection or a run ended, or what was found to keep a
// profile from running.
type Ended struct {
	Reason Reason
	Detail string // one sentence for people, without secrets or message text

	// Over: no run is left, or none came to be; without it only the connection
	// ended. Crashed, Busy, and Hung unless Stuck, say so by themselves.
	Over bool

	// Stuck: the run hangs and can't be killed, being goroutines of this
	// process. It is held until its end comes after all.
	Stuck bool

	// Limit is the time a rate-limited server named, 0 if it named none; of a
	// common refusal how long the server is doubted at most.
	Limit time.Duration

	// Common: not this profile's own experience but what its [Server] knows:
	// with Unreachable no dial was made, with Refused it is the server.
	Common bool
}

// over reports whether no run is left.
func (e Ended) over() bool {
	return e.Over || e.Reason == Crashed || e.Reason == Busy || (e.Reason == Hung && !e.Stuck)
}

// Next decides what follows an end. The rules, by reason:
//
//	silent deaf closed dropped   again: at once, then 1 2 5 10 30 60 s ±15 %, for ever
//	crashed hung                 likewise, with a new worker
//	unreachable                  waits for its server; see [Server]
//	busy                         the steps, never flapping
//	rate-limited                 after the time named, 1 s to 15 min; the steps if none was
//	refused                      the sealed file read again, at once; again: needs-token,
//	                             probed after 1, 2, 5 and then every 15 min
//	refused, common              backoff until another logs in, 15 min at most
//	unsealed, bad-config         needs-token, needs-config; a file frees it
//	the other holds              held; a verb or another profile frees it
//	gone                         leaves the list
//	operator, reload             as told, at once
//
// An end that can't be of the present run or connection changes nothing: it is
// a report that came late or twice. Whoever has run numbers still checks them
// first. A reason that isn't known counts as Dropped: a worker may report
// anything.
func Next(h History, e Ended, now time.Time, j Jitter) (Decision, History) {
	h = h.Settled(now)
	if !e.Reason.IsEnd() && !e.Reason.IsHold() {
		e.Reason = Dropped
	}
	if e.Reason.IsHold() {
		return h.found(e, now, j)
	}
	over := e.over()
	switch {
	case !h.Alive:
		return h.standing(now)
	case e.Reason == Hung && e.Stuck:
		return h.stuck(e, now)
	case h.State == Stopping || h.State == Held:
		if !over {
			return h.standing(now)
		}
		return h.ended(now, j)
	case h.State == Backoff || h.State == NeedsToken || h.State == NeedsConfig:
		if !over {
			return h.standing(now)
		}
		return h.lost(e, now, j)
	}
	online := h.State == Online
	h.Alive = !over
	h.Reason, h.LastEnd, h.Error = e.Reason, e.Reason, oneLine(e.Detail)
	if counts(e.Reason, online) {
		h = h.tallied(now)
	}
	return h.after(e, now, j)
}

// counts reports whether an end counts for flapping: those that followed
// online, and crashes, but not what nobody can call a fault of this profile.
func counts(r Reason, online bool) bool {
	switch r {
	case Unreachable, Busy, Operator, Reload:
		return false
	case Crashed:
		return true
	}
	return online
}

// after is the table: what follows the end of a connection that was there, or
// was being made.
func (h History) after(e Ended, now time.Time, j Jitter) (Decision, History) {
	h.Again = true
	switch e.Reason {
	case Operator, Reload:
		h = h.forgiven()
		h.Again = false
		return h.run(0, now)
	case Unreachable:
		return h.await(e, now, j)
	case Busy:
		d := h.steps(j)
		h.Streak++
		return h.run(d, now)
	case RateLimited:
		return h.limited(e, now, j)
	case Refused:
		return h.refused(e, now, j)
	default:
		d := h.pace(j)
		h.Streak++
		return h.run(d, now)
	}
}

// steps is the next wait of the streak.
func (h History) steps(j Jitter) time.Duration { return j.around(step(againSteps[:], h.Streak)) }

// pace is steps, or the pause of one that flaps.
func (h History) pace(j Jitter) time.Duration {
	if h.Flapping {
		return j.after(FlapPause)
	}
	return h.steps(j)
}

// await leaves the time to the server. A profile whose own dial failed though
// the server had answered the probe keeps a distance of its own, or it would
// dial as fast as probes are answered.
func (h History) await(e Ended, now time.Time, j Jitter) (Decision, History) {
	own := time.Duration(-1)
	if !e.Common {
		if d := j.around(step(missSteps[:], h.Misses)); d > 0 {
			own = d
		}
		h.Misses++
	}
	_, h = h.enter(Backoff, now).plan(Await, own, now)
	return Decision{Do: Await}, h
}

// limited waits as long as the server asked. The jitter only adds, and the
// bounds hold with it.
func (h History) limited(e Ended, now time.Time, j Jitter) (Decision, History) {
	d := max(h.steps(j), LeastLimit)
	if e.Limit > 0 {
		d = max(LeastLimit, e.Limit)
	}
	d = min(j.after(d), MostLimit)
	if h.Flapping {
		d = max(d, h.pace(j))
	}
	h.Streak++
	return h.run(d, now)
}

// refused reads the sealed file once more before a person is asked: it may
// have been replaced a moment ago, and servers refuse valid tokens now and
// then.
func (h History) refused(e Ended, now time.Time, j Jitter) (Decision, History) {
	h.Refusals++
	switch {
	case e.Common:
		return h.doubt(e.Limit, now)
	case h.Refusals > 1:
		return h.enter(NeedsToken, now).probe(now, j)
	}
	d := time.Duration(0)
	if h.Flapping {
		d = h.pace(j)
	}
	_, h = h.run(d, now)
	return h.plan(Reread, d, now)
}

// probe plans the next question whether the token is taken now.
func (h History) probe(now time.Time, j Jitter) (Decision, History) {
	d := j.after(step(tokenSteps[:], h.Probes))
	h.Probes++
	return h.plan(Probe, d, now)
}

// doubt waits because it is the server that refuses.
func (h History) doubt(limit time.Duration, now time.Time) (Decision, History) {
	if limit <= 0 || limit > DoubtLast {
		limit = DoubtLast
	}
	_, h = h.enter(Backoff, now).plan(Await, limit, now)
	return Decision{Do: Await}, h
}

// found stops a profile for what was found, whatever it was doing. One that is
// off, or will be, stays so: with another reason in its place, the file that
// mends what was found would start what a person stopped.
func (h History) found(e Ended, now time.Time, j Jitter) (Decision, History) {
	if e.over() && h.Alive {
		if h.State == Stopping || h.State == Held {
			var d Decision
			if d, h = h.ended(now, j); d.Do != Begin {
				return d, h
			}
		}
		h.Alive = false
	}
	if h.parked() && e.Reason != Gone && e.Reason != Suspended {
		return h.standing(now)
	}
	if e.Reason.IsEnd() {
		h.LastEnd = e.Reason
	}
	d, h := h.Stop(e.Reason, now)
	if h.Reason == e.Reason {
		h.Error = oneLine(e.Detail)
	}
	return d, h
}

// parked reports whether a person or a file wants h off.
func (h History) parked() bool {
	if !h.Alive {
		return h.State == Off
	}
	return (h.State == Stopping || h.State == Held) && h.Then != Begin && (h.Goal == Operator || h.Goal == Reload)
}

// stuck holds a profile whose run hangs where nothing can kill it: a second
// one beside it would answer twice.
func (h History) stuck(e Ended, now time.Time) (Decision, History) {
	if h.State != Stopping && h.State != Held {
		h.Then, h.Goal, h.Again, h.Owed = Begin, "", true, h.left(now)
		switch h.State {
		case NeedsToken:
			h.Goal = h.Reason
		case Online:
			h = h.tallied(now)
		}
	}
	h.Reason, h.LastEnd, h.Error = Hung, Hung, oneLine(e.Detail)
	return h.enter(Held, now).plan(Rest, -1, now)
}

// ended goes on as told once the run is over, however it ended: a stop that
// failed is a stop.
func (h History) ended(now time.Time, j Jitter) (Decision, History) {
	h.Alive = false
	then, goal := h.Then, h.Goal
	h.Then, h.Goal = Rest, ""
	switch {
	case then != Begin:
		return h.rest(goal, now)
	case h.State == Held && h.Again:
		return h.unstuck(goal, now, j)
	}
	return h.run(0, now)
}

// unstuck goes on with what hung of itself and is over of itself: as after any
// hung run, but with what it was waiting for still to be waited for.
func (h History) unstuck(goal Reason, now time.Time, j Jitter) (Decision, History) {
	pace := h.pace(j)
	h.Streak++
	if goal == Refused {
		h.Reason, h.LastEnd = Refused, Refused
		return h.enter(NeedsToken, now).probe(now, j)
	}
	owed := remaining(h.Since.Add(h.Owed), now, h.Owed)
	return h.run(max(owed, pace), now)
}

// lost is a worker that died while it had no connection. What was being waited
// for stays; only if that was no more than time, the crash may add to it.
func (h History) lost(e Ended, now time.Time, j Jitter) (Decision, History) {
	h.Alive = false
	switch e.Reason {
	case Operator, Reload:
		h.LastEnd = e.Reason
		return h.forgiven().anew(now)
	case Crashed:
		h = h.tallied(now)
	}
	pace := h.pace(j)
	h.Streak++
	if h.State != Backoff || h.Plan == Await || h.Reason == RateLimited {
		if h.Plan == Dial || h.Plan == Reread {
			h.Plan = Begin
		}
		return h.standing(now)
	}
	h.Reason, h.LastEnd, h.Error = e.Reason, e.Reason, oneLine(e.Detail)
	return h.run(max(h.left(now), pace), now)
}

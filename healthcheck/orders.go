package healthcheck

import "time"

// Start is a person's start, or the first one of a supervisor: call it only
// for a profile that [Runs]. Everything is forgiven and the profile goes at
// once, from wherever it waits; one that runs goes on, and one that is
// stopping starts when its run is over. What held it is looked at again by
// whoever carries out Begin. It never frees a suspended profile, which
// [History.Resume] does, nor one whose home is gone: if that comes back, it is
// a new profile.
func (h History) Start(now time.Time) (Decision, History) {
	h = h.Settled(now).forgiven()
	switch h.State {
	case Starting, Connecting, Online:
		return h.standing(now)
	case Stopping, Held, Off:
		if w := h.waitsFor(); w == Suspended || w == Gone {
			return h.standing(now)
		}
	}
	return h.anew(now)
}

// Resume frees a suspended profile; of any other it is Start. If it does not
// [Runs] even so, Stop comes right after.
func (h History) Resume(now time.Time) (Decision, History) {
	if h.waitsFor() == Suspended {
		return h.forgiven().anew(now)
	}
	return h.Start(now)
}

// Restart ends the run and starts another; of a profile without a run it is
// Start.
func (h History) Restart(now time.Time) (Decision, History) {
	if !h.Alive || h.State == Stopping || h.State == Held {
		return h.Start(now)
	}
	return h.forgiven().halt(Operator, Begin, now)
}

// Stop ends the run, if there is one, and rests for reason r: Operator, Reload
// (the file says enabled: false), or whatever holds a profile. It takes back a
// restart that is under way. A suspended profile stays suspended, unless it is
// gone.
func (h History) Stop(r Reason, now time.Time) (Decision, History) {
	h = h.Settled(now)
	if r == Operator || r == Reload {
		h = h.forgiven()
	}
	then := Rest
	if r == Gone {
		then = Leave
	}
	switch was := h.waitsFor(); {
	case was == Gone, was == Suspended && r != Gone:
		return h.standing(now)
	case !h.Alive:
		return h.rest(r, now)
	case h.State == Held: // stuck: said already, and nothing more can be done
		h.Then, h.Goal = then, r
		return h.standing(now)
	}
	return h.halt(r, then, now)
}

// halt ends the run for reason r.
func (h History) halt(r Reason, then Do, now time.Time) (Decision, History) {
	h.Reason, h.Error, h.Then, h.Goal, h.Again = r, "", then, r, false
	if r.IsEnd() {
		h.LastEnd = r
	}
	return h.enter(Stopping, now).plan(Halt, -1, now)
}

// Changed is a file of the profile, or the host's identity, that is another
// than before; what it means for a run is the caller's to say. Everything is
// forgiven. A profile that waits for a file, or for the next of its steps, goes
// at once. What a server asked for, a person, and a run that hangs are not
// hurried by a file.
func (h History) Changed(now time.Time) (Decision, History) {
	h = h.Settled(now).forgiven()
	switch h.State {
	case NeedsToken, NeedsConfig:
		return h.anew(now)
	case Backoff:
		if h.Reason != Unreachable && h.Reason != RateLimited {
			return h.anew(now)
		}
	case Held, Stopping:
		if h.waitsFor().freedByFile() {
			return h.anew(now)
		}
	}
	return h.standing(now)
}

// waitsFor is why a profile that is held, or that will rest once its run is
// over, does not run; "" if it is to run.
func (h History) waitsFor() Reason {
	switch {
	case !h.Alive:
		return h.Reason
	case h.Then == Begin:
		return ""
	}
	return h.Goal
}

// freedByFile reports whether a changed file is reason enough to look at a
// profile again that does not run because of r.
func (r Reason) freedByFile() bool {
	switch r {
	case Unsealed, BadConfig, Identity, Duplicate, Moved, Rebound, RolledBack:
		return true
	}
	return false
}

// Freed says that the other profile which held this one's bot has let go of
// it, or that the verb which frees it was spoken: held profiles for reason r
// start, others go on.
func (h History) Freed(r Reason, now time.Time) (Decision, History) {
	h = h.Settled(now)
	if (h.State != Held && h.State != Stopping) || h.waitsFor() != r {
		return h.standing(now)
	}
	return h.anew(now)
}

// anew goes at once, because somebody asked for it, or as soon as the run that
// is being ended, or hangs, is over.
func (h History) anew(now time.Time) (Decision, History) {
	h.Again = false
	if h.Alive && (h.State == Stopping || h.State == Held) {
		h.Then, h.Goal = Begin, ""
		return h.standing(now)
	}
	return h.run(0, now)
}

// Released says that the [Server] lets this profile try again.
func (h History) Released(now time.Time) (Decision, History) {
	if h.State != Backoff || h.Plan != Await {
		return h.standing(now)
	}
	d := time.Duration(0)
	if h.Reason == Unreachable {
		d = h.left(now)
	}
	h.Again = true
	return h.run(d, now)
}

// Doubted says that this profile's server refuses several: from needs-token it
// goes to backoff, and its server releases it, after limit at most.
func (h History) Doubted(limit time.Duration, now time.Time) (Decision, History) {
	if h.State != NeedsToken || h.Reason != Refused {
		return h.standing(now)
	}
	h.Again = true
	return h.doubt(limit, now)
}

// An Answer to a probe of the token.
type Answer int

// The answers.
const (
	Unsure Answer = iota // none, or one that says nothing of the token
	Taken                // the server takes the token
	Denied               // it refuses it still
)

// Probed is the answer to a probe. Taken, the profile connects at once; any
// other answer leaves the next probe as it is planned.
func (h History) Probed(a Answer, now time.Time) (Decision, History) {
	if a != Taken || h.State != NeedsToken || h.Reason != Refused {
		return h.standing(now)
	}
	h.Again = true
	h.Probes = max(0, h.Probes-1) // the one planned next isn't needed
	d := time.Duration(0)
	if h.Flapping { // a server that takes and refuses in turn
		d = max(d, FlapPause-now.Sub(h.Since))
	}
	return h.run(min(d, FlapPause), now)
}

package healthcheck

import "slices"

// A State of a profile, as status shows it.
type State string

// The states.
const (
	Off         State = "off"
	Starting    State = "starting"
	Connecting  State = "connecting"
	Online      State = "online"
	Backoff     State = "backoff"
	NeedsToken  State = "needs-token"
	NeedsConfig State = "needs-config"
	Held        State = "held"
	Stopping    State = "stopping"
)

// States returns every state, in the order a profile usually meets them.
func States() []State {
	return []State{Off, Starting, Connecting, Online, Backoff, NeedsToken, NeedsConfig, Held, Stopping}
}

// A Reason says why a profile is in its state: how its connection or its
// worker ended, or what keeps it from running.
type Reason string

// The reasons a connection ends with. It costs the socket alone.
const (
	Silent      Reason = "silent"       // no frame for health.silence
	Deaf        Reason = "deaf"         // frames, but not the messages
	Closed      Reason = "closed"       // the server closed it, with or without a close frame
	Dropped     Reason = "dropped"      // a protocol error, nosub, or a deadline after `connected`
	Unreachable Reason = "unreachable"  // no answer before `connected`
	RateLimited Reason = "rate-limited" // the server asked for time
	Refused     Reason = "refused"      // login 403 or REST 401, confirmed by /api/v1/me
	Identity    Reason = "identity"     // the token belongs to another user than the sealed one
)

// The reasons a worker, and with it the run, ends with.
const (
	Crashed Reason = "crashed"
	Hung    Reason = "hung"
	Busy    Reason = "busy" // the home's lock is held
)

// The reasons a profile does not run.
const (
	Unsealed   Reason = "unsealed" // envelope missing, damaged or foreign, or no identity
	BadConfig  Reason = "bad-config"
	Duplicate  Reason = "duplicate" // another profile has this bot
	Moved      Reason = "moved"
	Rebound    Reason = "rebound"
	RolledBack Reason = "rolled-back"
	Suspended  Reason = "suspended"
	Gone       Reason = "gone"
	NameTaken  Reason = "name-taken"
	LedgerLost Reason = "ledger-lost"
	Operator   Reason = "operator" // told so by a person
	Reload     Reason = "reload"   // told so by a changed file
)

// ends are the reasons that a connection or a run ends with; for a profile
// that runs again, the last of them is its reason.
var ends = []Reason{
	Silent, Deaf, Closed, Dropped, Unreachable, RateLimited, Refused, Identity,
	Crashed, Hung, Busy, Operator, Reload,
}

// holds are the reasons that keep a profile from running until something that
// is not a clock frees it.
var holds = []Reason{
	Identity, Unsealed, BadConfig, Duplicate, Moved, Rebound, RolledBack,
	Suspended, Gone, NameTaken, LedgerLost,
}

// Reasons returns every reason once: first the ends, then what keeps a profile
// from running.
func Reasons() []Reason {
	all := slices.Clone(ends)
	for _, r := range holds {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// IsEnd reports whether a connection or a run can end with r.
func (r Reason) IsEnd() bool { return slices.Contains(ends, r) }

// IsHold reports whether r keeps a profile from running until a file, a
// person or another profile frees it.
func (r Reason) IsHold() bool { return slices.Contains(holds, r) }

// rests is the state in which a profile waits that does not run because of r.
func (r Reason) rests() State {
	switch r {
	case Operator, Reload, Gone, "":
		return Off
	case Unsealed, Refused:
		return NeedsToken
	case BadConfig:
		return NeedsConfig
	default:
		return Held
	}
}

package healthcheck

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// A Do is what the supervisor is to do next for one profile.
type Do string

// What there is to do. Begin, Dial, Reread and Probe are carried out when
// their time has come, and [History.Began] is called as they are.
const (
	Rest   Do = ""       // nothing: a file, a person or another profile comes first
	Begin  Do = "begin"  // read the home from the start and make a worker
	Dial   Do = "dial"   // the worker lives: let it make its next connection
	Reread Do = "reread" // read the sealed file again, hand it over, then as Dial (or Begin without a worker)
	Probe  Do = "probe"  // ask the server whether it takes the token now; the answer goes to [History.Probed]
	Await  Do = "await"  // the [Server] says when, with [History.Released]
	Halt   Do = "halt"   // end the run at once; that it is over is told to [Next]
	Leave  Do = "leave"  // off the list; the ledger keeps its entry
)

// A Decision is what to do and how long to wait before it. After is 0 for at
// once and for what no clock decides. A new decision takes the place of the
// one before: there is one timer to a profile.
type Decision struct {
	Do    Do
	After time.Duration
}

// A History is all that the rules remember of one profile: its state and why,
// what is planned, and the counts behind that. It is a plain value without
// pointers: copying it is a snapshot, and its JSON is for people who debug. It
// belongs to the goroutine that owns the profile and does not outlive the
// supervisor.
type History struct {
	State  State     `json:"state"`
	Reason Reason    `json:"reason,omitempty"` // of one that runs: how it last ended, "" before the first
	Error  string    `json:"error,omitempty"`  // one sentence of whoever reported the reason, cut to a line
	Since  time.Time `json:"since,omitzero"`   // when State began

	Plan    Do            `json:"plan,omitempty"`
	RetryAt time.Time     `json:"retry_at,omitzero"` // when Plan is due; zero when no clock decides
	Wait    time.Duration `json:"wait,omitempty"`    // how long RetryAt was away when it was decided

	Alive    bool          `json:"alive"`              // a worker lives, or is being made or ended
	Then     Do            `json:"then,omitempty"`     // Stopping or stuck: what comes after the run's end
	Goal     Reason        `json:"goal,omitempty"`     // and why, if that is to rest
	Owed     time.Duration `json:"owed,omitempty"`     // stuck: what was left to wait when that began
	LastEnd  Reason        `json:"last_end,omitempty"` // how it last ended
	OnlineAt time.Time     `json:"online_at,omitzero"` // zero unless online

	Restarts uint64 `json:"restarts"` // connections and workers made again, save those a person or a file asked for
	Again    bool   `json:"again"`    // what is planned counts among them

	Streak   int                     `json:"streak"`   // ends since the last steady connection
	Misses   int                     `json:"misses"`   // dials of its own that found no server, likewise
	Refusals int                     `json:"refusals"` // likewise
	Probes   int                     `json:"probes"`   // likewise
	Flapping bool                    `json:"flapping"`
	Tally    [FlapEnds + 1]time.Time `json:"tally"` // the last ends that count for flapping, oldest first
}

// New is the history of a profile that was never seen: off, for no reason yet.
func New(now time.Time) History { return History{State: Off, Since: now} }

// Settled is h with what is over forgotten: streak and flapping end once a
// connection has been online for [Steady]. Status shows it, and every rule
// begins with it, so that calling it more often changes nothing.
func (h History) Settled(now time.Time) History {
	if h.State != Online || now.Sub(h.OnlineAt) < Steady {
		return h
	}
	if h.Flapping {
		h.Flapping, h.Tally = false, [len(h.Tally)]time.Time{}
	}
	h.Streak, h.Misses, h.Refusals, h.Probes = 0, 0, 0, 0
	return h
}

// forgiven is h as if nothing had gone wrong: a person or a changed file gives
// a profile a fresh start.
func (h History) forgiven() History {
	h.Streak, h.Misses, h.Refusals, h.Probes = 0, 0, 0, 0
	h.Flapping, h.Tally = false, [len(h.Tally)]time.Time{}
	return h
}

// tallied is h with an end at now counted for flapping. Ends that seem to lie
// in the future, after a clock was set back, count: too slow is the safe side.
func (h History) tallied(now time.Time) History {
	copy(h.Tally[:], h.Tally[1:])
	h.Tally[len(h.Tally)-1] = now
	if first := h.Tally[0]; !first.IsZero() && now.Sub(first) < FlapWindow {
		h.Flapping = true
	}
	return h
}

// enter changes the state; since is when that last happened.
func (h History) enter(s State, now time.Time) History {
	if h.State != s {
		h.State, h.Since = s, now
	}
	if s != Online {
		h.OnlineAt = time.Time{}
	}
	return h
}

// plan decides what comes next, after d; d < 0 means that no clock decides.
func (h History) plan(do Do, d time.Duration, now time.Time) (Decision, History) {
	h.Plan, h.Wait, h.RetryAt = do, max(0, d), time.Time{}
	if d >= 0 && do != Halt && do != Leave {
		h.RetryAt = now.Add(d)
	}
	return Decision{Do: do, After: h.Wait}, h
}

// standing is the decision that holds already, with what is left of its wait.
func (h History) standing(now time.Time) (Decision, History) {
	if h.RetryAt.IsZero() {
		return Decision{Do: h.Plan}, h
	}
	return Decision{Do: h.Plan, After: h.left(now)}, h
}

// left is what is left of the planned wait.
func (h History) left(now time.Time) time.Duration {
	if h.RetryAt.IsZero() {
		return 0
	}
	return remaining(h.RetryAt, now, h.Wait)
}

// run plans the next connection after d: of the worker that lives, or of one
// yet to be made. At once it is shown as under way, else as a back-off.
func (h History) run(d time.Duration, now time.Time) (Decision, History) {
	do, s := Begin, Starting
	if h.Alive {
		do, s = Dial, Connecting
	}
	if d > 0 {
		s = Backoff
	} else if h.Reason != h.LastEnd { // what held it is over
		h.Reason, h.Error = h.LastEnd, ""
	}
	return h.enter(s, now).plan(do, d, now)
}

// rest puts a profile without a run into the state that r gives it.
func (h History) rest(r Reason, now time.Time) (Decision, History) {
	h = h.enter(r.rests(), now)
	if h.Reason != r {
		h.Reason, h.Error = r, ""
	}
	h.Then, h.Goal, h.Again = Rest, "", false
	if r == Gone {
		return h.plan(Leave, -1, now)
	}
	return h.plan(Rest, -1, now)
}

// Began says that the planned Begin, Dial, Reread or Probe is being carried
// out: call it when the decision's time has come, before doing it. With
// nothing of the kind planned h comes back as it was, and nothing is to be
// done. A probe whose answer never comes is followed by the next one.
func (h History) Began(now time.Time, j Jitter) History {
	switch h.Plan {
	case Begin, Dial, Reread:
	case Probe:
		_, h = h.probe(now, j)
		return h
	default:
		return h
	}
	if h.Again {
		h.Again = false
		h.Restarts++
	}
	s := Connecting
	if !h.Alive {
		s = Starting
	}
	h.Alive = true
	_, h = h.enter(s, now).plan(Rest, -1, now)
	return h
}

// Dialing says that a starting worker has come to its first connection.
func (h History) Dialing(now time.Time) History {
	if h.State != Starting || !h.Alive {
		return h
	}
	return h.enter(Connecting, now)
}

// Online says that the connection is ready and hears messages. Of a profile
// that isn't connecting (a report that came late) nothing changes.
func (h History) Online(now time.Time) History {
	if !h.Alive || (h.State != Starting && h.State != Connecting) {
		return h
	}
	h = h.enter(Online, now)
	h.OnlineAt, h.Error = now, ""
	return h
}

// maxError bounds the sentence a reason carries, in bytes.
const maxError = 300

// oneLine is s as one line fit to be shown: what a server or a file said may hold
// anything.
func oneLine(s string) string {
	if len(s) <= maxError && plain(s) {
		return s
	}
	b := make([]byte, 0, maxError)
	for _, r := range s {
		if !unicode.IsPrint(r) { // also bidi and zero-width characters, and the line separators
			r = ' '
		}
		if len(b)+utf8.RuneLen(r) > maxError-len("…") {
			return string(b) + "…"
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// plain reports whether s is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

package channel

import (
	"context"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Link is a channel's only way to its supervisor. No method waits for the
// other side to read, save where it has to be answered: Allow, Spawn and Ask
// return when the supervisor has said so or ctx is done.
type Link interface {
	Report(Report)            // state and counters: the latest wins
	Log(Record)               // bounded; beyond it dropped, with a count
	Commands() <-chan Command // closed when the supervisor is gone
	Allow(context.Context, Permit) error
	Spawn(context.Context, agent.Spec) (agent.Process, error)
	Ask(context.Context, Request) (Reply, error)
}

// Start is what a channel is given when its life begins.
type Start struct {
	Profile     string
	Home        string // absolute
	Run         uint64 // the run's number; every report carries it
	Settings    profile.Settings
	Access      profile.Access
	Credentials sealed.Credentials
	Siblings    []string // user ids of this supervisor's other bots on the same server
	CA          []byte   // the content of tls.ca_file, nil without one
}

// A Command from the supervisor to a channel: Connect, Apply, Drain, Stop, Rest
// or Beat.
type Command interface{ command() }

// Connect makes the next connection. Its number is greater than that of any
// before it in this run.
type Connect struct{ Number uint64 }

// Apply takes new settings, access or credentials of the same bot into use.
// What a change means for a running connection or agent is the caller's to
// say: Reconnect ends the connection with reason reload.
type Apply struct {
	Settings    profile.Settings
	Access      profile.Access
	Credentials sealed.Credentials
	Siblings    []string
	CA          []byte
	Reconnect   bool
}

// Drain takes nothing more in. Running turns go on and owed answers are posted
// until the deadline; then the run ends.
type Drain struct{ Deadline time.Time }

// Stop ends the run: turns are cancelled, what is owed stays owed.
type Stop struct{}

// Rest ends the agent's process if it answers nothing now: another profile of
// this host needs its place.
type Rest struct{}

// Beat asks for a report, whatever has changed: a channel that takes no command
// hangs.
type Beat struct{}

func (Beat) command()    {}
func (Rest) command()    {}
func (Connect) command() {}
func (Apply) command()   {}
func (Drain) command()   {}
func (Stop) command()    {}

// A Report is the whole state of a channel at one moment. An end of a
// connection can't be lost though the latest report wins: it stays in the
// reports until the next Connect.
type Report struct {
	Run          uint64
	Connection   uint64 // the number of the last Connect, 0 before the first
	Phase        Phase
	End          *End      // how that connection ended, nil while it lives
	OnlineSince  time.Time // zero unless online
	LastFrame    time.Time // our clock; zero before the first frame
	TokenChecked time.Time // when the server last proved the token
	Username     string
	CatchingUp   bool
	Agent        agent.State
	Counters     Counters
	Warnings     []healthcheck.Warning
}

// A Phase of a channel's connection.
type Phase string

// The phases.
const (
	Waiting    Phase = "waiting" // no connection, until the next Connect
	Connecting Phase = "connecting"
	Online     Phase = "online"
	Draining   Phase = "draining"
)

// An End is how a connection ended. Detail is one sentence for people, without
// secrets or message text. RetryAfter is what a rate-limited server asked for.
type End struct {
	Reason     healthcheck.Reason
	Detail     string
	RetryAfter time.Duration
	At         time.Time
	WasOnline  bool
}

// Counters count since the run began. Ignored is by the name of the gate's
// step.
type Counters struct {
	Received    uint64            `json:"received"`
	Ignored     map[string]uint64 `json:"ignored"`
	Claimed     uint64            `json:"claimed"`
	Answered    uint64            `json:"answered"`
	Interrupted uint64            `json:"interrupted"`
	Duplicates  uint64            `json:"duplicates"`
	CaughtUp    uint64            `json:"caught_up"`
	Missed      uint64            `json:"missed"`
	Late        uint64            `json:"late"`
	Misrouted   uint64            `json:"misrouted"`
	Prevented   uint64            `json:"prevented"`
	Failed      uint64            `json:"failed"`
}

// A Record is one line of a profile's log: ids, never message text, names or
// file names below debug.
type Record struct {
	Time    time.Time
	Level   int // slog's
	Message string
	Attrs   map[string]string
}

// A Permit names what a host-wide budget is asked for. Allow returns when it
// may go on, or with ctx's error.
type Permit struct {
	Kind  string
	Route string        // of PermitREST and PermitLimited: the route the server counts by
	For   time.Duration // of PermitLimited: the time it asked for
}

// The kinds of permits.
const (
	PermitDial = "dial" // one attempt to connect, until it is online or has ended
	PermitREST = "rest" // one call of a route
	// PermitLimited asks for nothing: it says that the server limits a route,
	// which then is everybody's to leave alone. It is answered at once.
	PermitLimited = "limited"
	PermitCheck   = "check" // asking whether the token is good, which servers count closely
	PermitAgent   = "agent" // a process of an agent, until PermitAgentOver or the end of the run
	// PermitAgentOver gives the place of a PermitAgent back. It is always
	// allowed, and at once.
	PermitAgentOver = "agent-over"
)

// A Request is what only the supervisor may write down.
type Request struct {
	Kind string // request: a stranger asks to be let in; code: somebody proved the owner's code
	User string
	Name string
	Code string
}

// A Reply to a Request.
type Reply struct {
	OK   bool
	Text string
}

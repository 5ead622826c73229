package agent

import (
	"context"
	"time"
)

// An Agent answers questions. It belongs to one profile and may run several
// turns at once, one in each conversation.
type Agent interface {
	// Begin gives a question. ctx bounds the start of the turn alone: a turn
	// that has begun goes on until its Done, or until Cancel.
	Begin(ctx context.Context, q Question) (Turn, error)
	// State is what status shows.
	State() State
	// Close ends all turns and whatever the agent runs, within ctx.
	Close(ctx context.Context) error
}

// A Turn is one question being answered. Events ends with exactly one Done,
// also after Cancel and after the process died; then it is closed.
type Turn interface {
	Events() <-chan Event
	// Answer decides a question the agent has asked with an Asked event.
	Answer(question, option string) error
	Cancel()
}

// A Question is what an agent is given. Prompt is the whole of what it is
// shown; the rest tells a program the same without parsing.
type Question struct {
	Profile      string
	Conversation string // stable: the same room and thread, the same string
	Room         Room
	Sender       Sender
	Message      Message
	Prompt       string
	Asker        string // the bare asker token, "" without keys.asker
	Files        []File
	Bare         bool // an owner's command: Prompt is it, without header or context
}

// A Room as an agent is told of it. Kind is direct, group or channel.
type Room struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// A Sender as an agent is told of him. Role is owner or member.
type Sender struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Name     string `json:"name"`
	Role     string `json:"role"`
}

// A Message as an agent is told of it: Text without the mention, TS in RFC 3339.
type Message struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	TS     string `json:"ts"`
	Thread string `json:"thread"`
}

// A File that came with a question, at a path the agent can read until its
// turn ends.
type File struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// A Renewer can begin a conversation anew: what was said in it before is no
// longer known to the agent. It is for a conversation without a running turn.
type Renewer interface {
	Renew(conversation string)
}

// A Rester has a process that can end while it answers nothing, and starts it
// again with the next question. Rest reports whether one was ended.
type Rester interface {
	Rest() bool
}

// An Event of a turn: Text, Notice, Progress, Asked, Withdrawn, FileOut or Done.
type Event interface{ event() }

// Text is a piece of the answer; the pieces are joined as they come.
type Text struct{ Chunk string }

// Notice is a sentence of ours that the room has to be told beside the answer,
// such as that an earlier conversation is lost. It never quotes anybody.
type Notice struct{ Text string }

// Progress says what the agent is doing, in a few words.
type Progress struct{ Title string }

// Asked is a request that a person has to decide before the turn goes on.
// Answer decides it; what nobody decides is answered with the option "", which
// refuses. ID is unique within its turn.
type Asked struct {
	ID    string
	Title string // what will be done, whole, never cut
	// Body is exactly what will run: the command, the change, the arguments.
	// Whole, never cut, many lines; "" where the title says it all.
	Body    string
	Options []Option
	// Plain marks a question of the agent's own: its options are answers, and
	// none of them allows anything.
	Plain bool
	// Until is when the agent stops waiting by itself, without a word; the zero
	// time where that is not known.
	Until time.Time
}

// Withdrawn says that the agent no longer waits for the answer to an Asked. The
// end of a turn withdraws all of its requests without saying so.
type Withdrawn struct{ ID string }

// An Option of an Asked. Kind is allow_once, allow_always, reject_once,
// reject_always, or "" for a plain choice.
type Option struct {
	ID, Name, Kind string
}

// FileOut is a file of the agent's own workspace that belongs to the answer.
// Dir is that workspace. The agent may change what lies there at any moment: it
// is read with [OpenOut] alone.
type FileOut struct{ Path, Dir string }

// Done ends a turn. Err is nil for an answer, even an empty one. [Sentence]
// says of an Err what its asker may be told.
type Done struct {
	Stop Stop
	Err  error
}

// A Stop is why a turn ended.
type Stop string

// The ways a turn ends.
const (
	Ended     Stop = "ended"
	Cancelled Stop = "cancelled"
	Refused   Stop = "refused"
	Failed    Stop = "failed"
)

func (Text) event()      {}
func (Notice) event()    {}
func (Progress) event()  {}
func (Asked) event()     {}
func (Withdrawn) event() {}
func (FileOut) event()   {}
func (Done) event()      {}

// A State is what status says of an agent. Error is one sentence without
// secrets or anybody's text. Failures counts those since it last answered; from
// five on it is worth a warning.
type State struct {
	Kind     string    `json:"kind"`
	State    string    `json:"state"` // idle, starting, ready, failing
	Error    string    `json:"error,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Failures int       `json:"-"`
}

// The states of an agent.
const (
	Idle     = "idle"     // nothing runs; the next question starts it
	Starting = "starting" // a question waits for it
	Ready    = "ready"
	Failing  = "failing" // it did not start, or ended by itself
)

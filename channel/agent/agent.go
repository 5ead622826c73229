package agent

import "context"

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

// An Event of a turn: Text, Progress, Asked, FileOut or Done.
type Event interface{ event() }

// Text is a piece of the answer; the pieces are joined as they come.
type Text struct{ Chunk string }

// Progress says what the agent is doing, in a few words.
type Progress struct{ Title string }

// Asked is a request that a person has to decide before the turn goes on.
type Asked struct {
	ID      string
	Title   string // what will be done, whole, never cut
	Options []Option
}

// An Option of an Asked. Kind is allow_once, allow_always, reject_once,
// reject_always, or "" for a plain choice.
type Option struct {
	ID, Name, Kind string
}

// FileOut is a file of the agent's own workspace that belongs to the answer.
type FileOut struct{ Path string }

// Done ends a turn. Err is nil for an answer, even an empty one.
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

func (Text) event()     {}
func (Progress) event() {}
func (Asked) event()    {}
func (FileOut) event()  {}
func (Done) event()     {}

// A State is what status says of an agent.
type State struct {
	Kind  string `json:"kind"`
	State string `json:"state"` // idle, starting, ready, failing
	Error string `json:"error,omitempty"`
}

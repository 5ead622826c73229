package dedup

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Store remembers what was heard and what is owed. Each step is on disk when
// its method returns nil. All methods may be called from any goroutine; steps
// of different questions taken at the same time share one commit.
type Store interface {
	// Claim takes a question that nobody has taken before. fresh is false for
	// one that is known in any state. With an error nothing is claimed: the
	// caller takes nothing in and asks again later.
	Claim(ctx context.Context, q Question) (fresh bool, err error)
	// Give marks a claimed question as about to be shown to an agent. From
	// here on it is never run again.
	Give(ctx context.Context, id ID) error
	// Answer stores all parts of what is owed for a question, and marks it
	// answered, in one transaction. No parts is a silent answer: the question
	// is done at once.
	Answer(ctx context.Context, id ID, parts []Part) error
	// Settle records how one part ended. The last one makes the question done
	// and removes its parts, texts included.
	Settle(ctx context.Context, id ID, index int, o Outcome) error
	// Open yields what a start has to finish, oldest first: every question
	// that is not done, with its unsettled parts. After an error the sequence
	// ends.
	Open(ctx context.Context) iter.Seq2[Question, error]
	// Cursor returns the server time up to which a room's messages are
	// settled. Advance moves it, never backwards, and may keep it in memory
	// for up to 5 s or until the next claim. The room "" stands for the
	// profile: the last server time at which it was online.
	Cursor(room string) (time.Time, bool)
	Advance(room string, ts time.Time)
	// Close writes what Advance kept and ends the store.
	Close() error
}

// An ID names a question. At is the message's own server time, which never
// changes; it decides in which day's slot the record lies.
type ID struct {
	Message string
	At      time.Time
}

// A State of a question. The zero State is no state.
type State uint8

// The states, in the only order in which they follow each other.
const (
	Claimed  State = iota + 1 // heard, and ours to answer
	Given                     // about to be shown to an agent, or already shown
	Answered                  // the answer is stored, parts of it may still be owed
	Done                      // nothing is owed
)

func (s State) String() string {
	switch s {
	case Claimed:
		return "claimed"
	case Given:
		return "given"
	case Answered:
		return "answered"
	case Done:
		return "done"
	}
	return "unknown"
}

// A Question is what is known of one message that is ours to answer. It never
// holds the message's text.
type Question struct {
	ID      ID
	State   State
	Room    string
	Thread  string    // the thread it was asked in, "" outside threads
	Asker   string    // user id
	Claimed time.Time // our clock
	Parts   []Part    // what is still owed, in order
}

// A Part is one message, or one file, that is owed for a question. Its index
// and step give it the same derived message id each time it is posted.
type Part struct {
	Question ID
	Index    int
	Step     string // "answer", "note": what the part is of
	Room     string
	Thread   string // the thread to post it in
	Text     string
	File     string    // path of a file that is sent instead of the text
	Upload   string    // the server's id of the file once uploaded
	Owed     time.Time // since when, our clock
}

// An Outcome says how a part ended. Reason is a stable word for counters
// ("late", "prevented", "misrouted"), "" for one that was posted.
type Outcome struct {
	MessageID string
	Reason    string
}

// Posted reports whether the part is in its room.
func (o Outcome) Posted() bool { return o.Reason == "" }

// What a Store's methods can fail with, for callers that decide on it. A store
// that can't be written to is still connected; it takes nothing in.
var (
	ErrUnknown  = errors.New("no such question")
	ErrOrder    = errors.New("step out of order")
	ErrDamaged  = errors.New("the state file is damaged")
	ErrReadOnly = errors.New("the state file can't be written")
	ErrLocked   = errors.New("the state file is in use by another process")
	ErrClosed   = errors.New("the store is closed")
)

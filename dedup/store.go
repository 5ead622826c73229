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
//
// A step whose caller leaves (its ctx ends first, the error is ctx's), or that
// ends with an error from the disk, may or may not have happened. It is always
// right to take it again with the same arguments: if it had happened, the
// repeat is told so as if it were the first (Claim: fresh), once, because
// nobody else was. That holds while the process lives; after it, [Store.Open]
// says where each question stands.
type Store interface {
	// Claim takes a question that nobody has taken before. fresh is false for
	// one that is known in any state. With an error nothing is claimed for
	// the caller: he takes nothing in and asks again later. The question's
	// State and Parts are not looked at; a zero Claimed is filled in.
	Claim(ctx context.Context, q Question) (fresh bool, err error)
	// Give marks a claimed question as about to be shown to an agent. From
	// here on it is never run again: a second Give is ErrOrder.
	Give(ctx context.Context, id ID) error
	// Answer stores all parts of what is owed for a question, and marks it
	// answered, in one transaction. No parts is a silent answer: the question
	// is done at once. A claimed question may be answered without having been
	// given (a refusal, a command's reply, a message that is gone); a second
	// Answer is ErrOrder. A part's Question and Index are those of its place;
	// a zero Owed is filled in.
	Answer(ctx context.Context, id ID, parts []Part) error
	// Upload stores the server's id of a part's file, before the message that
	// shows it is asked for: after a lost reply it tells whether it was.
	Upload(ctx context.Context, id ID, index int, file string) error
	// Settle records that one part ended, however it did. The last one makes
	// the question done and removes its parts, texts included. Settling a
	// part again changes nothing and is no error.
	Settle(ctx context.Context, id ID, index int, o Outcome) error
	// Known returns in which state a question is, and false for one that is
	// not known (or no longer: records are kept for 72 h). It reads memory
	// alone and works whatever became of the disk.
	Known(id ID) (State, bool)
	// Open yields what a start has to finish, oldest first by the messages'
	// own time: every question that is not done, with its unsettled parts. It
	// holds nothing while the caller works, and steps may be taken meanwhile.
	// After an error the sequence ends.
	Open(ctx context.Context) iter.Seq2[Question, error]
	// Cursor returns the server time up to which a room's messages are
	// settled. Advance moves it, never backwards, and may keep it in memory
	// for up to 5 s or until the next step is written. The room "" stands for
	// the profile: the last server time at which it was online. No room's name
	// begins with a space either: such are the caller's own, for other moments.
	// The first time of "" and of each of those is on disk when Advance returns,
	// if the disk allows: a profile that forgot it would not look for what was
	// said since. At most 4096 names but "" have one; the oldest is forgotten
	// for the next.
	Cursor(room string) (time.Time, bool)
	Advance(room string, ts time.Time)
	// Close writes what Advance kept and ends the store.
	Close() error
}

// A Mender is what whoever runs a [DB] asks of it beside a [Store]'s steps, to
// tell a person what became of the file, and to mend it. [Memory] is one too.
type Mender interface {
	// Trouble returns nil when steps can be taken, as far as is known, and
	// else what the last one failed with: an ErrReadOnly, which the next step
	// tries to end, or an ErrDamaged, which Repair does.
	Trouble() error
	// Repair ends damage. It may be called at any time.
	Repair(context.Context) error
	// Quarantined returns where the last damaged file was moved to, "" if
	// there was none since Open.
	Quarantined() string
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
	ErrTooLarge = errors.New("more than a question may hold") // asking again won't help
	ErrDamaged  = errors.New("the state file is damaged")     // until Repair
	ErrReadOnly = errors.New("the state file can't be written")
	ErrFull     = errors.New("the state file has reached its size limit") // is an ErrReadOnly too
	ErrLocked   = errors.New("the state file is in use by another process")
	ErrNewer    = errors.New("the state file was written by a newer version")
	ErrClosed   = errors.New("the store is closed")
)

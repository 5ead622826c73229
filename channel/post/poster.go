package post

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

// The reasons for which a part ends without being in its room. They are the
// words of the counters in status.
const (
	Prevented = "prevented" // the server takes it and shows nothing, or holds its id for another
	Misrouted = "misrouted" // the server put it into another room; it was deleted there
	ReadOnly  = "read-only"
	Forbidden = "forbidden"
	RoomGone  = "room-gone"
	TooLong   = "too-long"
	Refused   = "refused" // for a reason that doesn't pass, but is none of the above
)

// A Server is what posting needs of the REST wire.
type Server interface {
	SendMessage(ctx context.Context, m rest.Outgoing) (chat.Message, error)
	Message(ctx context.Context, id string) (chat.Message, error)
	Delete(ctx context.Context, room, id string) error
}

var _ Server = (*rest.Client)(nil)

// A Poster says parts as one bot. It may be used from several goroutines.
type Poster struct {
	Server Server
	Self   string // the bot's user id
	Key    []byte // keys.post
	Log    *slog.Logger

	mu    sync.Mutex
	roots map[string]string // thread root → the room it lies in; bounded
}

// maxRoots bounds what is remembered of thread roots.
const maxRoots = 256

// tries is how often a part is sent whose id the server calls taken although
// no message has it.
const tries = 3

// Post says one part. The same part gives the same message, however often it
// is asked. A nil error settles the part: it is in its room, or the Outcome
// says why it can never be. An error means that nothing is known yet and it
// is to be asked again.
func (p *Poster) Post(ctx context.Context, part dedup.Part) (dedup.Outcome, error) {
	_, outcome, err := p.Say(ctx, part)
	return outcome, err
}

// Say is Post, and returns the message as the server has it.
func (p *Poster) Say(ctx context.Context, part dedup.Part) (chat.Message, dedup.Outcome, error) {
	var none chat.Message
	id := ID(p.Key, part.Question.Message, part.Step, part.Index)
	thread, err := p.thread(ctx, part)
	if err != nil {
		return none, dedup.Outcome{}, err
	}
	out := rest.Outgoing{ID: id, Room: part.Room, Thread: thread, Text: part.Text}
	for try := range tries {
		if try > 0 && !pause(ctx, time.Duration(try)*time.Second) {
			return none, dedup.Outcome{}, ctx.Err()
		}
		said, err := p.Server.SendMessage(ctx, out)
		if err == nil {
			return p.placed(ctx, part, said)
		}
		if reason := hopeless(err); reason != "" {
			return none, dedup.Outcome{MessageID: id, Reason: reason}, nil
		}
		taken := errors.Is(err, rest.ErrDuplicate)
		if !taken && !doubtful(err) {
			return none, dedup.Outcome{}, err
		}
		found, ferr := p.Server.Message(ctx, id)
		switch {
		case ferr == nil:
			return p.placed(ctx, part, found)
		case !errors.Is(ferr, rest.ErrNotFound):
			return none, dedup.Outcome{}, fmt.Errorf("look for a message whose reply was lost: %w", ferr)
		case !taken:
			return none, dedup.Outcome{}, err
		}
	}
	return none, dedup.Outcome{MessageID: id, Reason: Prevented}, nil
}

// placed judges where a message came to lie. Its text may differ from ours:
// servers and their apps rewrite.
func (p *Poster) placed(ctx context.Context, part dedup.Part, m chat.Message) (chat.Message, dedup.Outcome, error) {
	if m.Sender.ID != "" && m.Sender.ID != p.Self {
		return m, dedup.Outcome{MessageID: m.ID, Reason: Prevented}, nil
	}
	if m.RoomID == part.Room {
		return m, dedup.Outcome{MessageID: m.ID}, nil
	}
	switch err := p.Server.Delete(ctx, m.RoomID, m.ID); {
	case err == nil, errors.Is(err, rest.ErrNotFound):
	case passes(err):
		return m, dedup.Outcome{}, fmt.Errorf("delete what went to the wrong room: %w", err)
	default:
		p.Log.Error("a message went to the wrong room and can't be deleted there",
			"message", m.ID, "room", m.RoomID, "want", part.Room, "err", err)
	}
	return m, dedup.Outcome{MessageID: m.ID, Reason: Misrouted}, nil
}

// thread returns the thread to post a part in: the one asked for, once its
// root was read and lies in the part's own room, else none. A server moves a
// message to the room of the root it names (sendMessage.ts), so a root of
// another room would carry an answer there.
func (p *Poster) thread(ctx context.Context, part dedup.Part) (string, error) {
	if part.Thread == "" {
		return "", nil
	}
	p.mu.Lock()
	room, known := p.roots[part.Thread]
	p.mu.Unlock()
	if !known {
		root, err := p.Server.Message(ctx, part.Thread)
		switch {
		case err == nil:
			room = root.RoomID
		case errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrForbidden):
			return "", nil // gone; not remembered, a thread may be asked for again
		default:
			return "", fmt.Errorf("read the root of the thread: %w", err)
		}
		p.remember(part.Thread, room)
	}
	if room != part.Room {
		return "", nil
	}
	return part.Thread, nil
}

func (p *Poster) remember(root, room string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roots == nil || len(p.roots) >= maxRoots {
		p.roots = make(map[string]string)
	}
	p.roots[root] = room
}

// hopeless names the reason of an answer that no repetition changes.
func hopeless(err error) string {
	switch {
	case errors.Is(err, rest.ErrReadOnly):
		return ReadOnly
	case errors.Is(err, rest.ErrTooLong):
		return TooLong
	case errors.Is(err, rest.ErrRoomGone):
		return RoomGone
	case errors.Is(err, rest.ErrForbidden):
		return Forbidden
	}
	return ""
}

// doubtful reports whether the server may have stored the message although it
// did not say so.
func doubtful(err error) bool {
	e, ok := errors.AsType[*rest.Error](err)
	return ok && e.Uncertain
}

// passes reports whether a failure says nothing of what was asked, so that it
// is worth asking again: the server, the budget or the caller was in the way.
func passes(err error) bool {
	e, ok := errors.AsType[*rest.Error](err)
	if !ok {
		return true
	}
	switch e.Kind {
	case rest.ErrForbidden, rest.ErrNotFound, rest.ErrRoomGone, rest.ErrReadOnly, rest.ErrInvalid, rest.ErrNoRoute:
		return false
	}
	return true
}

// doomedTries is how often a server may refuse a part for a reason of its own
// before it is given up: a server that is just starting refuses what it takes
// a moment later (matterbridge#1011).
const doomedTries = 5

// Doomed is the reason of a part that was refused so often that it will never
// be taken, "" to go on trying. What a server refuses must not hold up what
// its room is owed after it.
func Doomed(err error, tries int) string {
	e, ok := errors.AsType[*rest.Error](err)
	if tries < doomedTries || !ok {
		return ""
	}
	// By its kind alone: a proxy's page looks like a missing route, and passes.
	switch e.Kind {
	case rest.ErrInvalid, rest.ErrNoRoute, rest.ErrTwoFactor:
		return Refused
	}
	return ""
}

// Asked returns how long a failed call asks to wait, 0 when it doesn't say.
func Asked(err error) time.Duration {
	if e, ok := errors.AsType[*rest.Error](err); ok {
		return e.Retry
	}
	return 0
}

// pause waits for d and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package channel

import (
	"context"
	"errors"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/gate"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

// resume finishes what the last run left. What is answered is posted on; what
// was given is not run again, and a note takes the answer's place; what was
// only claimed is read again once there is a connection.
func (l *life) resume(ctx context.Context) {
	for q, err := range l.store.Open(ctx) {
		if err != nil {
			l.storeFailed(err)
			return
		}
		switch q.State {
		case dedup.Answered:
			l.owed.Owe(q.Parts)
		case dedup.Given:
			l.tally.count(func(c *Counters) { c.Interrupted++ })
			l.note(q.ID, conversation.Key{Room: q.Room, Thread: q.Thread}, conversation.NoteInterrupted)
		case dedup.Claimed:
			l.unread = append(l.unread, q)
		}
	}
}

// reread runs what was claimed and never given, with its present text. Runs on
// the loop, at each connection until all are read.
func (l *life) reread() {
	if l.rereading || len(l.unread) == 0 {
		return
	}
	l.rereading = true
	todo := l.unread
	l.work.Go(func() {
		left := l.readAgain(todo)
		l.tell(func() { l.rereading, l.unread = false, left })
	})
}

// readAgain returns what could not be read.
func (l *life) readAgain(todo []dedup.Question) []dedup.Question {
	for i, q := range todo {
		m, err := l.client.Load().Message(l.ctx, q.ID.Message)
		switch {
		case errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrRoomGone):
			l.tally.ignored("gone")
			l.note(q.ID, conversation.Key{Room: q.Room, Thread: q.Thread})
			continue
		case err != nil:
			l.log.Warn("a question of the last run could not be read again", "message", q.ID.Message, "err", err)
			return todo[i:]
		}
		facts, err := l.facts(m.RoomID)
		if err != nil {
			return todo[i:]
		}
		l.takeUp(heard{message: &m, room: facts, caughtUp: true}, q)
	}
	return nil
}

// takeUp asks a question that is claimed already, if it may still be asked.
func (l *life) takeUp(h heard, q dedup.Question) {
	h.message.Sent = chat.At(q.ID.At) // the record's own, whatever the server says now
	v := l.intake.judge(h)
	j := judged{heard: h, verdict: v, fresh: true}
	if v.Action == gate.Ask || v.Action == gate.Order {
		l.dispatch(j)
		return
	}
	l.say(j)
}

// storeFailed takes note of whether the store could be written to.
func (l *life) storeFailed(err error) {
	if err != nil && l.ctx.Err() != nil {
		return
	}
	was := l.storeErr.Swap(&storeState{err: err, since: time.Now()})
	switch {
	case err != nil && (was == nil || was.err == nil):
		l.log.Error("the store of questions can't be written to; nothing is taken in", "err", err)
		l.touched()
	case err == nil && was != nil && was.err != nil:
		l.log.Info("the store of questions can be written to again", "after", time.Since(was.since).Round(time.Second))
		l.touched()
	}
}

// A storeState is what the store last said.
type storeState struct {
	err   error
	since time.Time
}

package channel

import (
	"context"
	"errors"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

// An unread question was claimed by an earlier run, and never given.
type unread struct{ dedup.Question }

// resume takes over what the last run left. What is answered is posted on; what
// was given is not run again, and a note takes the answer's place; what was
// only claimed is read again once there is a connection. While the store can't
// be read it is asked again, and nothing new is taken in.
func (l *life) resume() {
	for {
		claimed, err := l.takeOver()
		if err == nil {
			l.unread = claimed
			close(l.resumed)
			return
		}
		if !pause(l.ctx, claimRetry) {
			return
		}
	}
}

// takeOver goes through the store's open questions. An error comes before the
// first of them or not at all, so nothing is taken over twice.
func (l *life) takeOver() ([]unread, error) {
	var open []dedup.Question
	for q, err := range l.store.Open(l.ctx) {
		if err != nil {
			return nil, l.store.noted(err)
		}
		open = append(open, q)
	}
	var claimed []unread
	var files []string
	var shown []dedup.Question
	for _, q := range open {
		switch q.State {
		case dedup.Answered:
			for _, p := range q.Parts {
				if p.File != "" {
					files = append(files, p.File)
				}
			}
			shown = append(shown, q)
			l.owed.Owe(q.Parts)
		case dedup.Given:
			shown = append(shown, q)
			l.tally.count(func(c *Counters) { c.Interrupted++ })
			l.talks.Say(q.ID, conversation.Key{Room: q.Room, Thread: q.Thread}, conversation.NoteInterrupted)
		case dedup.Claimed:
			claimed = append(claimed, unread{q})
		}
	}
	l.files.begin(files)
	for _, q := range claimed {
		shown = append(shown, q.Question) // its place in line
	}
	if len(shown) > 0 {
		l.work.Go(l.guarded(func() { l.takeProgressAway(shown) }))
	}
	return claimed, nil
}

// takeProgressAway deletes what an earlier run may have shown of questions that
// were not over.
func (l *life) takeProgressAway(of []dedup.Question) {
	for _, q := range of {
		l.takeAway(q.Room, post.ID(l.poster.Key, q.ID.Message, stepProgress, 0))
	}
}

// reread brings what was claimed and never given to the intake, with its
// present text. It reports false when the connection ended first; what is left
// then is the next one's. The caller holds l.missing.
func (l *life) reread(ctx context.Context) bool {
	var later []unread
	for len(l.unread) > 0 {
		switch err := l.rereadOne(ctx, l.unread[0]); {
		case errors.Is(err, errGaveUp):
			later = append(later, l.unread[0])
		case err != nil:
			l.unread = append(later, l.unread...)
			return false
		}
		l.unread = l.unread[1:]
	}
	l.unread = later
	return true
}

func (l *life) rereadOne(ctx context.Context, q unread) error {
	var m chat.Message
	gone := false
	err := l.persist(ctx, "a question of the last run", func(ctx context.Context) (err error) {
		m, err = l.client.Load().Message(ctx, q.ID.Message)
		gone = errors.Is(err, rest.ErrNotFound) || errors.Is(err, rest.ErrForbidden) || errors.Is(err, rest.ErrRoomGone)
		return err
	})
	if err != nil {
		return err
	}
	if gone || m.RoomID != q.Room {
		l.tally.ignored("gone")
		l.talks.Say(q.ID, conversation.Key{Room: q.Room, Thread: q.Thread})
		return nil
	}
	m.Sent = chat.At(q.ID.At) // the record's own, whatever the server says now
	l.intake.feed(heard{message: &m, caughtUp: true, claimed: true})
	return nil
}

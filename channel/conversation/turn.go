package conversation

import (
	"context"
	"errors"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/post"
	"rcsupervisor/dedup"
)

// Bounds of one answer. What lies beyond is not posted, and the room is told.
const (
	maxAnswer = 400_000 // bytes kept of an agent's text
	maxParts  = 20
	partSize  = 4800 // UTF-16 units; Rocket.Chat's own bound is 5000
)

// The steps of parts. They go into the derived id of what is posted, so they
// never change.
const (
	StepAnswer = "answer"
	StepNote   = "note"
)

// What a person is told when his question got no answer. None of it quotes
// what was asked.
const (
	NoteInterrupted = "I was interrupted while I worked on this, and did not start again. Please ask once more if you still need it."
	NoteStopped     = "Stopped."
	NoteFailed      = "I could not answer this: the agent behind me failed. Please try again; if it goes on, tell whoever runs me."
	noteCut         = "(The answer was longer than I may post; this is where I cut it.)"
)

// turn takes one item from claimed to answered and says how it ended.
func (s *Set) turn(ctx context.Context, item Item) Ending {
	if !s.step(ctx, item, "give", func(ctx context.Context) error { return s.Store.Give(ctx, item.ID) }) {
		return s.unfinished(ctx, item)
	}
	done := s.Working(item)
	defer done()
	text, err := s.ask(ctx, item)
	switch {
	case errors.Is(context.Cause(ctx), ErrEnding):
		return LeftEnding // given: the next start says that it was interrupted
	case errors.Is(context.Cause(ctx), ErrDropped):
		return s.answer(item, StepNote, nil, DroppedEnding)
	case errors.Is(context.Cause(ctx), ErrStopped):
		return s.answer(item, StepNote, []string{NoteStopped}, StoppedEnding)
	case err != nil:
		s.Log.Warn("a turn failed", "message", item.ID.Message, "err", err)
		return s.answer(item, StepNote, []string{NoteFailed}, FailedEnding)
	}
	return s.answer(item, StepAnswer, parts(text), AnsweredEnding)
}

// unfinished is the ending of an item that could not be given.
func (s *Set) unfinished(ctx context.Context, item Item) Ending {
	if errors.Is(context.Cause(ctx), ErrEnding) || context.Cause(ctx) == nil {
		return LeftEnding
	}
	s.settleSilently(item)
	return StoppedEnding
}

// ask runs the agent's turn to its Done and returns the text of the answer.
func (s *Set) ask(ctx context.Context, item Item) (string, error) {
	question, err := s.Prepare(ctx, item)
	if err != nil {
		return "", err
	}
	turn, err := s.Agent().Begin(ctx, question)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, turn.Cancel)
	defer stop()
	var text strings.Builder
	var end agent.Done
	for event := range turn.Events() {
		switch e := event.(type) {
		case agent.Text:
			if text.Len() < maxAnswer {
				text.WriteString(e.Chunk)
			}
		case agent.Asked:
			// Nobody can decide here, and what nobody can decide is refused.
			if err := turn.Answer(e.ID, rejection(e.Options)); err != nil {
				s.Log.Debug("an agent's request could not be refused", "message", item.ID.Message, "err", err)
			}
		case agent.Done:
			end = e
		}
	}
	return text.String(), end.Err
}

// rejection picks the option that refuses, "" where none does.
func rejection(options []agent.Option) string {
	for _, kind := range []string{"reject_once", "reject_always"} {
		for _, o := range options {
			if o.Kind == kind {
				return o.ID
			}
		}
	}
	return ""
}

// parts cuts an answer to what is posted of it.
func parts(text string) []string {
	if silent(text) {
		return nil
	}
	cut := post.Split(text, partSize)
	if len(cut) > maxParts || len(text) >= maxAnswer {
		cut = append(cut[:min(len(cut), maxParts)], noteCut)
	}
	return cut
}

// silent reports whether a whole answer is one of Hermes' silence tokens, or
// nothing at all.
func silent(text string) bool {
	switch strings.TrimSpace(text) {
	case "", "[SILENT]", "SILENT", "NO_REPLY", "NO REPLY":
		return true
	}
	return false
}

// answer stores what is owed for an item and hands it to be delivered.
func (s *Set) answer(item Item, step string, texts []string, ending Ending) Ending {
	owed := Parts(item.ID, item.Key, step, texts, time.Now())
	// A person who stops the turn no longer changes an answer that exists.
	if !s.step(s.life, item, "answer", func(ctx context.Context) error { return s.Store.Answer(ctx, item.ID, owed) }) {
		return LeftEnding
	}
	if len(owed) > 0 {
		s.Owe(owed)
	}
	return ending
}

// Parts makes the parts of one answer.
func Parts(id dedup.ID, k Key, step string, texts []string, now time.Time) []dedup.Part {
	owed := make([]dedup.Part, len(texts))
	for i, text := range texts {
		owed[i] = dedup.Part{Question: id, Index: i, Step: step, Room: k.Room, Thread: k.Thread, Text: text, Owed: now}
	}
	return owed
}

// step takes one durable step of an item, again and again while the store can't
// be written to: an answer that was made is not thrown away, and a question
// that was claimed is not forgotten. It reports false when ctx ended first.
func (s *Set) step(ctx context.Context, item Item, name string, take func(context.Context) error) bool {
	for try := 0; ; try++ {
		err := take(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, dedup.ErrUnknown) || errors.Is(err, dedup.ErrOrder) {
			s.Log.Error("a question is not where it should be in the store", "message", item.ID.Message, "step", name, "err", err)
			return false
		}
		if try == 0 {
			s.Log.Warn("the store can't be written to; waiting", "message", item.ID.Message, "step", name, "err", err)
		}
		select {
		case <-time.After(storeRetry):
		case <-ctx.Done():
			return false
		}
	}
}

// storeRetry is how long a store that can't be written to is left alone.
const storeRetry = 2 * time.Second

// settleSilently ends an item that waited and is owed nothing.
func (s *Set) settleSilently(item Item) {
	s.step(s.life, item, "answer", func(ctx context.Context) error { return s.Store.Answer(ctx, item.ID, nil) })
}

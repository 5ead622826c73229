package conversation

import (
	"context"
	"errors"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/dedup"
)

// What a person is told when his question got no answer. None of it quotes
// what was asked.
const (
	NoteInterrupted = "I was interrupted while I worked on this, and did not start again. Please ask once more if you still need it."
	NoteStopped     = "Stopped."
	NoteFailed      = "I could not answer this: the agent behind me failed. Please try again; if it goes on, tell whoever runs me."
)

// turn takes one item from claimed to answered and says how it ended.
func (s *Set) turn(ctx context.Context, item Item) Ending {
	if !s.step(ctx, item.ID, "give", func(ctx context.Context) error { return s.Store.Give(ctx, item.ID) }) {
		return s.unanswered(ctx, item)
	}
	done := s.Working(item)
	defer done()
	text, err := s.ask(ctx, item)
	if err == nil && (ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrEnding)) {
		return s.answer(item, StepAnswer, cut(text, s.Size()), AnsweredEnding)
	}
	if ctx.Err() == nil {
		s.Log.Warn("a turn failed", "message", item.ID.Message, "err", err)
	}
	return s.unanswered(ctx, item)
}

// unanswered ends an item that has no answer, in the way that ctx's cause asks
// for.
func (s *Set) unanswered(ctx context.Context, item Item) Ending {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrEnding):
		return LeftEnding // what was given is told at the next start, what was not is asked then
	case errors.Is(cause, ErrDropped):
		return s.answer(item, StepNote, nil, DroppedEnding)
	case errors.Is(cause, ErrStopped):
		return s.answer(item, StepNote, []string{NoteStopped}, StoppedEnding)
	}
	return s.answer(item, StepNote, []string{NoteFailed}, FailedEnding)
}

// Why a turn has no answer although its agent did not say so.
var (
	errCancelled = errors.New("the agent ended the turn")
	errNoDone    = errors.New("the agent's turn broke off without an end")
)

// ask runs the agent's turn to its Done and returns the text of the answer.
func (s *Set) ask(ctx context.Context, item Item) (string, error) {
	question, err := s.Prepare(ctx, item)
	if err != nil {
		return "", err
	}
	hired, release := s.Hire()
	defer release()
	turn, err := hired.Begin(ctx, question)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, turn.Cancel)
	defer stop()
	text, end := s.read(turn, item)
	switch {
	case end.Err != nil:
		return "", end.Err
	case end.Stop == agent.Ended, end.Stop == agent.Refused && text != "":
		return text, nil
	case end.Stop == "":
		return "", errNoDone
	}
	return "", errCancelled
}

// read takes in a turn's events up to its Done.
func (s *Set) read(turn agent.Turn, item Item) (string, agent.Done) {
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
	return text.String(), end
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

// answer stores what is owed for an item and hands it to be delivered.
func (s *Set) answer(item Item, step string, texts []string, ending Ending) Ending {
	owed := Parts(item.ID, item.Key, step, texts, time.Now())
	// A person who stops the turn no longer changes an answer that exists.
	if !s.step(s.life, item.ID, "answer", func(ctx context.Context) error { return s.Store.Answer(ctx, item.ID, owed) }) {
		return LeftEnding
	}
	if len(owed) > 0 {
		s.Owe(owed)
	}
	return ending
}

// How a store that can't be written to is treated: left alone for storeRetry,
// and at the end asked once more for lastTry, so that an answer that was made
// is not thrown away for a few milliseconds.
const (
	storeRetry = 2 * time.Second
	lastTry    = time.Second
)

// step takes one durable step of a question, again and again while the store
// can't be written to: a question that was claimed is not forgotten. It reports
// false when ctx ended first.
func (s *Set) step(ctx context.Context, id dedup.ID, name string, take func(context.Context) error) bool {
	for try := 0; ; try++ {
		err := s.try(ctx, take)
		switch {
		case err == nil:
			return true
		case errors.Is(err, dedup.ErrUnknown), errors.Is(err, dedup.ErrOrder), errors.Is(err, dedup.ErrTooLarge):
			s.Log.Error("a question is not where it should be in the store", "message", id.Message, "step", name, "err", err)
			return false
		case ctx.Err() != nil:
			return false
		case try == 0:
			s.Log.Warn("the store can't be written to; waiting", "message", id.Message, "step", name, "err", err)
		}
		pause := time.NewTimer(storeRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// try takes a step once. At the end of the channel it may still be taken; not
// so for a turn that was cancelled by itself.
func (s *Set) try(ctx context.Context, take func(context.Context) error) error {
	if ctx.Err() == nil {
		return take(ctx)
	}
	if ctx != s.life {
		return context.Cause(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTry)
	defer cancel()
	return take(last)
}

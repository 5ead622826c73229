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
		return s.unanswered(ctx, item, nil)
	}
	done := s.Working(item)
	defer done()
	var staff Attendant = &alone{}
	if s.Attend != nil {
		staff = s.Attend(ctx, item)
	}
	said, err := s.ask(ctx, item, staff)
	if err == nil && (ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrEnding)) {
		texts := said.texts(s.Size(), staff.Long)
		staff.Ended(nil)
		return s.answer(item, StepAnswer, texts, said.files, AnsweredEnding)
	}
	if ctx.Err() != nil {
		staff.Ended(context.Cause(ctx))
		return s.unanswered(ctx, item, err)
	}
	s.Log.Warn("a turn failed", "message", item.ID.Message, "err", err)
	staff.Ended(err)
	return s.unanswered(ctx, item, err)
}

// unanswered ends an item that has no answer, in the way that ctx's cause asks
// for, or the agent's own error.
func (s *Set) unanswered(ctx context.Context, item Item, err error) Ending {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrEnding):
		return LeftEnding // what was given is told at the next start, what was not is asked then
	case errors.Is(cause, ErrDropped):
		return s.answer(item, StepNote, nil, nil, DroppedEnding)
	case errors.Is(cause, ErrStopped):
		return s.answer(item, StepNote, []string{NoteStopped}, nil, StoppedEnding)
	}
	note := agent.Sentence(err)
	if note == "" {
		note = NoteFailed
	}
	return s.answer(item, StepNote, []string{note}, nil, FailedEnding)
}

// Why a turn has no answer although its agent did not say so.
var (
	errCancelled = errors.New("the agent ended the turn")
	errNoDone    = errors.New("the agent's turn broke off without an end")
)

// ask runs the agent's turn to its Done and returns the answer.
func (s *Set) ask(ctx context.Context, item Item, staff Attendant) (reply, error) {
	question, err := s.Prepare(ctx, item)
	if err != nil {
		return reply{}, err
	}
	hired, release := s.Hire()
	defer release()
	turn, err := hired.Begin(ctx, question)
	if err != nil {
		return reply{}, err
	}
	stop := context.AfterFunc(ctx, turn.Cancel)
	defer stop()
	staff.Began(turn)
	said, end := read(turn, staff)
	switch {
	case end.Err != nil:
		return reply{}, end.Err
	case end.Stop == agent.Ended, end.Stop == agent.Refused && said.text != "":
		return said, nil
	case end.Stop == agent.Cancelled && ctx.Err() == nil:
		// By the agent itself: some end so when what they asked for was refused.
		return said, nil
	case end.Stop == "":
		return reply{}, errNoDone
	}
	return reply{}, errCancelled
}

// read takes in a turn's events up to its Done.
func read(turn agent.Turn, staff Attendant) (reply, agent.Done) {
	var said reply
	var text strings.Builder
	var end agent.Done
	for event := range turn.Events() {
		switch e := event.(type) {
		case agent.Text:
			if said.cut = said.cut || text.Len()+len(e.Chunk) > maxAnswer; !said.cut {
				text.WriteString(e.Chunk)
			}
		case agent.Notice:
			said.notices = append(said.notices, e.Text)
		case agent.Progress:
			staff.Progress(e)
		case agent.Asked:
			staff.Asked(e)
		case agent.Withdrawn:
			staff.Withdrawn(e)
		case agent.FileOut:
			said.keep(staff, e)
		case agent.Done:
			end = e
		}
	}
	said.text = text.String()
	said.cut = said.cut || strings.HasSuffix(said.text, agent.SayCut)
	return said, end
}

// answer stores what is owed for an item and hands it to be delivered.
func (s *Set) answer(item Item, step string, texts, files []string, ending Ending) Ending {
	owed := Parts(item.ID, item.Key, step, texts, files, time.Now())
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

package channel

import (
	"context"
	"errors"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/approval"
	"rcsupervisor/channel/conversation"
)

// An attendant sees to what one turn brings beside the text of its answer:
// requests go to the desk, progress to its message, files to where they wait
// for being sent. It belongs to its conversation's goroutine.
type attendant struct {
	life  *life
	ctx   context.Context // ends when the turn is cancelled
	item  conversation.Item
	turn  agent.Turn
	sign  *progress
	kept  []string
	leave func() bool // lets go of ctx
}

var _ conversation.Attendant = (*attendant)(nil)

// attend begins to see to a turn.
func (l *life) attend(ctx context.Context, item conversation.Item) conversation.Attendant {
	a := &attendant{life: l, ctx: ctx, item: item, sign: l.progresses.of(item.ID.Message)}
	a.sign.begin()
	// A turn that is being stopped allows nothing any more, however long its
	// agent takes to say that it stopped.
	a.leave = context.AfterFunc(ctx, a.cancelled)
	return a
}

func (a *attendant) cancelled() {
	if why, ok := whyOver(context.Cause(a.ctx)); ok {
		a.life.desk.End(a.item.ID.Message, why)
	}
}

// Began takes the turn whose requests will have to be answered.
func (a *attendant) Began(t agent.Turn) { a.turn = t }

// Asked puts a request before those who may decide.
func (a *attendant) Asked(e agent.Asked) {
	l, turn := a.life, a.turn
	r := l.rules.Load()
	expires := time.Now().Add(r.settings.Agent.ApprovalTimeout)
	if own := e.Until.Add(-agentMargin); !e.Until.IsZero() && own.Before(expires) {
		expires = own
	}
	decide := func(option string) error {
		a.sign.decided()
		err := turn.Answer(e.ID, option)
		if err != nil {
			l.log.Info("an agent no longer waits for what was decided", "message", a.item.ID.Message, "err", err)
		}
		return err
	}
	nobody := l.nobodyDecides(a.ctx, r, a.item, e.Plain)
	if a.ctx.Err() != nil {
		_ = decide("")
		return
	}
	a.sign.undecided()
	l.desk.Request(approval.Ask{
		Question: a.item.ID.Message, Room: a.item.Key.Room, Thread: a.item.Key.Thread, Asker: a.item.Asker,
		Asked: e, Expires: expires, Nobody: nobody, AskerToo: r.access.Approvals == "asker",
		Size: int(l.partSize.Load()),
	}, decide)
	if a.ctx.Err() != nil {
		a.cancelled() // it may have been, just before
	}
}

// agentMargin is how long before an agent's own limit a request expires, so that
// nothing is allowed in the room that the agent has refused itself by then.
const agentMargin = 5 * time.Second

// Withdrawn takes back a request.
func (a *attendant) Withdrawn(e agent.Withdrawn) { a.life.desk.Withdraw(a.item.ID.Message, e.ID) }

// Progress shows what the agent does, if it goes on for long.
func (a *attendant) Progress(e agent.Progress) { a.sign.working(e.Title) }

// File keeps a file of the answer until it was sent.
func (a *attendant) File(f agent.FileOut) (path, problem string) {
	path, problem = a.life.files.keep(a.item.ID.Message, len(a.kept), f)
	if path != "" {
		a.kept = append(a.kept, path)
	}
	return path, problem
}

// Long keeps an answer that is too long for messages until it was sent.
func (a *attendant) Long(text string) (path string) {
	path, _ = a.life.files.put(folderOf(a.item.ID.Message)+"-answer", longName, strings.NewReader(text), int64(len(text)))
	if path != "" {
		a.kept = append(a.kept, path)
	}
	return path
}

// longName is what the file of an answer is called that is too long for messages.
const longName = "answer.txt"

// Ended lets go of all that was the turn's alone.
func (a *attendant) Ended(err error) {
	a.leave()
	l := a.life
	if why, ok := whyOver(err); ok {
		l.desk.End(a.item.ID.Message, why)
	}
	if err != nil {
		for _, path := range a.kept {
			l.files.sent(path)
		}
	}
	l.files.release(a.item.ID.Message)
}

// whyOver is why requests of a turn that ended so are over. At the end of the
// channel it is left to the next one to say so.
func whyOver(err error) (approval.Why, bool) {
	switch {
	case errors.Is(err, conversation.ErrEnding):
		return "", false
	case err == nil:
		return approval.Ended, true
	case errors.Is(err, conversation.ErrStopped), errors.Is(err, conversation.ErrDropped):
		return approval.Stopped, true
	}
	return approval.Disconnected, true
}

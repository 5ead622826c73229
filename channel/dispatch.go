package channel

import (
	"context"
	"fmt"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/gate"
	"rcsupervisor/dedup"
	"rcsupervisor/profile"
)

// dispatch carries out what the gate decided of a message that is claimed.
// Runs on the intake's goroutine.
func (l *life) dispatch(j judged) {
	switch j.verdict.Action {
	case gate.Ask:
		l.ask(l.item(j))
	case gate.Order:
		l.order(j)
	case gate.Stranger:
		l.stranger(j)
	case gate.Refuse:
		l.tally.ignored(string(j.verdict.Step))
		l.say(j, refusal(j.verdict))
	default:
		l.say(j)
	}
}

// item makes a question of a message.
func (l *life) item(j judged) conversation.Item {
	m := j.message
	return conversation.Item{
		Key: l.key(m, j.verdict.Kind), ID: dedup.ID{Message: m.ID, At: m.Sent.Time},
		Asker: m.Sender.ID, Message: *m, Text: j.verdict.Text,
		Role: string(j.verdict.Role), Kind: string(j.verdict.Kind), Bare: j.verdict.Bare,
	}
}

// key names the conversation a message belongs to, which is also where it is
// answered. Under reply: thread a top-level question of a room begins a thread
// of its own; a room of two has none.
func (l *life) key(m *chat.Message, kind gate.Kind) conversation.Key {
	k := conversation.Key{Room: m.RoomID, Thread: m.Thread}
	if k.Thread == "" && kind != gate.KindDirect && l.rules.Load().settings.Reply == "thread" {
		k.Thread = m.ID
	}
	return k
}

// ask gives a question its place in the conversation.
func (l *life) ask(item conversation.Item) {
	if _, ok := l.talks.Put(item, false); ok {
		return
	}
	l.note(item.ID, item.Key, fmt.Sprintf("I have %d questions waiting here already. Please ask again when I have caught up.",
		l.rules.Load().settings.Limits.Queue))
}

// order carries out one of our own commands.
func (l *life) order(j judged) {
	k := l.key(j.message, j.verdict.Kind)
	switch j.verdict.Command.Name {
	case gate.Help:
		l.say(j, helpText)
	case gate.Status:
		l.say(j, fmt.Sprintf("I am here, with %d questions at work and %d messages still to be posted.",
			l.talks.Busy(), l.owed.Owed()))
	case gate.Stop:
		l.stop(j, k)
	default:
		l.say(j, "There is nothing to begin anew here: I keep nothing of earlier questions.")
	}
}

const helpText = "Write to me here, or mention me in a room I am in.\n" +
	"`!status` says how I am, `!stop` stops what I am working on in this room, `!new` begins anew."

// stop ends the running turn, for an owner or the one who asked.
func (l *life) stop(j judged, k conversation.Key) {
	running, ok := l.talks.Running(k)
	switch {
	case !ok:
		l.say(j, "I am not working on anything here.")
	case j.verdict.Role != profile.Owner && running.Asker != j.message.Sender.ID:
		l.say(j, "Only the one who asked, or an owner, can stop that.")
	case l.talks.Stop(k):
		l.say(j) // the stopped question says so itself
	default:
		l.say(j, "I am not working on anything here.")
	}
}

// refusal is the one short line that says why not. It quotes nothing.
func refusal(v gate.Verdict) string {
	switch v.Why {
	case gate.WhyCommand:
		return "That command is not open to you here. `!help` lists what is."
	case gate.WhyEncrypted:
		return "This room is encrypted, so I can't read what you write here."
	case gate.WhyRate:
		return "You have had all the answers I may give you in an hour. Please come back later."
	case gate.WhyPending:
		return "Please answer with one of the numbers offered."
	}
	return "I can't do that."
}

// say ends a claimed message with what the bot itself has to say, if anything.
func (l *life) say(j judged, texts ...string) {
	l.note(dedup.ID{Message: j.message.ID, At: j.message.Sent.Time}, l.key(j.message, j.verdict.Kind), texts...)
}

// note stores and owes what the bot says because of a message, without an
// agent: it is as durable as an answer.
func (l *life) note(id dedup.ID, k conversation.Key, texts ...string) {
	l.notes.Put(func() {
		owed := conversation.Parts(id, k, conversation.StepNote, texts, time.Now())
		if err := l.store.Answer(l.ctx, id, owed); err != nil {
			l.storeFailed(err)
			return
		}
		if len(owed) > 0 {
			l.owed.Owe(owed)
		}
	})
}

// edited gives a question that still waits its new text. One that runs or ran
// is never run again. Runs on the intake's goroutine.
func (l *life) edited(h heard) {
	fresh := *h.message
	fresh.Edited, fresh.Updated, fresh.Touched = chat.Stamp{}, fresh.Sent, 0
	l.talks.Edit(fresh.ID, func(item *conversation.Item) {
		v := l.intake.judge(heard{message: &fresh, room: h.room, caughtUp: true})
		if v.Action == gate.Ask && fresh.Sender.ID == item.Asker {
			item.Text, item.Message, item.Bare = v.Text, fresh, v.Bare
		}
	})
}

// prepare makes what the agent is given. Runs on the conversation's goroutine.
func (l *life) prepare(ctx context.Context, item conversation.Item) (agent.Question, error) {
	m := item.Message
	return agent.Question{
		Profile: l.profile, Conversation: item.Key.Room + "/" + item.Key.Thread,
		Room:   agent.Room{ID: m.RoomID, Kind: item.Kind},
		Sender: agent.Sender{ID: m.Sender.ID, Username: m.Sender.Username, Name: m.Sender.Name, Role: item.Role},
		Message: agent.Message{
			ID: m.ID, Text: item.Text, TS: m.Sent.UTC().Format(time.RFC3339Nano), Thread: m.Thread,
		},
		Bare: item.Bare,
	}, ctx.Err()
}

// turnEnded counts how a question left its conversation.
func (l *life) turnEnded(item conversation.Item, ending conversation.Ending) {
	switch ending {
	case conversation.FailedEnding:
		l.tally.count(func(c *Counters) { c.Failed++ })
	case conversation.LeftEnding:
		l.log.Info("a question is left to the next start", "message", item.ID.Message)
	}
}

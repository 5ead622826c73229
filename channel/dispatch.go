package channel

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/gate"
	"rcsupervisor/dedup"
	"rcsupervisor/profile"
)

// dispatch carries out what the gate decided of a message that is claimed.
func (in *intake) dispatch(j judged) {
	now := time.Now()
	if !j.caughtUp && j.verdict.Kind != gate.KindDirect {
		in.said.add(j.message.RoomID, now)
	}
	switch j.verdict.Action {
	case gate.Ask:
		if !j.caughtUp {
			in.answered.add(j.message.Sender.ID, now)
		}
		in.life.ask(in.item(j), j.caughtUp)
	case gate.Order:
		in.life.order(j)
	case gate.Answered:
		in.life.answered(j)
	case gate.Stranger:
		in.life.tally.ignored(string(j.verdict.Step))
		if !in.life.visitors.Put(j) {
			in.life.say(j)
		}
	case gate.Refuse:
		in.life.tally.ignored(string(j.verdict.Step))
		in.refuse(j)
	default:
		in.life.say(j)
	}
}

// item makes a question of a message.
func (in *intake) item(j judged) conversation.Item {
	m := j.message
	return conversation.Item{
		Key: in.life.key(m, j.verdict.Kind), ID: in.id(m), Room: in.called(j),
		Asker: m.Sender.ID, Message: *m, Text: j.verdict.Text,
		Role: string(j.verdict.Role), Kind: string(j.verdict.Kind), Bare: j.verdict.Bare,
		Direct: in.pens[m.RoomID].known(j.room).Kind == chat.Direct,
	}
}

// called is the name people know a room by: a room of two has the other's.
func (in *intake) called(j judged) string {
	if j.verdict.Kind == gate.KindDirect {
		return j.message.Sender.Username
	}
	if p := in.pens[j.message.RoomID]; p != nil && p.name != "" {
		return p.name
	}
	return j.name
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
func (l *life) ask(item conversation.Item, missed bool) {
	sign := l.progresses.expect(item) // before it can be over
	place, err := l.talks.Put(item, missed)
	switch {
	case err == nil && place > 0:
		sign.waiting(place)
	case err != nil:
		l.progresses.over(item.ID.Message)
	}
	if errors.Is(err, conversation.ErrFull) {
		l.talks.Say(item.ID, item.Key, fmt.Sprintf("I have %d questions waiting here already. Please ask again when I have caught up.",
			l.rules.Load().settings.Limits.Queue))
	} // else it is taken, or left to the next start
}

// order carries out one of our own commands.
func (l *life) order(j judged) {
	k := l.key(j.message, j.verdict.Kind)
	switch j.verdict.Command.Name {
	case gate.Help:
		l.say(j, helpText)
	case gate.Status:
		l.say(j, statusText(l.talks.Busy(), l.owed.Owed()))
	case gate.Stop:
		l.stop(j, k)
	default:
		l.renew(j, k)
	}
}

// renew begins a conversation anew. What runs in it is stopped, for whoever may
// stop it; what waits goes on, anew.
func (l *life) renew(j judged, k conversation.Key) {
	running, ok := l.talks.Running(k)
	switch {
	case j.caughtUp:
		l.say(j)
		return
	case ok && j.verdict.Role != profile.Owner && running.Asker != j.message.Sender.ID:
		l.say(j, "Only the one who asked, or an owner, can begin anew while I work on that.")
		return
	}
	name := nameOf(k)
	if !l.staff.renew(name) && l.rules.Load().bare() {
		l.say(j, "There is nothing to begin anew here: I keep nothing of earlier questions.")
		return
	}
	l.anew(name)
	l.talks.Stop(k)
	l.say(j, "We begin anew: I no longer know what was said here before.")
}

// statusText is how the bot says that it is.
func statusText(questions, messages int) string {
	return "I am here, with " + counted(questions, "question") + " at work and " + counted(messages, "message") + " still to be posted."
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// nameOf is a conversation's name to its agent.
func nameOf(k conversation.Key) string { return k.Room + "/" + k.Thread }

const helpText = "Write to me here, or mention me in a room I am in.\n" +
	"`!status` says how I am, `!stop` stops what I am working on in this room, `!new` begins anew."

// stop ends the running turn, for an owner or the one who asked. One that was
// missed meant another turn than the one that runs now.
func (l *life) stop(j judged, k conversation.Key) {
	running, ok := l.talks.Running(k)
	switch {
	case j.caughtUp:
		l.say(j)
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

// Refusals that are said so often and no more.
const (
	onceKept      = 1000
	rateSaidEvery = 10 * time.Minute
	runLong       = 10 * 365 * 24 * time.Hour
)

// refuse says in one short line why not; it quotes nothing. That a room is
// encrypted is said once in it. Who has had his hour's answers is told now and
// then: each refusal said is one more thing said.
func (in *intake) refuse(j judged) {
	text := "I can't do that."
	switch j.verdict.Why {
	case gate.WhyCommand:
		text = "That command is not open to you here. `!help` lists what is."
	case gate.WhyEncrypted:
		text = "This room is encrypted, so I can't read what you write here."
		if !in.first("encrypted "+j.message.RoomID, runLong) {
			text = ""
		}
	case gate.WhyRate:
		text = "You have had all the answers I may give you in an hour. Please come back later."
		if !in.first("rate "+j.message.Sender.ID, rateSaidEvery) {
			text = ""
		}
	case gate.WhyPending:
		text = "Please answer with one of the numbers offered."
	}
	if text == "" {
		in.life.say(j)
		return
	}
	in.life.say(j, text)
}

// first reports whether something was not said within every, and takes note
// that it is now.
func (in *intake) first(what string, every time.Duration) bool {
	now := time.Now()
	if last, ok := in.once[what]; ok && now.Sub(last) < every {
		return false
	}
	if in.once == nil || len(in.once) >= onceKept {
		in.once = make(map[string]time.Time)
	}
	in.once[what] = now
	return true
}

// say ends a claimed message with what the bot itself has to say, if anything.
func (l *life) say(j judged, texts ...string) {
	l.talks.Say(dedup.ID{Message: j.message.ID, At: j.message.Sent.Time}, l.key(j.message, j.verdict.Kind), texts...)
}

// owe takes over the parts of an answer that is stored. Any goroutine.
func (l *life) owe(parts []dedup.Part) { l.owed.Owe(parts) }

// edited gives a question that still waits its new text. One that runs or ran
// is never run again, and what somebody else wrote into it is not asked in its
// sender's name.
func (in *intake) edited(h heard) {
	if h.message.Touched.Has(chat.TouchRewritten) {
		return
	}
	fresh := present(h.message)
	in.life.talks.Edit(fresh.ID, func(item *conversation.Item) {
		h := heard{message: fresh, room: h.room, caughtUp: true}
		v := in.judge(h, in.pens[fresh.RoomID])
		if v.Action == gate.Ask && fresh.Sender.ID == item.Asker {
			item.Text, item.Message, item.Bare = v.Text, *fresh, v.Bare
		}
	})
}

// present is a message as it is now, without the marks of what happened to it.
func present(m *chat.Message) *chat.Message {
	fresh := *m
	fresh.Edited, fresh.Updated, fresh.Touched = chat.Stamp{}, fresh.Sent, 0
	return &fresh
}

// turnEnded counts how a question left its conversation. Any goroutine.
func (l *life) turnEnded(item conversation.Item, ending conversation.Ending) {
	l.progresses.over(item.ID.Message)
	switch ending {
	case conversation.FailedEnding:
		l.tally.count(func(c *Counters) { c.Failed++ })
	case conversation.LeftEnding:
		l.log.Info("a question is left to the next start", "message", item.ID.Message)
	}
	l.touched()
}

package gate

import (
	"strings"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// freshFor is how far the time of a message's last touch may lie from its own
// while it still counts as just posted. A server writes a fresh message within
// 40 ms; a reaction or a reply comes later.
const freshFor = 10 * time.Second

// Decide says what a message means. See the package's documentation for the
// order of its steps.
func Decide(m chat.Message, f Facts) Verdict {
	j := judge{m: m, f: f, p: f.Policy}
	j.v.Role = j.p.Role(m.Sender.ID)
	if j.sender() || j.published() || j.room() || j.awaited() || j.person() || j.command() {
		return j.v
	}
	j.rate()
	return j.v
}

// A judge leads one message through the gate. Each of its steps reports
// whether the message's way has ended; the verdict is then complete.
type judge struct {
	m chat.Message // by value: they then stay off the heap
	f Facts
	p *Policy
	v Verdict

	text    string // what is asked, with the mention taken out
	pending bool   // a request is open here
}

func (j *judge) end(a Action, s Step) bool {
	j.v.Action, j.v.Step = a, s
	return true
}

// ignore ends with a message that is settled, unless it was published again or
// is too old: then its time says nothing of what lies before it.
func (j *judge) ignore(s Step) bool {
	j.v.MoveCursor = j.f.Room.Known && j.f.Room.Participant && (j.f.CaughtUp || !j.republished() && !j.old())
	return j.end(Ignore, s)
}

// sender: own → system → bot or ignored sender.
func (j *judge) sender() bool {
	from := j.m.Sender.ID
	switch {
	case from != "" && from == j.f.Self.ID:
		return j.ignore(StepOwn)
	case j.m.Type != "" && j.m.Type != "e2e", j.m.Ephemeral:
		// A message that can't be read is still a person's: see [judge.person].
		return j.ignore(StepSystem)
	case j.m.Automated, j.m.Sender.Type == "bot", j.m.Sender.Type == "app", j.f.Bots.Has(from):
		return j.ignore(StepBot)
	case j.p.siblings.Has(from):
		return j.ignore(StepSibling)
	case from == "", j.p.ignored.Has(from):
		return j.ignore(StepIgnored)
	}
	return false
}

// published: re-emit → age. The ids that are known are the store's to refuse;
// these are the marks of one that isn't. A message that somebody else has
// edited is never its sender's question, whenever it is read.
func (j *judge) published() bool {
	if j.f.CaughtUp {
		// Its text as it is now is not what its sender wrote.
		return j.m.Touched.Has(chat.TouchRewritten) && j.ignore(StepEdited)
	}
	switch {
	case j.m.Touched.Has(chat.TouchEdited):
		return j.end(Ignore, StepEdited)
	case j.republished():
		return j.end(Ignore, StepReemit)
	case j.old():
		return j.end(Ignore, StepAge)
	}
	return false
}

// republished reports whether a live event is about something that happened to
// a message rather than about its being posted. A touch without a time of its
// own can't be told from one of an old message.
func (j *judge) republished() bool {
	m := &j.m
	if m.Touched.Has(chat.TouchEdited) {
		return true
	}
	return m.Touched != 0 && (m.Updated.IsZero() || m.Updated.Sub(m.Sent.Time) > freshFor)
}

// old reports whether a live message is over limits.age, or has no time.
func (j *judge) old() bool {
	return j.m.Sent.IsZero() || j.f.Now.Sub(j.m.Sent.Time) > j.f.Age
}

// room: membership → kind → room on.
func (j *judge) room() bool {
	r := &j.f.Room
	switch {
	case !r.Known:
		return j.end(Retry, StepUnknown)
	case !r.Participant:
		return j.ignore(StepMembership)
	case r.Kind == chat.Livechat:
		return j.ignore(StepLivechat)
	case r.Kind == chat.Direct && j.oneToOne():
		j.v.Kind = KindDirect
	case r.Kind == chat.Direct && !r.Informed:
		// Newer servers may give a room of two any id: rooms.info counts.
		return j.end(Retry, StepUnknown)
	case r.Kind == chat.Direct, r.Kind == chat.Group:
		j.v.Kind = KindGroup
	case r.Kind == chat.Channel:
		j.v.Kind = KindChannel
	default:
		return j.ignore(StepKind)
	}
	switch on, _ := j.p.Room(j.m.RoomID); {
	case r.Archived:
		return j.ignore(StepArchived)
	case r.ReadOnly && !r.MayPost:
		return j.ignore(StepReadOnly)
	case j.v.Kind != KindDirect && !on:
		return j.ignore(StepRoomOff)
	}
	return false
}

// oneToOne holds where the room's id is the two user ids, sorted and joined, or
// rooms.info counts two. Every other direct room is a group: what is said in it
// is read by people who were not asked. So is one that rooms.info counts more
// in, whatever its id looks like.
func (j *judge) oneToOne() bool {
	counted := 0
	if j.f.Room.Informed {
		counted = j.f.Room.Members
	}
	return counted == 2 || counted < 2 && chat.OneToOne(j.m.RoomID, j.f.Self.ID, j.m.Sender.ID)
}

// person: woken → person let in.
func (j *judge) person() bool {
	switch {
	case !j.woken():
		return j.ignore(StepUnwoken)
	case j.v.Role == profile.Blocked:
		return j.ignore(StepBlocked)
	case rank(j.v.Role) == 0 && j.v.Kind == KindDirect:
		j.v.MoveCursor = true
		return j.end(Stranger, StepStranger)
	case rank(j.v.Role) == 0:
		return j.ignore(StepStranger)
	case j.m.Encrypted:
		return j.refuse(StepEncrypted, WhyEncrypted)
	}
	return false
}

// woken: in a room of two, in a room that needs no mention, or by a mention.
func (j *judge) woken() bool {
	if _, mention := j.p.Room(j.m.RoomID); j.v.Kind == KindDirect || !mention {
		return true
	}
	return mentioned(&j.m, j.f.Self)
}

// command: ours, Hermes', and words that Hermes would take for a decision.
func (j *judge) command() bool {
	if j.pending && decisive(j.text) {
		return j.refuse(StepAwaited, WhyPending)
	}
	name, args, sign := parseCommand(j.text)
	switch {
	case name == "" && j.v.Kind == KindDirect && restart(j.text):
		name = "restart"
	case name == "", sign == '!' && !known(name) && !j.p.commands.Has(name):
		return false
	}
	j.v.Command = Command{Name: name, Args: args}
	switch {
	case !j.p.allows(j.v.Role, name):
		return j.refuse(StepCommand, WhyCommand)
	case ours(name) && j.f.OverCap && j.v.Role != profile.Owner:
		return j.ignore(StepLoop)
	case ours(name):
		j.v.MoveCursor = true
		return j.end(Order, StepCommand)
	}
	j.v.Bare, j.text = true, bare(name, args, sign, j.text)
	return false
}

// rate is the last step. Caught up messages are outside the hour's answers; the
// room's cap holds for all.
func (j *judge) rate() {
	switch {
	case !j.v.Bare && j.empty():
		j.ignore(StepEmpty)
	case j.f.OverCap:
		j.ignore(StepLoop)
	case j.f.OverRate && !j.f.CaughtUp:
		j.refuse(StepRate, WhyRate)
	default:
		j.v.Text, j.v.MoveCursor = j.text, true
		j.end(Ask, StepQuestion)
	}
}

// empty holds for a message that says nothing. A mention alone does: it asks
// for an answer to what was said before.
func (j *judge) empty() bool {
	m := &j.m
	return strings.TrimSpace(m.Text) == "" && m.File == (chat.File{}) && len(m.Files) == 0 && len(m.Attachments) == 0
}

// refuse ends with one short line, unless the room has heard enough of the bot:
// two bots that refuse each other would never end.
func (j *judge) refuse(s Step, why Why) bool {
	if j.f.OverCap && j.v.Role != profile.Owner {
		return j.ignore(StepLoop)
	}
	j.v.Why, j.v.MoveCursor = why, true
	return j.end(Refuse, s)
}

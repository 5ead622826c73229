package channel

import (
	"context"
	"errors"
	"slices"
	"time"

	"rcsupervisor/channel/gate"
	"rcsupervisor/channel/rest"
)

// Bounds of looking things up.
const (
	lookupTime  = 20 * time.Second
	lookupRetry = 5 * time.Second
	peopleKept  = 1000
	personFresh = time.Hour
	personAgain = 5 * time.Minute // after a server that would not say
	clockAgain  = time.Minute
	freshTouch  = 10 * time.Second // a message that was touched later says what time it is
)

// A person is what users.info said of a sender.
type person struct {
	bot   bool
	until time.Time
}

// bots is what the gate is told of one sender.
func (in *intake) bots(user string) gate.Set {
	if in.people[user].bot {
		return gate.NewSet(user)
	}
	return nil
}

// lacks finds out what is not known yet and decides on an answer: what the
// room is, where the event does not say; whether it takes messages of the bot;
// whether the sender is a bot. It reports true when the message waits for it.
func (in *intake) lacks(h heard, v gate.Verdict, p *pen) bool {
	now := time.Now()
	room, from := h.message.RoomID, h.message.Sender.ID
	known := p != nil && p.facts.Known
	switch {
	case v.Action == gate.Retry && known:
		// It was asked, and what it is can't be told: the gate will not know
		// more the next time.
		in.life.tally.ignored(string(gate.StepUnknown))
		in.passed(h)
		return true
	case v.Action == gate.Retry, v.Kind != gate.KindDirect && !known:
		in.park(h, func() { in.askRoom(room, v.Action == gate.Retry) })
		return true
	case now.After(in.people[from].until):
		in.park(h, func() { in.askPerson(room, from) })
		return true
	}
	return false
}

// refresh asks again what a room is, now and then. What is known does until the
// answer is here.
func (in *intake) refresh(h heard, v gate.Verdict, p *pen) {
	switch {
	case p == nil || !p.facts.Known || time.Since(p.asked) <= roomFresh:
	case v.Action != gate.Ignore && v.Kind != gate.KindDirect, v.Step == gate.StepReadOnly, v.Step == gate.StepArchived:
		p.asked = time.Now()
		in.ask(func() { in.askRoom(h.message.RoomID, false) })
	}
}

// outdated reports whether a message seems to be of long ago although the server
// has touched it no later: then it is our idea of the server's clock that may be
// wrong, which is asked for before the message is judged.
func (in *intake) outdated(h heard, v gate.Verdict) bool {
	if v.Step != gate.StepAge || h.timed || h.message.Sent.IsZero() || h.message.Updated.Sub(h.message.Sent.Time) > freshTouch ||
		time.Since(in.timed) < clockAgain {
		return false
	}
	in.timed = time.Now()
	h.timed = true
	in.park(h, func() { in.askClock(h.message.RoomID) })
	return true
}

// askClock has the server say what time it is.
func (in *intake) askClock(room string) {
	l := in.life
	ctx, cancel := context.WithTimeout(l.ctx, lookupTime)
	defer cancel()
	if _, err := l.client.Load().Info(ctx); err != nil {
		l.log.Debug("the server's clock could not be asked", "err", err)
	}
	in.lane.Put(entry{mark: func() {
		p := in.pen(room)
		for i := range p.waiting {
			p.waiting[i].came = l.serverNow()
		}
		in.resume(p)
	}})
}

// park has a message wait until ask, which runs beside the lane, has come to
// its end and called resume.
func (in *intake) park(h heard, ask func()) {
	p := in.pen(h.message.RoomID)
	p.asking = true
	p.waiting = append(p.waiting, entry{heard: h})
	in.ask(ask)
}

func (in *intake) ask(f func()) { in.life.work.Go(in.life.guarded(f)) }

// askRoom asks what a room is. Where that has to be known it is asked again and
// again: until then its messages are neither handled nor settled.
func (in *intake) askRoom(id string, needed bool) {
	l := in.life
	for {
		facts, name, err := l.facts(id)
		gone := errors.Is(err, rest.ErrRoomGone) || errors.Is(err, rest.ErrForbidden)
		if err == nil || !needed || gone {
			in.lane.Put(entry{mark: func() { in.roomSaid(id, facts, name, err, needed) }})
			return
		}
		l.log.Warn("a room can't be asked about yet; its messages wait", "room", id, "err", err)
		if !pause(l.ctx, max(lookupRetry, l.asked(err))) {
			return
		}
	}
}

// roomSaid takes what is known of a room now, and goes on with its messages.
func (in *intake) roomSaid(id string, facts gate.Room, name string, err error, needed bool) {
	p := in.pen(id)
	p.asked = time.Now()
	switch {
	case err == nil:
		p.facts, p.name = facts, name
	case needed:
		in.life.log.Warn("a room could not be asked about; its messages are left", "room", id, "messages", len(p.waiting), "err", err)
		p.drop(in)
	case !p.facts.Known:
		// The event's word has to do, for a while.
		p.facts = in.eventSays(p)
	}
	in.resume(p)
}

// eventSays is what the first message that waits brought along of its room.
func (in *intake) eventSays(p *pen) gate.Room {
	for _, e := range p.waiting {
		if e.message != nil && e.heard.room.Known {
			return e.heard.room
		}
	}
	return gate.Room{}
}

// drop leaves what waits, unsettled; marks go on.
func (p *pen) drop(in *intake) {
	kept := p.waiting[:0]
	for _, e := range p.waiting {
		if e.mark != nil {
			kept = append(kept, e)
			continue
		}
		in.passed(e.heard)
		in.life.tally.ignored(string(gate.StepUnknown))
	}
	p.waiting = kept
}

// askPerson asks whether a sender is a bot. A server that doesn't say leaves
// him a person: the room's cap holds for him all the same.
func (in *intake) askPerson(room, user string) {
	l := in.life
	ctx, cancel := context.WithTimeout(l.ctx, lookupTime)
	defer cancel()
	found, err := l.client.Load().User(ctx, rest.UserQuery{ID: user})
	who := person{until: time.Now().Add(personFresh)}
	switch {
	case err == nil:
		who.bot = found.Type == "bot" || found.Type == "app" || slices.Contains(found.Roles, "bot") || slices.Contains(found.Roles, "app")
	default:
		who.until = time.Now().Add(max(personAgain, l.asked(err)))
		l.log.Debug("whether a sender is a bot could not be asked", "user", user, "err", err)
	}
	in.lane.Put(entry{mark: func() {
		in.personSaid(user, who)
		in.resume(in.pen(room))
	}})
}

func (in *intake) personSaid(user string, who person) {
	if in.people == nil {
		in.people = make(map[string]person)
	}
	if len(in.people) >= peopleKept {
		now := time.Now()
		for id, p := range in.people {
			if now.After(p.until) || len(in.people) >= peopleKept {
				delete(in.people, id)
			}
		}
	}
	in.people[user] = who
}

// resume goes on with what waits in a pen, until something is lacking again.
func (in *intake) resume(p *pen) {
	waiting := p.waiting
	p.waiting, p.asking = nil, false
	for i, e := range waiting {
		if p.asking {
			p.waiting = append(p.waiting, waiting[i:]...)
			return
		}
		if !in.enter(e) {
			return
		}
	}
}

// facts asks the server what a room is, and how people call it.
func (l *life) facts(id string) (gate.Room, string, error) {
	ctx, cancel := context.WithTimeout(l.ctx, lookupTime)
	defer cancel()
	info, err := l.client.Load().Room(ctx, id)
	switch {
	case errors.Is(err, rest.ErrReadOnly):
		return gate.Room{Known: true, Informed: true, Participant: true, Kind: "c", Archived: true}, "", nil
	case err != nil:
		return gate.Room{}, "", err
	}
	of, err := l.roster.of(ctx, l.client.Load(), id)
	if err != nil {
		return gate.Room{}, "", err
	}
	name := info.FullName
	if name == "" {
		name = info.Name
	}
	return gate.FromInfo(info, of.member, of.member && l.mayPost(of.roles)), name, nil
}

// mayPost reports whether the bot may write into a room that is read-only:
// Rocket.Chat's permission post-readonly, which owners, moderators and
// administrators have.
func (l *life) mayPost(roles []string) bool {
	return slices.Contains(roles, "owner") || slices.Contains(roles, "moderator") || l.rules.Load().admin
}

package approval

import (
	"slices"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/gate"
)

// A Moment is one by two clocks: ours, which tells how long something takes,
// and the server's, by which messages are dated.
type Moment struct{ Ours, Server time.Time }

// An Ask is a request as it comes from a turn.
type Ask struct {
	Question string // the id of the message whose turn it is: with Asked.ID the request's name
	Room     string
	Thread   string
	Asker    string // user id of who asked the question
	Asked    agent.Asked
	Expires  time.Time // by our clock: before the agent's own limit
	// Nobody says that no one who may decide reads the room.
	Nobody bool
	// AskerToo says, for the text alone, that the asker may decide.
	AskerToo bool
	// Size is what the server takes as one message, in UTF-16 units; 0 for 4800.
	Size int
}

// Name is what the request is known by.
func (a Ask) Name() string { return nameOf(a.Question, a.Asked.ID) }

func nameOf(question, asked string) string { return question + "/" + asked }

// A Why is the reason for which a request closed without anybody's decision.
type Why string

// The reasons.
const (
	Expired      Why = "expired"
	Stopped      Why = "stopped"      // its turn was
	Disconnected Why = "disconnected" // its agent is gone
	Restarted    Why = "restarted"    // the channel is another by now
	Withdrawn    Why = "withdrawn"    // its agent went on without an answer
	Ended        Why = "ended"        // its turn did
	Unshown      Why = "unshown"      // it could not be posted
	Unsent       Why = "unsent"       // the file that shows it could not be sent
	Rewritten    Why = "rewritten"    // somebody else has changed what is shown of it
)

// A state of a request.
type state uint8

const (
	waiting state = iota // behind another one of its conversation
	showing              // numbered, and being posted
	open
	closed
)

// A request is one in the book.
type request struct {
	name    string
	place   Place // of its last text, once it is shown
	asker   string
	plain   bool
	expires time.Time
	state   state
	ask     Ask // while it waits
	choices []choice
	tail    string // its last text without its choices, until it is edited
	sent    time.Time
	closed  time.Time // by the server
	stale   bool      // its last text shows choices that are no longer open
}

// A choice is one that was offered.
type choice struct {
	number string
	word   string
	option string
	label  string
	refuse bool
}

// memory is how long a number means nothing else.
const memory = 24 * time.Hour

// A Book is the requests of a profile. Its methods must not be called at the
// same time. The zero Book is not usable: see [New].
type Book struct {
	requests []*request // in the order in which they came
	next     int        // the number to look from
}

// New returns an empty book. start, which may be any number, is where its
// numbers begin, so that two books in a row don't use the same.
func New(start int) *Book {
	return &Book{next: firstNumber + int(uint(start)%(threeDigits-firstNumber))}
}

// Ask takes a request of a turn that runs.
func (b *Book) Ask(a Ask, at Moment) []Effect {
	b.forget(at)
	r := &request{
		name: a.Name(), asker: a.Asker, plain: a.Asked.Plain, expires: a.Expires, ask: a,
		place: Place{Question: a.Question, Step: "request-" + a.Asked.ID, Room: a.Room, Thread: a.Thread},
	}
	if b.find(r.name) != nil {
		return nil // the same one again
	}
	if b.busy(a.Room, a.Thread) {
		b.requests = append(b.requests, r)
		return nil
	}
	return b.show(r, at)
}

// show gives a request its numbers and shows it, or refuses it and says why.
func (b *Book) show(r *request, at Moment) []Effect {
	a := r.ask
	refused := func(text string) []Effect {
		b.drop(r)
		return []Effect{Decide{Name: r.name}, Tell{Place: r.place, Text: text}}
	}
	offered := offer(a.Asked)
	switch {
	case a.Nobody:
		return refused(sayNobody)
	case !slices.ContainsFunc(offered, func(c choice) bool { return !c.refuse }):
		return refused(sayLasting)
	case r.expires.Sub(at.Ours) < leastTime:
		return refused(sayNoTime)
	}
	if !b.number(offered) {
		return refused(sayNumbers)
	}
	s, ok := render(a, offered, r.expires.Sub(at.Ours))
	if !ok {
		return refused(sayLong)
	}
	shown := Show{Name: r.name, Place: r.place, File: s.file, Texts: s.texts}
	r.choices, r.tail, r.state, r.ask = offered, s.tail, showing, Ask{}
	r.place.Index = len(s.texts) - 1
	if s.file != nil {
		r.place.Index++
	}
	if !slices.Contains(b.requests, r) {
		b.requests = append(b.requests, r)
	}
	return []Effect{shown}
}

// leastTime is what a person needs to read and answer. A request that has had
// to wait so long that less is left is refused unseen.
const leastTime = 5 * time.Second

// Shown notes that a request is in its room since a time of the server's. Only
// the first time counts.
func (b *Book) Shown(name string, sent time.Time) {
	r := b.find(name)
	if r == nil || r.state == waiting || !r.sent.IsZero() {
		return
	}
	r.sent = sent
	if r.state == showing {
		r.state = open
	}
}

// showing reports whether a request is being posted: then nobody knows yet
// whether what is said is said after it.
func (b *Book) showing(name string) bool {
	r := b.find(name)
	return r != nil && r.state == showing
}

// Answer takes what the gate has found somebody to have said, by whom, and
// returns what has to be said to him: "" for a decision that counts, which
// shows by itself.
func (b *Book) Answer(answer gate.Answer, by string, at Moment) (say string, then []Effect) {
	r := b.find(answer.Request)
	switch {
	case r == nil, r.state == closed, answer.State == gate.Closed:
		return sayOver, nil
	case answer.State == gate.Missed:
		return sayMissed, nil
	case answer.State == gate.Early, r.state != open:
		return sayEarly, nil
	case !at.Ours.Before(r.expires):
		return sayOver, b.Close(r.name, Expired, at)
	}
	c, offered := r.offers(answer.Option)
	if answer.State != gate.Counts || !offered {
		return sayOver, nil
	}
	then = []Effect{Decide{Name: r.name, Option: c.option}}
	return "", append(then, b.end(r, decided(c, by, r.plain), at)...)
}

// counts reports whether an answer would be a decision now, and of what.
func (b *Book) counts(answer gate.Answer, at Moment) (option string, ok bool) {
	r := b.find(answer.Request)
	if r == nil || r.state != open || answer.State != gate.Counts || !at.Ours.Before(r.expires) {
		return "", false
	}
	c, ok := r.offers(answer.Option)
	return c.option, ok
}

func (r *request) offers(option string) (choice, bool) {
	for _, c := range r.choices {
		if c.option == option {
			return c, true
		}
	}
	return choice{}, false
}

// Close closes a request that nobody decided. Its agent is told where it still
// waits.
func (b *Book) Close(name string, why Why, at Moment) []Effect {
	r := b.find(name)
	if r == nil || r.state == closed {
		return nil
	}
	var then []Effect
	switch why {
	case Expired, Unshown, Unsent, Rewritten:
		then = append(then, Decide{Name: name})
	}
	if r.state == waiting {
		b.drop(r)
		if why == Expired {
			then = append(then, Tell{Place: r.place, Text: sayNoTime})
		}
		return then
	}
	switch why {
	case Unshown:
		r.tail = "" // there is nothing to edit
	case Unsent:
		r.tail = ""
		then = append(then, Tell{Place: r.place, Text: sayUnsent})
	}
	return append(then, b.end(r, undecided(why), at)...)
}

// End closes all requests of a turn.
func (b *Book) End(question string, why Why, at Moment) []Effect {
	var then []Effect
	// Those that wait go first, so that none of them is shown now.
	for _, waits := range []bool{true, false} {
		for _, r := range slices.Clone(b.requests) {
			if r.place.Question == question && (r.state == waiting) == waits {
				then = append(then, b.Close(r.name, why, at)...)
			}
		}
	}
	return then
}

// Expire closes what is over by now, and forgets the numbers of long ago.
func (b *Book) Expire(at Moment) []Effect {
	var then []Effect
	for _, r := range slices.Clone(b.requests) {
		if r.state != closed && !at.Ours.Before(r.expires) {
			then = append(then, b.Close(r.name, Expired, at)...)
		}
	}
	b.forget(at)
	return then
}

// Next is when Expire has to be called, the zero time for not at all.
func (b *Book) Next() time.Time {
	var next time.Time
	for _, r := range b.requests {
		if r.state != closed && (next.IsZero() || r.expires.Before(next)) {
			next = r.expires
		}
	}
	return next
}

// Edited notes that a closed request no longer shows its choices.
func (b *Book) Edited(name string) {
	if r := b.find(name); r != nil && r.state == closed {
		r.stale, r.tail = false, ""
	}
}

// end closes a request that was shown, and shows the next one that waits.
func (b *Book) end(r *request, outcome string, at Moment) []Effect {
	r.state, r.closed = closed, at.Server
	var then []Effect
	if r.tail != "" {
		r.stale = true
		r.tail = outcomeOf(r.tail, outcome)
		then = append(then, Edit{Name: r.name, Place: r.place, Text: r.tail})
	}
	return append(then, b.promote(r.place.Room, r.place.Thread, at)...)
}

// promote shows the request that has waited longest in a conversation.
func (b *Book) promote(room, thread string, at Moment) []Effect {
	var then []Effect
	for !b.busy(room, thread) {
		i := slices.IndexFunc(b.requests, func(r *request) bool {
			return r.state == waiting && r.place.Room == room && r.place.Thread == thread
		})
		if i < 0 {
			break
		}
		then = append(then, b.show(b.requests[i], at)...)
	}
	return then
}

// busy reports whether a request is before the people of a conversation.
func (b *Book) busy(room, thread string) bool {
	return slices.ContainsFunc(b.requests, func(r *request) bool {
		return (r.state == showing || r.state == open) && r.place.Room == room && r.place.Thread == thread
	})
}

func (b *Book) find(name string) *request {
	for _, r := range b.requests {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (b *Book) drop(r *request) {
	b.requests = slices.DeleteFunc(b.requests, func(other *request) bool { return other == r })
}

// forget takes out what closed so long ago that its numbers are free again.
func (b *Book) forget(at Moment) {
	b.requests = slices.DeleteFunc(b.requests, func(r *request) bool {
		return r.state == closed && at.Server.Sub(r.closed) >= memory
	})
}

// Requests are what the gate has to know: what is before people, and what was
// within the last 24 hours.
func (b *Book) Requests() []gate.Request {
	var list []gate.Request
	for _, r := range b.requests {
		if r.state == waiting {
			continue
		}
		g := gate.Request{
			ID: r.name, Room: r.place.Room, Thread: r.place.Thread, Sent: r.sent, Closed: r.closed,
			Asker: r.asker, Plain: r.plain,
		}
		for _, c := range r.choices {
			g.Choices = append(g.Choices, gate.Choice{Number: c.number, Word: c.word, Option: c.option})
		}
		list = append(list, g)
	}
	return list
}

package gate

import (
	"strings"
	"time"

	"rcsupervisor/profile"
)

// tooEarly is how long after a request yes and no don't count yet: what is
// said then was said to something else. The same holds after it has closed,
// the other way round.
const tooEarly = 2 * time.Second

// A Request waits, or waited, for somebody to decide.
type Request struct {
	ID     string
	Room   string
	Thread string
	Sent   time.Time // of the message that shows it, by the server; zero: not shown yet
	Closed time.Time // when it was decided or expired, by the server; zero: open

	// Asker is who asked what led to the request. He may decide under
	// `approvals: asker`; a plain question of the agent's own is his in any
	// case. Owners may always.
	Asker string
	Plain bool

	Choices []Choice
}

// A Choice of a request. Number is the number it was offered under, without
// leading zeros. Word is "yes" or "no" for the one that is meant by it, or "".
type Choice struct {
	Number string
	Word   string
	Option string
}

// An Answer is what somebody decided about a request.
type Answer struct {
	Request string
	Option  string
	State   AnswerState
}

// An AnswerState says whether an answer counts. One that doesn't is never a
// question: the person is told so.
type AnswerState uint8

// The states of an answer.
const (
	Counts AnswerState = iota
	Early              // given before the request, or too soon after it to be meant for it
	Closed             // the request is decided or has expired
	Missed             // it was read from the room's history, and is not taken from there
)

var answerStates = [...]string{"counts", "early", "closed", "missed"}

func (s AnswerState) String() string {
	if int(s) < len(answerStates) {
		return answerStates[s]
	}
	return "unknown"
}

// awaited: a message that is nothing but an offered number, yes or no is an
// answer, and needs no mention. A number that was offered here is never a
// question, whoever says it.
func (j *judge) awaited() bool {
	j.text = j.m.Text
	if j.m.Encrypted {
		return false
	}
	j.text = j.question()
	if len(j.f.Requests) == 0 {
		return false
	}
	word := strings.ToLower(strings.TrimFunc(j.text, blank))
	var found *Request
	var option string
	matches := 0
	for i := range j.f.Requests {
		r := &j.f.Requests[i]
		if r.Room != j.m.RoomID || r.Thread != j.m.Thread {
			continue
		}
		j.pending = j.pending || r.Closed.IsZero()
		if c, ok := r.match(word, j.m.Sent.Time); ok {
			found, option = r, c.Option
			matches++
			if c.Number == word {
				matches = 1
				break
			}
		}
	}
	switch {
	case matches != 1:
		return false // none, or a word that would mean two things
	case !j.decides(found):
		return isNumber(word) && j.ignore(StepAwaited)
	}
	j.v.Answer = Answer{Request: found.ID, Option: option, State: found.state(word, j.m.Sent.Time, j.f.CaughtUp)}
	j.v.MoveCursor = true
	return j.end(Answered, StepAwaited)
}

// question returns the text with the mention of the bot taken out.
func (j *judge) question() string {
	name := j.f.Self.Username
	if j.m.MentionsSet {
		u, ok := mentionOf(&j.m, j.f.Self.ID)
		if !ok {
			return j.m.Text
		}
		if u.Username != "" {
			name = u.Username // as the server resolved it: the bot may have been renamed
		}
	}
	return without(j.m.Text, name)
}

// match returns the choice that a word means. A word closes with its request,
// save what was said while it closed; a number means nothing else for a day.
func (r *Request) match(word string, sent time.Time) (Choice, bool) {
	for _, c := range r.Choices {
		if c.Number == word && word != "" {
			return c, true
		}
		if c.Word == word && word != "" && (r.Closed.IsZero() || !sent.After(r.Closed.Add(tooEarly))) {
			return c, true
		}
	}
	return Choice{}, false
}

// decides reports whether the sender may decide.
func (j *judge) decides(r *Request) bool {
	switch j.v.Role {
	case profile.Owner:
		return true
	case profile.Member:
		return r.Asker == j.m.Sender.ID && (r.Plain || j.p.askerToo)
	}
	return false
}

func (r *Request) state(word string, sent time.Time, caughtUp bool) AnswerState {
	switch {
	case !r.Closed.IsZero():
		return Closed
	case caughtUp:
		return Missed
	case r.Sent.IsZero(), !sent.After(r.Sent):
		return Early
	case !isNumber(word) && sent.Before(r.Sent.Add(tooEarly)):
		return Early
	}
	return Counts
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

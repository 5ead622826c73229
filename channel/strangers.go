package channel

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"
)

// How often strangers are answered, for the whole profile and for one person.
const (
	strangerEvery   = 30 * time.Minute
	strangersAnHour = 10
	strangersKept   = 1000
	strangersAtOnce = 100 // that wait for the supervisor; more go without a word
)

// What a stranger is told. It names nobody.
const (
	strangerLine = "I don't know you yet. Whoever runs me can let you in."
	provedLine   = "Thank you. From now on you are an owner of this bot."
)

// ownerCode is the form of a one-time code: 8 characters that can't be
// mistaken for each other.
var ownerCode = regexp.MustCompile(`^[ABCDEFGHJKLMNPQRSTUVWXYZ23456789]{8}$`)

// strangers bounds what people who are not let in are told.
type strangers struct {
	mu     sync.Mutex
	told   map[string]time.Time
	recent []time.Time // of the last hour
}

// mayTell reports whether a person gets his line now, and takes note of it.
func (s *strangers) mayTell(user string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.told[user]; ok && now.Sub(last) < strangerEvery {
		return false
	}
	for len(s.recent) > 0 && now.Sub(s.recent[0]) >= time.Hour {
		s.recent = s.recent[1:]
	}
	if len(s.recent) >= strangersAnHour {
		return false
	}
	if s.told == nil || len(s.told) >= strangersKept {
		s.told = make(map[string]time.Time)
	}
	s.told[user] = now
	s.recent = append(s.recent, now)
	return true
}

// receive answers people who are not let in and wrote to the bot directly, one
// after another. It is a lane's.
func (l *life) receive(batch []judged) {
	defer l.contain()
	for _, j := range batch {
		l.stranger(j)
	}
}

// stranger answers one of them. A one-time code proves an owner; anything else
// is a request, which the supervisor keeps for a person to decide.
func (l *life) stranger(j judged) {
	ctx, cancel := context.WithTimeout(l.ctx, askTimeout)
	defer cancel()
	from := j.message.Sender
	ask := Request{Kind: "request", User: from.ID, Name: from.Username}
	if code := strings.TrimSpace(j.message.Text); ownerCode.MatchString(code) {
		ask.Kind, ask.Code = "code", code
	}
	reply, err := l.link.Ask(ctx, ask)
	switch {
	case err == nil && reply.OK && ask.Kind == "code":
		l.say(j, provedLine)
	case l.strangers.mayTell(from.ID, time.Now()):
		l.say(j, strangerLine)
	default:
		l.say(j)
	}
}

// askTimeout bounds waiting for the supervisor to write something down.
const askTimeout = 5 * time.Second

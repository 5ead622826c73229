package pretend

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A TypingEvent is one that a client wrote and the server took for good.
type TypingEvent struct {
	At       time.Time
	User     string // the sender's user id
	Name     string // as it was given
	Activity string // user-typing, typing, recording…; "" ends it
	Thread   string
}

// maxTyping bounds what is remembered of each room.
const maxTyping = 1000

// notifyRoom is how a client says that it types: <rid>/user-activity with a
// name and a list of activities; on 3.4 <rid>/typing with a name and a
// boolean. One that isn't allowed is dropped, and the result is empty all the
// same. It is not echoed to the connection it came from.
func (c *session) notifyRoom(p []json.RawMessage) (any, *ddpError) {
	s, u := c.server, c.user.Load()
	rid, name, _ := strings.Cut(parameter(p), "/")
	r := s.rooms[rid]
	if r == nil || u == nil || r.members[u.id] == nil || name != s.v.activity || len(p) < 3 {
		return nil, nil
	}
	var who string
	read(p[1:], &who)
	if who != s.shownName(u) {
		return nil, nil
	}
	ev := TypingEvent{At: s.now(), User: u.id, Name: who}
	if s.v.activity == "typing" {
		var on bool
		read(p[2:], &on)
		if on {
			ev.Activity = "typing"
		}
	} else {
		var list []string
		var extra struct{ Tmid string }
		read(p[2:], &list, &extra)
		ev.Activity, ev.Thread = strings.Join(list, ","), extra.Tmid
	}
	s.typing[rid] = append(s.typing[rid], ev)
	if n := len(s.typing[rid]); n > maxTyping {
		s.typing[rid] = slices.Clone(s.typing[rid][n-maxTyping/2:])
	}
	args := make([]any, 0, 3)
	for _, a := range p[1:] {
		args = append(args, a)
	}
	s.notifyRoomLocked(r, name, c, args...)
	return nil, nil
}

// shownName is what a client must call itself: UI_Use_Real_Name decides.
func (s *Server) shownName(u *user) string {
	if s.settings["UI_Use_Real_Name"] == true {
		return u.name
	}
	return u.username
}

// Typing lists what was typed in r, oldest first, the last thousand at most.
func (s *Server) Typing(r Room) []TypingEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.typing[r.ID])
}

package pretend

import (
	"maps"
	"sort"
	"time"
)

// counts is what happened, by user id ("" is nobody) and what: "GET me",
// "POST chat.sendMessage", "login", "login refused", "sub stream-room-messages",
// "method stream-notify-room". The server's lock guards it.
type counts struct {
	opened, ended int // sockets
	calls         map[string]map[string]int
	log           []Record
}

// A Record is one thing a client did. It holds neither tokens nor texts.
type Record struct {
	At     time.Time `json:"at"`
	User   string    `json:"user,omitempty"` // id; "": nobody, or not known yet
	What   string    `json:"what"`
	Status int       `json:"status,omitempty"` // of a REST call
}

// maxRecords bounds the log.
const maxRecords = 2000

func newCounts() counts { return counts{calls: map[string]map[string]int{}} }

func (n *counts) add(u *user, what string) { n.record(u, what, 0) }

func (n *counts) record(u *user, what string, status int) {
	id := ""
	if u != nil {
		id = u.id
	}
	if n.calls[id] == nil {
		n.calls[id] = map[string]int{}
	}
	n.calls[id][what]++
	if len(n.log) >= maxRecords {
		n.log = append(n.log[:0], n.log[maxRecords/2:]...)
	}
	n.log = append(n.log, Record{At: time.Now(), User: id, What: what, Status: status})
}

// Count tells how often u did something: "login", "login refused",
// "sub stream-room-messages", "method stream-notify-room", "GET me",
// "POST chat.sendMessage".
func (s *Server) Count(u User, what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count.calls[u.ID][what]
}

// Total is Count over all users and over those nobody knows.
func (s *Server) Total(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.count.calls {
		n += m[what]
	}
	return n
}

// Counts is everything u did, by what; the zero User is nobody.
func (s *Server) Counts(u User) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.count.calls[u.ID])
}

// Sockets tells how many were ever opened and how many have ended.
func (s *Server) Sockets() (opened, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count.opened, s.count.ended
}

// A Connection is an open socket. Number never comes twice, so that a test can
// tell that a socket was not replaced.
type Connection struct {
	Number uint64    `json:"number"`
	User   string    `json:"user,omitempty"` // id; "": not logged in
	Opened time.Time `json:"opened"`
	Subs   []string  `json:"subs"` // stream/event, sorted
}

// Connections lists the open sockets on which u is logged in, oldest first;
// those on which nobody is for the zero User.
func (s *Server) Connections(u User) []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Connection{}
	for c := range s.sessions {
		if v := c.public(); v.User == u.ID {
			list = append(list, v)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Number < list[j].Number })
	return list
}

// public is called with the server's lock held.
func (c *session) public() Connection {
	v := Connection{Number: c.number, Opened: c.opened, Subs: []string{}}
	if u := c.user.Load(); u != nil {
		v.User = u.id
	}
	for _, b := range c.subs {
		v.Subs = append(v.Subs, b.stream+"/"+b.event)
	}
	sort.Strings(v.Subs)
	return v
}

// Online tells whether u has a socket that hears messages: logged in, and
// subscribed to __my_messages__ since.
func (s *Server) Online(u User) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hub.mine[u.ID]) > 0
}

// Log lists what clients did of late, oldest first.
func (s *Server) Log() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Record(nil), s.count.log...)
}

package pretend

import (
	"encoding/json"
	"sort"
	"time"
)

// SayOptions say how a message is not an ordinary one.
type SayOptions struct {
	ID          string    // default: 17 random letters
	At          time.Time // default: now; the past for what was said during an outage
	Thread      string    // the id of the thread's root
	ShowInRoom  bool      // a thread message shown in the room too
	Bot         string    // posted by this integration
	Alias       string
	Avatar      string
	Emoji       string
	Type        string // `t`: a system message; "e2e" is an encrypted one
	Attachments []json.RawMessage
	Extra       map[string]any // further fields, as they are: federation, content, customFields, blocks
	WithName    bool           // `u` carries the sender's name, as from the web client
	NoMentions  bool           // leave `mentions` out, as old servers and apps do
	NoPreviews  bool           // parseUrls:false
	Hidden      bool           // _hidden: stored, in no history, not published
	Quiet       bool           // stored, but no socket hears of it: a lost event
}

// Say posts a message of u's in r. It is a test's or the page's own hand, so no
// permission is asked. It panics where u or r isn't of this server.
func (s *Server) Say(u User, r Room, text string, opts ...SayOptions) Message {
	var o SayOptions
	if len(opts) > 0 {
		o = opts[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.sayLocked(s.userLocked(u), s.roomLocked(r), text, o)
}

func (s *Server) sayLocked(u *user, r *room, text string, o SayOptions) *Message {
	m := s.draftFor(u, text, o)
	m.RoomID = r.id
	s.storeLocked(r, m, !o.Quiet)
	return m
}

// draftFor makes a message that isn't in a room yet.
func (s *Server) draftFor(u *user, text string, o SayOptions) *Message {
	m := &Message{
		ID: o.ID, Text: text, Time: o.At, User: Author{ID: u.id, Username: u.username},
		Alias: o.Alias, Avatar: o.Avatar, Emoji: o.Emoji, Type: o.Type, Thread: o.Thread, ShowInRoom: o.ShowInRoom,
		Bot: o.Bot, Attachments: o.Attachments, Extra: o.Extra, NoPreviews: o.NoPreviews, noMentions: o.NoMentions, hidden: o.Hidden,
	}
	if m.ID == "" {
		m.ID = newID()
	}
	if m.Time.IsZero() {
		m.Time = s.now()
	}
	m.Time = m.Time.UTC().Truncate(time.Millisecond)
	if o.WithName {
		m.User.Name = u.name
	}
	if m.Type == "" && !m.noMentions {
		m.Mentions = s.mentionsLocked(text)
	}
	if m.Type == "" && !m.NoPreviews {
		m.Links = linksIn(text)
	}
	return m
}

// freshUpdate is how much later than ts a fresh message's _updatedAt is on a
// real server: 5 to 40 ms were seen.
const freshUpdate = 6 * time.Millisecond

// storeLocked takes a new message in, publishes it, and does what a message
// does: the room moves, a thread's root is touched, people have it unread.
func (s *Server) storeLocked(r *room, m *Message, publish bool) *entry {
	s.sequence++
	m.seq = s.sequence
	m.Updated = m.Time.Add(freshUpdate)
	e := &entry{msg: m, room: r}
	s.messages[m.ID] = e
	r.insert(e)
	s.moveLocked(r, e)
	if publish && !m.hidden {
		s.publishLocked(e)
		s.roomChangedLocked(r)
	}
	s.unreadLocked(r, m, publish)
	if m.Thread != "" {
		s.bumpLocked(m, publish)
	}
	s.changedLocked()
	return e
}

// insert keeps the list by time; those of one millisecond by arrival.
func (r *room) insert(e *entry) {
	n := len(r.list)
	if n == 0 || !e.msg.before(r.list[n-1].msg) {
		r.list = append(r.list, e)
		return
	}
	i := sort.Search(n, func(i int) bool { return e.msg.before(r.list[i].msg) })
	r.list = append(r.list, nil)
	copy(r.list[i+1:], r.list[i:])
	r.list[i] = e
}

func (m *Message) before(o *Message) bool {
	if !m.Time.Equal(o.Time) {
		return m.Time.Before(o.Time)
	}
	return m.seq < o.seq
}

// index finds where e stands.
func (r *room) index(e *entry) int {
	return sort.Search(len(r.list), func(i int) bool { return !r.list[i].msg.before(e.msg) })
}

// moveLocked: a reply that is only in a thread doesn't move the room's lm; its
// _updatedAt is set by every update (notifyUsersOnMessage.ts).
func (s *Server) moveLocked(r *room, e *entry) {
	r.updated = s.now()
	m := e.msg
	if m.hidden || (m.Thread != "" && !m.ShowInRoom) {
		return
	}
	if r.last == nil || !m.before(r.last.msg) {
		r.moved, r.last = m.Time, e
	}
}

// bumpLocked touches the root of a thread that got a reply: tcount, tlm and
// replies, and the root's id is published once more with its old text.
func (s *Server) bumpLocked(reply *Message, publish bool) {
	root := s.messages[reply.Thread]
	if root == nil {
		return
	}
	touch := s.touchLocked
	if !publish {
		touch = s.changeLocked
	}
	touch(root, func(m *Message) {
		m.ThreadCount++
		m.ThreadLast = reply.Time
		m.Followers = withString(withString(m.Followers, m.User.ID), reply.User.ID)
	})
}

// unreadLocked counts for those whom the message concerns: the people of a
// direct room and whoever is mentioned. Nobody else's subscription is touched,
// so that a post costs no more in a room of thousands.
func (s *Server) unreadLocked(r *room, m *Message, tell bool) {
	count := func(b *membership, mention bool) {
		if b == nil || b.user.id == m.User.ID {
			return
		}
		b.unread++
		b.updated = s.now()
		if mention {
			b.mentions++
		}
		if tell {
			s.notifyUserLocked(b.user.id, "subscriptions-changed", "updated", s.lazySubscription(r, b))
		}
	}
	if r.kind == "d" {
		for _, b := range r.members {
			count(b, false)
		}
		return
	}
	for _, x := range m.Mentions {
		count(r.members[x.ID], true)
	}
}

// systemLocked posts a system message of kind t.
func (s *Server) systemLocked(r *room, t, text string, by *user, more func(*Message)) *entry {
	m := &Message{ID: newID(), RoomID: r.id, Type: t, Text: text, Time: s.now(), User: by.author()}
	if more != nil {
		more(m)
	}
	return s.storeLocked(r, m, true)
}

// System posts a system message of any kind t, such as "r" or
// "room_changed_topic", by by.
func (s *Server) System(r Room, t, text string, by User) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.systemLocked(s.roomLocked(r), t, text, s.userLocked(by), nil).msg
}

// Whisper shows to a text in r that nobody else sees and that is never stored:
// an ephemeral message from rocket.cat over stream-notify-user.
func (s *Server) Whisper(to User, r Room, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whisperLocked(s.userLocked(to), s.roomLocked(r).id, text)
}

func (s *Server) whisperLocked(to *user, rid, text string) {
	s.notifyUserLocked(to.id, "message", doc{
		{"groupable", false},
		{"private", true},
		{"_id", newID()},
		{"rid", rid},
		{"ts", s.now()},
		{"msg", text},
		{"u", doc{{"_id", "rocket.cat"}, {"username", "rocket.cat"}}},
	})
}

// Messages lists what r holds, oldest first, hidden ones too.
func (s *Server) Messages(r Room) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.roomLocked(r)
	list := make([]Message, len(have.list))
	for i, e := range have.list {
		list[i] = *e.msg
	}
	return list
}

// Message finds a message by id.
func (s *Server) Message(id string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.messages[id]; e != nil {
		return *e.msg, true
	}
	return Message{}, false
}

// withString returns list with x in it, without changing list.
func withString(list []string, x string) []string {
	for _, y := range list {
		if y == x {
			return list
		}
	}
	return append(list[:len(list):len(list)], x)
}

package pretend

import (
	"encoding/json"
	"slices"
	"time"
)

// touchLocked makes a changed copy of e's message and publishes the same id
// again, as each of the causes below does.
func (s *Server) touchLocked(e *entry, change func(*Message)) *Message {
	s.changeLocked(e, change)
	s.publishLocked(e)
	return e.msg
}

// changeLocked is a touch that no socket hears of.
func (s *Server) changeLocked(e *entry, change func(*Message)) *Message {
	m := *e.msg
	change(&m)
	m.Updated = s.now()
	e.msg = &m
	e.room.updated = m.Updated
	s.changedLocked()
	return e.msg
}

// touch is touchLocked for a message that the caller got from this server.
func (s *Server) touch(id string, change func(*Message)) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.touchLocked(s.entryLocked(id), change)
}

func (s *Server) entryLocked(id string) *entry {
	if e := s.messages[id]; e != nil {
		return e
	}
	panic("pretend: no message " + id + " on this server")
}

// Edit changes a message's text; mentions and links are found anew.
func (s *Server) Edit(id string, by User, text string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.editLocked(s.entryLocked(id), s.userLocked(by), text)
}

func (s *Server) editLocked(e *entry, by *user, text string) *Message {
	return s.touchLocked(e, func(m *Message) {
		m.Text = text
		if !m.noMentions {
			m.Mentions = s.mentionsLocked(text)
		}
		if !m.NoPreviews {
			m.Links = linksIn(text)
		}
		m.Edited, m.EditedBy = s.now(), by.author()
	})
}

// Delete removes a message. The root of a thread stays as `t: "rm"` without
// text and is published again; any other is gone, and only stream-notify-room
// <rid>/deleteMessage says so.
func (s *Server) Delete(id string, by User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleteLocked(s.entryLocked(id), s.userLocked(by))
}

func (s *Server) deleteLocked(e *entry, by *user) {
	if e.msg.ThreadCount > 0 || s.showDeleted {
		s.touchLocked(e, func(m *Message) {
			m.Type, m.Text = "rm", ""
			m.Mentions, m.Links, m.Files, m.Attachments, m.Reactions = nil, nil, nil, nil, nil
			m.Edited, m.EditedBy = s.now(), by.author()
		})
		return
	}
	s.removeLocked(e)
	s.notifyRoomLocked(e.room, "deleteMessage", nil, doc{{"_id", e.msg.ID}})
	s.changedLocked()
}

func (s *Server) removeLocked(e *entry) {
	r := e.room
	if i := r.index(e); i < len(r.list) && r.list[i] == e {
		r.list = slices.Delete(r.list, i, i+1)
	}
	delete(s.messages, e.msg.ID)
	r.updated = s.now()
	r.deleted = append(r.deleted, removal{e.msg.ID, r.updated})
	if r.last == e {
		r.last = r.newest()
	}
	if root := s.messages[e.msg.Thread]; root != nil && root.msg.ThreadCount > 0 {
		s.touchLocked(root, func(m *Message) { m.ThreadCount-- })
	}
}

// newest is the message a room shows as its last.
func (r *room) newest() *entry {
	for _, e := range slices.Backward(r.list) {
		if !e.msg.hidden && (e.msg.Thread == "" || e.msg.ShowInRoom) {
			return e
		}
	}
	return nil
}

// Prune deletes many messages at once, as an administrator's prune does:
// deleteMessageBulk tells so.
func (s *Server) Prune(r Room, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.roomLocked(r)
	for _, id := range ids {
		s.removeLocked(s.entryLocked(id))
	}
	s.notifyRoomLocked(have, "deleteMessageBulk", nil, doc{
		{"rid", r.ID},
		{"excludePinned", false},
		{"ignoreDiscussion", true},
		{"ts", doc{{"$lt", s.now()}}},
		{"users", []any{}},
		{"ids", ids},
	})
	s.changedLocked()
}

// ShowDeleted is the setting Message_ShowDeletedStatus: every deleted message
// stays as `t: "rm"`.
func (s *Server) ShowDeleted(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.showDeleted = on
}

// React gives a message u's reaction; emoji carries its colons.
func (s *Server) React(id string, u User, emoji string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.reactLocked(s.entryLocked(id), s.userLocked(u), emoji, true)
}

// Unreact takes u's reaction back. After the last one the message is published
// with an empty `reactions`.
func (s *Server) Unreact(id string, u User, emoji string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.reactLocked(s.entryLocked(id), s.userLocked(u), emoji, false)
}

func (s *Server) reactLocked(e *entry, u *user, emoji string, on bool) *Message {
	return s.touchLocked(e, func(m *Message) {
		list := []Reaction{}
		found := false
		for _, r := range m.Reactions {
			if r.Emoji == emoji {
				found = true
				r.Usernames = slices.DeleteFunc(slices.Clone(r.Usernames), func(n string) bool { return n == u.username })
				if on {
					r.Usernames = append(r.Usernames, u.username)
				}
			}
			if len(r.Usernames) > 0 {
				list = append(list, r)
			}
		}
		if on && !found {
			list = append(list, Reaction{Emoji: emoji, Usernames: []string{u.username}})
		}
		m.Reactions = list
	})
}

// Pin pins a message and posts the message_pinned message that goes with it.
func (s *Server) Pin(id string, by User) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.pinLocked(s.entryLocked(id), s.userLocked(by), true)
}

// Unpin takes the pin off.
func (s *Server) Unpin(id string, by User) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.pinLocked(s.entryLocked(id), s.userLocked(by), false)
}

func (s *Server) pinLocked(e *entry, by *user, on bool) *Message {
	m := s.touchLocked(e, func(m *Message) {
		m.Pinned, m.PinnedAt, m.PinnedBy = on, s.now(), by.author()
	})
	if on {
		s.systemLocked(e.room, "message_pinned", "", by, func(p *Message) {
			quote := encode(nil, doc{{"text", m.Text}, {"author_name", m.User.Username}, {"ts", m.Time}}, onSocket)
			p.Attachments = []json.RawMessage{quote}
		})
	}
	return m
}

// Star lets u star a message, or take the star off.
func (s *Server) Star(id string, u User, on bool) Message { return s.touch(id, starring(u.ID, on)) }

// Follow lets u follow a thread, or no longer: `replies` changes.
func (s *Server) Follow(id string, u User, on bool) Message { return s.touch(id, following(u.ID, on)) }

func starring(id string, on bool) func(*Message) {
	return func(m *Message) { m.Starred = withOrWithout(m.Starred, id, on) }
}

func following(id string, on bool) func(*Message) {
	return func(m *Message) { m.Followers = withOrWithout(m.Followers, id, on) }
}

// withOrWithout never returns nil: an empty list is what the server leaves.
func withOrWithout(list []string, x string, with bool) []string {
	out := make([]string, 0, len(list)+1)
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	if with {
		out = append(out, x)
	}
	return out
}

// A Cause is a reason for which a server publishes a message's id again that
// needs no one's hand. [Server.Touch] does it.
type Cause string

// The causes.
const (
	Preview     Cause = "preview"     // the server fetched a link: urls[].meta
	Translation Cause = "translation" // autotranslate: translations
	Receipt     Cause = "receipt"     // read by all: unread removed
	Blocks      Cause = "blocks"      // an app or a video conference: blocks
	Filled      Cause = "filled"      // attachments arrive later
	Mail        Cause = "mail"        // e-mail inbox: email
	Federated   Cause = "federated"   // federation.eventId
	Rekeyed     Cause = "rekeyed"     // end-to-end keys renewed: content
	Discussed   Cause = "discussed"   // dcount, dlm of a discussion's opener
	Repeated    Cause = "repeated"    // nothing changed: two instances, a double subscription
)

// causes is the one table of what each cause does to a message.
var causes = map[Cause]func(*Message, time.Time){
	Preview: func(m *Message, _ time.Time) {
		m.Links = slices.Clone(m.Links)
		if len(m.Links) == 0 {
			m.Links = []Link{{URL: "https://example.org/"}}
		}
		for i := range m.Links {
			m.Links[i].Preview = map[string]any{"pageTitle": "Example"}
		}
	},
	Translation: func(m *Message, _ time.Time) { m.extra("translations", map[string]any{"de": "(" + m.Text + ")"}) },
	Receipt:     func(m *Message, _ time.Time) { m.extra("unread", nil) },
	Blocks: func(m *Message, _ time.Time) {
		m.extra("blocks", []any{map[string]any{"type": "video_conf", "callId": "call"}})
	},
	Filled: func(m *Message, _ time.Time) {
		m.Attachments = append(m.Attachments[:len(m.Attachments):len(m.Attachments)], json.RawMessage(`{"title":"filled in later"}`))
	},
	Mail:      func(m *Message, _ time.Time) { m.extra("email", map[string]any{"messageId": "mail"}) },
	Federated: func(m *Message, _ time.Time) { m.extra("federation", map[string]any{"eventId": "$event"}) },
	Rekeyed: func(m *Message, _ time.Time) {
		m.extra("content", map[string]any{"algorithm": "rc.v1.aes-sha2", "ciphertext": "cipher"})
	},
	Discussed: func(m *Message, now time.Time) {
		if m.Discussion == "" {
			m.Discussion = newID()
		}
		m.DiscussCount++
		m.DiscussLast = now
	},
	Repeated: func(*Message, time.Time) {},
}

// extra sets one further field, or removes it where value is nil.
func (m *Message) extra(key string, value any) {
	e := make(map[string]any, len(m.Extra)+1)
	for k, v := range m.Extra {
		e[k] = v
	}
	e[key] = value
	if value == nil {
		delete(e, key)
	}
	m.Extra = e
}

// Touch publishes a message's id again for a cause. [Repeated] leaves its
// _updatedAt as it is too. It panics for a cause that isn't one.
func (s *Server) Touch(id string, c Cause) Message {
	change, ok := causes[c]
	if !ok {
		panic("pretend: no cause " + string(c))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entryLocked(id)
	if c == Repeated {
		s.publishLocked(e)
		return *e.msg
	}
	return *s.touchLocked(e, func(m *Message) { change(m, s.now()) })
}

package pretend

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// A Room as a test or a page needs it; a copy.
type Room struct {
	ID       string   `json:"_id"`
	Kind     string   `json:"t"` // c channel, p private group, d direct, l livechat, or whatever AddRoom was told
	Name     string   `json:"name"`
	Parent   string   `json:"prid,omitempty"` // of a discussion
	Members  []string `json:"members"`        // user ids, sorted
	ReadOnly bool     `json:"ro,omitempty"`
	Archived bool     `json:"archived,omitempty"`
}

// room is a room's record; the server's lock guards it.
type room struct {
	id, kind, name, fname string
	parent                string // prid
	topic                 string
	owner                 Author
	members               map[string]*membership
	users                 []*user // of a direct room, as it was made
	readOnly, archived    bool
	encrypted             bool
	created, updated      time.Time
	moved                 time.Time // lm: the newest message, thread replies left out
	last                  *entry
	list                  []*entry // by time, then by arrival
	deleted               []removal
}

// membership is a user's subscription to a room.
type membership struct {
	id              string
	user            *user
	roles           []string
	since, updated  time.Time
	seen            time.Time
	unread          int
	mentions, group int
}

// entry is a message's place: the message in it changes, the place stays.
type entry struct {
	msg  *Message
	room *room
}

func (r *room) public() Room {
	v := Room{ID: r.id, Kind: r.kind, Name: r.name, Parent: r.parent, ReadOnly: r.readOnly, Archived: r.archived}
	for id := range r.members {
		v.Members = append(v.Members, id)
	}
	slices.Sort(v.Members)
	return v
}

// AddChannel makes a public channel.
func (s *Server) AddChannel(name string, members ...User) Room {
	return s.AddRoom("c", name, members...)
}

// AddGroup makes a private group.
func (s *Server) AddGroup(name string, members ...User) Room { return s.AddRoom("p", name, members...) }

// AddRoom makes a room of any kind ("l" is livechat, unknown kinds are fine).
// The first member owns it. It panics where the name is taken.
func (s *Server) AddRoom(kind, name string, members ...User) Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roomByNameLocked(name) != nil {
		panic("pretend: the room " + name + " is there already")
	}
	r := s.newRoomLocked(newID(), kind, name)
	for _, m := range members {
		s.addMemberLocked(r, s.userLocked(m))
	}
	s.changedLocked()
	return r.public()
}

// AddDirect makes the direct room of these users, or finds it. With one or two
// of them its id says who they are; with more it is random.
func (s *Server) AddDirect(users ...User) Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*user, len(users))
	for i, u := range users {
		list[i] = s.userLocked(u)
	}
	return s.directLocked(list).public()
}

func (s *Server) directLocked(users []*user) *room {
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.id
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	key := strings.Join(ids, " ")
	if r := s.directs[key]; r != nil {
		return r
	}
	r := s.newRoomLocked(directID(ids), "d", "")
	s.directs[key] = r
	for _, id := range ids {
		r.users = append(r.users, s.users[id])
	}
	for _, id := range ids {
		s.addMemberLocked(r, s.users[id])
	}
	s.changedLocked()
	return r
}

// AddDiscussion makes a discussion below parent: a room of its own with a
// random name, a discussion-created message in the parent, and the parent's
// privacy.
func (s *Server) AddDiscussion(parent Room, title string, by User, members ...User) Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*user{s.userLocked(by)}
	for _, m := range members {
		list = append(list, s.userLocked(m))
	}
	return s.discussionLocked(s.roomLocked(parent), title, list).public()
}

func (s *Server) discussionLocked(p *room, title string, members []*user) *room {
	kind := p.kind
	if kind != "c" {
		kind = "p"
	}
	r := s.newRoomLocked(newID(), kind, newID())
	r.fname, r.parent = title, p.id
	for _, u := range members {
		s.addMemberLocked(r, u)
	}
	s.systemLocked(p, "discussion-created", title, members[0], func(m *Message) { m.Discussion = r.id })
	s.changedLocked()
	return r
}

func (s *Server) newRoomLocked(id, kind, name string) *room {
	now := s.now()
	r := &room{
		id: id, kind: kind, name: name, fname: name, members: map[string]*membership{},
		created: now, updated: now,
	}
	s.rooms[id] = r
	if name != "" {
		s.roomNames[name] = r
	}
	return r
}

func (s *Server) addMemberLocked(r *room, u *user) bool {
	if r.members[u.id] != nil {
		return false
	}
	now := s.now()
	m := &membership{id: newID(), user: u, since: now, updated: now, seen: now}
	if len(r.members) == 0 && r.kind != "d" {
		m.roles = []string{"owner"}
		r.owner = Author{ID: u.id, Username: u.username, Name: u.name}
	}
	r.members[u.id] = m
	r.updated = now
	s.notifyUserLocked(u.id, "subscriptions-changed", "inserted", s.lazySubscription(r, m))
	s.notifyUserLocked(u.id, "rooms-changed", "inserted", func() any { return s.roomDoc(r) })
	return true
}

func (s *Server) removeMemberLocked(r *room, u *user) bool {
	m := r.members[u.id]
	if m == nil {
		return false
	}
	delete(r.members, u.id)
	r.updated = s.now()
	u.removed = append(u.removed, removal{m.id, r.updated})
	s.notifyUserLocked(u.id, "subscriptions-changed", "removed",
		doc{{"_id", m.id}, {"rid", r.id}, {"u", u.author().doc()}, {"t", r.kind}})
	return true
}

func (u *user) author() Author { return Author{ID: u.id, Username: u.username, Name: u.name} }

// Join lets u into r; the room sees a `uj` message.
func (s *Server) Join(r Room, u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joinLocked(s.roomLocked(r), s.userLocked(u))
}

func (s *Server) joinLocked(r *room, u *user) {
	if s.addMemberLocked(r, u) {
		s.systemLocked(r, "uj", u.username, u, nil)
		s.changedLocked()
	}
}

// Invite lets u into r on by's word; the room sees an `au` message that names u.
func (s *Server) Invite(r Room, u, by User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inviteLocked(s.roomLocked(r), s.userLocked(u), s.userLocked(by))
}

func (s *Server) inviteLocked(r *room, u, by *user) {
	if s.addMemberLocked(r, u) {
		s.systemLocked(r, "au", u.username, by, nil)
		s.changedLocked()
	}
}

// Leave takes u out of r on his own word (`ul`).
func (s *Server) Leave(r Room, u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(s.roomLocked(r), s.userLocked(u), nil)
}

// Kick takes u out of r on by's word: the text of the `ru` message is u's
// username, which must not wake a bot of that name.
func (s *Server) Kick(r Room, u, by User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(s.roomLocked(r), s.userLocked(u), s.userLocked(by))
}

func (s *Server) leaveLocked(r *room, u, by *user) {
	if !s.removeMemberLocked(r, u) {
		return
	}
	kind := "ul"
	if by != nil {
		kind = "ru"
	} else {
		by = u
	}
	s.systemLocked(r, kind, u.username, by, nil)
	s.changedLocked()
}

// SetReadOnly closes r to all but its owner, or opens it.
func (s *Server) SetReadOnly(r Room, on bool) { s.setRoom(r, func(r *room) { r.readOnly = on }) }

// Archive puts r away, or takes it out again.
func (s *Server) Archive(r Room, on bool) { s.setRoom(r, func(r *room) { r.archived = on }) }

// Encrypt marks r as end-to-end encrypted, or not.
func (s *Server) Encrypt(r Room, on bool) { s.setRoom(r, func(r *room) { r.encrypted = on }) }

// Rename gives r another name.
func (s *Server) Rename(r Room, name string) {
	s.setRoom(r, func(r *room) {
		delete(s.roomNames, r.name)
		r.name, r.fname = name, name
		s.roomNames[name] = r
	})
}

func (s *Server) setRoom(r Room, change func(*room)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.roomLocked(r)
	change(have)
	have.updated = s.now()
	for id, m := range have.members {
		m.updated = have.updated
		s.notifyUserLocked(id, "subscriptions-changed", "updated", s.subscriptionDoc(have, m))
	}
	s.changedLocked()
}

// Rooms lists all rooms by name.
func (s *Server) Rooms() []Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Room, 0, len(s.rooms))
	for _, r := range s.rooms {
		list = append(list, r.public())
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Name != list[j].Name {
			return list[i].Name < list[j].Name
		}
		return list[i].ID < list[j].ID
	})
	return list
}

// FindRoom finds a room by id or name.
func (s *Server) FindRoom(idOrName string) (Room, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findRoomLocked(idOrName); r != nil {
		return r.public(), true
	}
	return Room{}, false
}

func (s *Server) findRoomLocked(idOrName string) *room {
	if r := s.rooms[idOrName]; r != nil {
		return r
	}
	return s.roomByNameLocked(strings.TrimPrefix(idOrName, "#"))
}

func (s *Server) roomByNameLocked(name string) *room {
	if name == "" {
		return nil
	}
	return s.roomNames[name]
}

// roomLocked is the record of a room that the caller got from this server.
func (s *Server) roomLocked(r Room) *room {
	if have := s.rooms[r.ID]; have != nil {
		return have
	}
	panic("pretend: no room " + r.Name + " on this server")
}

// canAccess tells whether u may read r: members, everyone in public channels,
// and whoever may read a discussion's parent.
func (s *Server) canAccess(u *user, r *room) bool {
	switch {
	case u == nil:
		return false
	case r.kind == "c" || r.members[u.id] != nil:
		return true
	case r.parent != "":
		p := s.rooms[r.parent]
		return p != nil && s.canAccess(u, p)
	}
	return false
}

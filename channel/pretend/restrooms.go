package pretend

import (
	"slices"
	"strings"
)

func (c *call) roomInfo() (doc, *refusal) {
	id := c.query("roomId")
	if id == "" {
		id = c.query("roomName")
	}
	r := c.s.findRoomLocked(id)
	if r == nil || !c.s.canAccess(c.user, r) {
		return nil, errNoRoom
	}
	return doc{{"room", c.s.roomDoc(r)}}, nil
}

// rooms lists the caller's rooms, or those whose _updatedAt is later than
// updatedSince. Every update sets that, also a reply that doesn't move lm.
func (c *call) rooms() (doc, *refusal) {
	since, no := c.moment("updatedSince")
	if no != nil {
		return nil, no
	}
	list := []doc{}
	for _, r := range c.s.roomsOf(c.user) {
		if since.IsZero() || r.updated.After(since) {
			list = append(list, c.s.roomDoc(r))
		}
	}
	return doc{{"update", list}, {"remove", []doc{}}}, nil
}

// roomsOf lists a user's rooms, by id.
func (s *Server) roomsOf(u *user) []*room {
	var list []*room
	for _, r := range s.rooms {
		if r.members[u.id] != nil {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *room) int { return strings.Compare(a.id, b.id) })
	return list
}

func (c *call) subscriptions() (doc, *refusal) {
	since, no := c.moment("updatedSince")
	if no != nil {
		return nil, no
	}
	list, gone := []doc{}, []doc{}
	for _, r := range c.s.roomsOf(c.user) {
		if m := r.members[c.user.id]; since.IsZero() || m.updated.After(since) {
			list = append(list, c.s.subscriptionDoc(r, m))
		}
	}
	if !since.IsZero() {
		for _, x := range c.user.removed {
			if x.at.After(since) {
				gone = append(gone, doc{{"_id", x.id}, {"_deletedAt", x.at}})
			}
		}
	}
	return doc{{"update", list}, {"remove", gone}}, nil
}

func (c *call) subscription() (doc, *refusal) {
	r := c.s.rooms[c.query("roomId")]
	if r == nil || r.members[c.user.id] == nil {
		return doc{{"subscription", nil}}, nil
	}
	return doc{{"subscription", c.s.subscriptionDoc(r, r.members[c.user.id])}}, nil
}

func (c *call) markRead() (doc, *refusal) {
	var b struct {
		RoomID      string `json:"rid"`
		Other       string `json:"roomId"`
		ReadThreads bool   `json:"readThreads"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	r := c.s.rooms[orText(b.RoomID, b.Other)]
	if r == nil || r.members[c.user.id] == nil {
		return nil, plain("error-invalid-subscription")
	}
	c.s.readLocked(r, c.user)
	return doc{}, nil
}

func (s *Server) readLocked(r *room, u *user) {
	m := r.members[u.id]
	m.unread, m.mentions, m.group = 0, 0, 0
	m.seen, m.updated = s.now(), s.now()
	s.notifyUserLocked(u.id, "subscriptions-changed", "updated", s.lazySubscription(r, m))
}

// roomBody is what most of channels.* and groups.* take.
type roomBody struct {
	RoomID    string   `json:"roomId"`
	RoomName  string   `json:"roomName"`
	UserID    string   `json:"userId"`
	UserIDs   []string `json:"userIds"`
	Username  string   `json:"username"`
	Usernames []string `json:"usernames"`
	JoinCode  string   `json:"joinCode"`
	Name      string   `json:"name"`
}

func (c *call) roomFrom(kind string) (roomBody, *room, *refusal) {
	var b roomBody
	if no := c.into(&b); no != nil {
		return b, nil, no
	}
	r, no := c.roomOfKind(orText(b.RoomID, b.RoomName), kind)
	return b, r, no
}

func (c *call) join() (doc, *refusal) {
	_, r, no := c.roomFrom("c")
	if no != nil {
		return nil, no
	}
	c.s.joinLocked(r, c.user)
	return doc{{"channel", c.s.roomDoc(r)}}, nil
}

func leave(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		_, r, no := c.roomFrom(kind)
		if no != nil {
			return nil, no
		}
		c.s.leaveLocked(r, c.user, nil)
		return doc{{kindName(kind), c.s.roomDoc(r)}}, nil
	}
}

func kindName(kind string) string {
	if kind == "c" {
		return "channel"
	}
	return "group"
}

func (s *Server) usersIn(b roomBody) []*user {
	var list []*user
	for _, n := range append(append([]string{b.UserID, b.Username}, b.UserIDs...), b.Usernames...) {
		if u := s.findUserLocked(n); u != nil {
			list = append(list, u)
		}
	}
	return list
}

// invite and kick need a member's, and an owner's or administrator's word.
func invite(kind string, kick bool) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		b, r, no := c.roomFrom(kind)
		if no != nil {
			return nil, no
		}
		if kick && !c.s.owns(c.user, r) && !c.user.has("admin") {
			return nil, c.s.denied("error-not-allowed", "Not allowed")
		}
		users := c.s.usersIn(b)
		if len(users) == 0 {
			return nil, errNoUser
		}
		for _, u := range users {
			if kick {
				c.s.leaveLocked(r, u, c.user)
			} else {
				c.s.inviteLocked(r, u, c.user)
			}
		}
		return doc{{kindName(kind), c.s.roomDoc(r)}}, nil
	}
}

func create(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		var b struct {
			Name     string   `json:"name"`
			Members  []string `json:"members"`
			ReadOnly bool     `json:"readOnly"`
			Extra    any      `json:"extraData"`
			Custom   any      `json:"customFields"`
			Excludes bool     `json:"excludeSelf"`
		}
		if no := c.into(&b); no != nil {
			return nil, no
		}
		switch {
		case b.Name == "" || strings.ContainsAny(b.Name, " /#@"):
			return nil, bad("error-invalid-room-name", b.Name+" is not a valid room name")
		case c.s.roomByNameLocked(b.Name) != nil:
			return nil, bad("error-duplicate-channel-name", "A channel with name '"+b.Name+"' exists")
		}
		r := c.s.newRoomLocked(newID(), kind, b.Name)
		r.readOnly = b.ReadOnly
		c.s.addMemberLocked(r, c.user)
		for _, n := range b.Members {
			if u := c.s.byName[n]; u != nil {
				c.s.addMemberLocked(r, u)
			}
		}
		c.s.changedLocked()
		return doc{{kindName(kind), c.s.roomDoc(r)}}, nil
	}
}

// createDirect answers with _id, t and usernames, but no uids.
func (c *call) createDirect() (doc, *refusal) {
	var b struct {
		Username  string `json:"username"`
		Usernames string `json:"usernames"`
		Excludes  bool   `json:"excludeSelf"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	users := []*user{c.user}
	for n := range strings.SplitSeq(orText(b.Usernames, b.Username), ",") {
		u := c.s.byName[strings.TrimSpace(n)]
		if u == nil {
			return nil, bad("error-invalid-user", "Invalid user")
		}
		users = append(users, u)
	}
	r := c.s.directLocked(users)
	return doc{{"room", doc{{"_id", r.id}, {"rid", r.id}, {"t", "d"}, {"usernames", r.usernames()}}}}, nil
}

func (c *call) directs() (doc, *refusal) {
	list := []doc{}
	for _, r := range c.s.roomsOf(c.user) {
		if r.kind == "d" {
			list = append(list, c.s.roomDoc(r))
		}
	}
	return c.paged("ims", list), nil
}

func listOf(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		list := []doc{}
		for _, r := range c.s.rooms {
			if r.kind == kind && c.s.canAccess(c.user, r) {
				list = append(list, c.s.roomDoc(r))
			}
		}
		slices.SortFunc(list, func(a, b doc) int { return strings.Compare(a[0].value.(string), b[0].value.(string)) })
		return c.paged(kindName(kind)+"s", list), nil
	}
}

func members(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		r, no := c.ofKind(kind)
		if no != nil {
			return nil, no
		}
		list := []doc{}
		for _, m := range r.members {
			list = append(list, m.user.doc())
		}
		slices.SortFunc(list, func(a, b doc) int { return strings.Compare(a[0].value.(string), b[0].value.(string)) })
		return c.paged("members", list), nil
	}
}

func info(kind string) func(*call) (doc, *refusal) {
	return func(c *call) (doc, *refusal) {
		r, no := c.ofKind(kind)
		if no != nil {
			return nil, no
		}
		return doc{{kindName(kind), c.s.roomDoc(r)}}, nil
	}
}

func (c *call) createDiscussion() (doc, *refusal) {
	var b struct {
		Parent string   `json:"prid"`
		Title  string   `json:"t_name"`
		Users  []string `json:"users"`
		Reply  string   `json:"reply"`
		PMID   string   `json:"pmid"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	p := c.s.rooms[b.Parent]
	switch {
	case p == nil || b.Title == "":
		return nil, bad("error-invalid-room", "Invalid room")
	case !c.s.canAccess(c.user, p) || (c.s.v.permission403 && p.members[c.user.id] == nil):
		return nil, c.s.denied("error-action-not-allowed", "Not allowed")
	}
	list := []*user{c.user}
	for _, n := range b.Users {
		if u := c.s.byName[n]; u != nil {
			list = append(list, u)
		}
	}
	return doc{{"discussion", c.s.roomDoc(c.s.discussionLocked(p, b.Title, list))}}, nil
}

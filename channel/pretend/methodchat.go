package pretend

import (
	"encoding/json"
	"time"
)

// The methods of the realtime API that older clients use. All run with the
// server's lock held and need a user.

var notLoggedIn = ddpErr("error-invalid-user", "Invalid user")

func (c *session) methodSend(p []json.RawMessage) (any, *ddpError) {
	u := c.user.Load()
	if u == nil {
		return nil, notLoggedIn
	}
	var d draft
	read(p, &d)
	m, no := c.server.sendLocked(u, d)
	if no != nil {
		return nil, no.ddp()
	}
	return m.doc(c.server.v), nil
}

func (c *session) methodUpdate(p []json.RawMessage) (any, *ddpError) {
	var d draft
	read(p, &d)
	e, bad := c.own(d.ID)
	if bad != nil {
		return nil, bad
	}
	c.server.editLocked(e, c.user.Load(), d.Text)
	return nil, nil
}

func (c *session) methodDelete(p []json.RawMessage) (any, *ddpError) {
	var d draft
	read(p, &d)
	e, bad := c.own(d.ID)
	if bad != nil {
		return nil, bad
	}
	c.server.deleteLocked(e, c.user.Load())
	return nil, nil
}

// own finds a message that the session's user may change.
func (c *session) own(id string) (*entry, *ddpError) {
	u, e := c.user.Load(), c.server.messages[id]
	switch {
	case u == nil:
		return nil, notLoggedIn
	case e == nil:
		return nil, ddpErr("error-action-not-allowed", "Not allowed")
	}
	return e, c.server.mayChange(u, e).ddp()
}

func (c *session) methodReact(p []json.RawMessage) (any, *ddpError) {
	var emoji, id string
	var should *bool
	read(p, &emoji, &id, &should)
	u, e := c.user.Load(), c.server.messages[id]
	if u == nil {
		return nil, notLoggedIn
	}
	name, no := reactionName(emoji)
	if no != nil {
		return nil, no.ddp()
	}
	if e == nil || !c.server.canAccess(u, e.room) {
		return nil, ddpErr("error-not-allowed", "Not allowed")
	}
	has := e.msg.hasReaction(name, u.username)
	if on := (should == nil && !has) || (should != nil && *should); on != has {
		c.server.reactLocked(e, u, name, on)
	}
	return nil, nil
}

// methodHistory: rid, end (null: now), how many, and when the user saw it last.
func (c *session) methodHistory(p []json.RawMessage) (any, *ddpError) {
	var rid string
	var end json.RawMessage
	n := 20
	read(p, &rid, &end, &n)
	u, r := c.user.Load(), c.server.rooms[rid]
	if u == nil {
		return nil, notLoggedIn
	}
	if r == nil || !c.server.canAccess(u, r) {
		return false, nil
	}
	w := span{threads: true}
	if t, ok := parseTime(end); ok {
		w.latest = t
	}
	return doc{{"messages", r.page(w, 0, n, c.server.v)}, {"unreadNotLoaded", 0}}, nil
}

// visible finds a room that the session's user may read.
func (c *session) visible(id string) (*room, *user, *ddpError) {
	u := c.user.Load()
	if u == nil {
		return nil, nil, notLoggedIn
	}
	r := c.server.findRoomLocked(id)
	if r == nil || !c.server.canAccess(u, r) {
		return nil, u, ddpErr("error-not-allowed", "Not allowed")
	}
	return r, u, nil
}

func (c *session) methodJoin(p []json.RawMessage) (any, *ddpError) {
	r, u, bad := c.visible(parameter(p))
	if bad != nil {
		return nil, bad
	}
	c.server.joinLocked(r, u)
	return true, nil
}

func (c *session) methodLeave(p []json.RawMessage) (any, *ddpError) {
	r, u, bad := c.visible(parameter(p))
	if bad != nil {
		return nil, bad
	}
	c.server.leaveLocked(r, u, nil)
	return nil, nil
}

func (c *session) methodDirect(p []json.RawMessage) (any, *ddpError) {
	u := c.user.Load()
	if u == nil {
		return nil, notLoggedIn
	}
	users := []*user{u}
	for i := range p {
		o := c.server.byName[parameter(p[i:])]
		if o == nil {
			return nil, ddpErr("error-invalid-user", "Invalid user")
		}
		users = append(users, o)
	}
	r := c.server.directLocked(users)
	return doc{{"t", "d"}, {"rid", r.id}, {"usernames", r.usernames()}}, nil
}

func (c *session) methodRoomID(p []json.RawMessage) (any, *ddpError) {
	r, _, bad := c.visible(parameter(p))
	if bad != nil {
		return nil, bad
	}
	return r.id, nil
}

func (c *session) methodRoomName(p []json.RawMessage) (any, *ddpError) {
	r, u, bad := c.visible(parameter(p))
	if bad != nil {
		return nil, bad
	}
	name, _ := r.nameFor(u)
	return name, nil
}

// methodRooms and methodSubscriptions take the time of the last update, or
// nothing: then the answer is a plain list.
func (c *session) methodRooms(p []json.RawMessage) (any, *ddpError) {
	return c.changedSince(p, func(r *room, _ *membership) (doc, time.Time) { return c.server.roomDoc(r), r.updated })
}

func (c *session) methodSubscriptions(p []json.RawMessage) (any, *ddpError) {
	return c.changedSince(p, func(r *room, m *membership) (doc, time.Time) { return c.server.subscriptionDoc(r, m), m.updated })
}

func (c *session) changedSince(p []json.RawMessage, show func(*room, *membership) (doc, time.Time)) (any, *ddpError) {
	u := c.user.Load()
	if u == nil {
		return nil, notLoggedIn
	}
	var since time.Time
	if len(p) > 0 {
		since, _ = parseTime(p[0])
	}
	list := []doc{}
	for _, r := range c.server.roomsOf(u) {
		if d, updated := show(r, r.members[u.id]); since.IsZero() || updated.After(since) {
			list = append(list, d)
		}
	}
	if since.IsZero() {
		return list, nil
	}
	return doc{{"update", list}, {"remove", []doc{}}}, nil
}

func (c *session) methodMessage(p []json.RawMessage) (any, *ddpError) {
	u, e := c.user.Load(), c.server.messages[parameter(p)]
	if u == nil {
		return nil, notLoggedIn
	}
	if e == nil || !c.server.canAccess(u, e.room) {
		return nil, nil
	}
	return e.msg.doc(c.server.v), nil
}

func (c *session) methodRead(p []json.RawMessage) (any, *ddpError) {
	r, u, bad := c.visible(parameter(p))
	if bad != nil {
		return nil, bad
	}
	if r.members[u.id] != nil {
		c.server.readLocked(r, u)
	}
	return nil, nil
}

func (c *session) methodRemoveToken(p []json.RawMessage) (any, *ddpError) {
	var b tokenBody
	read(p, &b)
	u := c.user.Load()
	if u == nil {
		return nil, notLoggedIn
	}
	for _, t := range u.tokens {
		if t.name == b.Name && t.expires.IsZero() {
			c.server.revokeLocked(t.value)
			return nil, nil
		}
	}
	return nil, ddpErr("error-token-does-not-exists", "Token does not exist")
}

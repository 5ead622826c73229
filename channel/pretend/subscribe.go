package pretend

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// publications that Meteor clients make beside streams; they are ready and
// publish nothing.
var publications = []string{
	"userData", "activeUsers", "roles", "meteor.loginServiceConfiguration",
	"meteor_autoupdate_clientVersions", "meteor_acceptedClientVersions",
}

// subscribe answers a sub with ready or nosub.
func (c *session) subscribe(p packet) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	u := c.user.Load()
	b := &sub{id: p.ID, session: c, user: u, topic: topic{p.Name, firstString(p.Params)}}
	b.ready = !strings.HasPrefix(b.stream, "stream-")
	s.count.add(u, "sub "+b.stream)
	if c.refuseSub(b) {
		return
	}
	if old := c.subs[b.id]; old != nil {
		return // Meteor ignores a second sub of one id
	}
	c.subs[b.id] = b
	s.hub.add(b)
	c.ready(b)
	if f, ok := s.faults.find(NosubLate, u, ""); ok && b.stream == roomMessages {
		c.after(time.Duration(f.Delay), func() { c.drop(b, nil) })
	}
	if f, ok := s.faults.find(Flap, u, ""); ok && b.stream == roomMessages {
		c.after(time.Duration(f.Delay), c.cut)
	}
}

func firstString(params []json.RawMessage) string {
	var v string
	if len(params) > 0 && json.Unmarshal(params[0], &v) != nil {
		return ""
	}
	return v
}

func (c *session) ready(b *sub) {
	k := kindOther
	if b.stream == roomMessages {
		k = kindReady
	}
	c.send(k, encode(nil, doc{{"msg", "ready"}, {"subs", []string{b.id}}}, onSocket))
}

// refuseSub answers nosub where a fault, the limiter or a right wants it.
func (c *session) refuseSub(b *sub) bool {
	s := c.server
	if b.stream == roomMessages {
		switch {
		case s.faults.use(Nosub, b.user, ""):
			c.nosub(b.id, nil)
			return true
		case s.faults.use(NosubError, b.user, ""):
			c.nosub(b.id, notAllowed())
			return true
		}
		if f, ok := s.faults.find(NosubRateLimited, b.user, ""); ok {
			c.nosub(b.id, tooMany(time.Duration(f.Delay)))
			return true
		}
	}
	if wait, ok := c.allow("sub", b.stream); !ok {
		c.nosub(b.id, tooMany(wait))
		return true
	}
	if b.ready && !slices.Contains(publications, b.stream) {
		c.nosub(b.id, ddpErr(404, "Subscription '"+b.stream+"' not found"))
		return true
	}
	if !s.mayHear(b) {
		var why *ddpError
		if s.v.nosubError {
			why = notAllowed()
		}
		c.nosub(b.id, why)
		return true
	}
	return false
}

// mayHear is a stream's allowRead. __my_messages__ is open to all: an
// anonymous subscription is ready and stays silent.
func (s *Server) mayHear(b *sub) bool {
	owner, _, _ := strings.Cut(b.event, "/")
	switch b.stream {
	case roomMessages:
		r := s.rooms[b.event]
		return b.event == myMessages || (r != nil && s.canAccess(b.user, r))
	case notifyRoom:
		r := s.rooms[owner]
		return r != nil && s.canAccess(b.user, r)
	case notifyUser:
		return b.user != nil && b.user.id == owner
	}
	return true
}

func (c *session) nosub(id string, why *ddpError) {
	d := doc{{"msg", "nosub"}, {"id", id}}
	if why != nil {
		d = d.with("error", why.doc())
	}
	c.send(kindOther, encode(nil, d, onSocket))
}

// unsubscribe is answered by a bare nosub.
func (c *session) unsubscribe(id string) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := c.subs[id]; b != nil {
		s.hub.remove(b)
		delete(c.subs, id)
	}
	c.nosub(id, nil)
	s.changedLocked()
}

// drop takes a subscription away from the server's side.
func (c *session) drop(b *sub, why *ddpError) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.subs[b.id] != b {
		return
	}
	s.hub.remove(b)
	delete(c.subs, b.id)
	c.nosub(b.id, why)
	s.changedLocked()
}

// presenceLocked changes whose socket this is: a user with none is offline.
func (c *session) presenceLocked(u *user) {
	if old := c.user.Swap(u); old != nil {
		if old.sockets--; old.sockets == 0 {
			old.status = "offline"
		}
	}
	if u != nil {
		u.sockets++
		u.status = "online"
	}
}

// becomeLocked makes u the session's user. Meteor runs every subscription made
// before again for the new user, each answered by a second ready. The
// streamer leaves them as they are: made by nobody, and silent.
func (c *session) becomeLocked(u *user, token string) {
	s := c.server
	c.presenceLocked(u)
	c.token = token
	if s.v.streamer {
		return
	}
	ids := make([]string, 0, len(c.subs))
	for id := range c.subs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		b := c.subs[id]
		s.hub.remove(b)
		b.user = u
		if !s.mayHear(b) {
			delete(c.subs, id)
			c.nosub(id, nil)
			continue
		}
		s.hub.add(b)
		c.ready(b)
	}
}

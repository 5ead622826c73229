package pretend

import (
	"net/url"
	"sort"
	"strings"
)

// roomDoc is a room as rooms.get and rooms.info show it.
func (s *Server) roomDoc(r *room) doc {
	d := doc{{"_id", r.id}, {"t", r.kind}}
	if r.kind == "d" {
		d = d.with("usernames", r.usernames()).with("uids", r.uids())
	} else {
		d = d.with("name", r.name).text("fname", r.fname).with("u", doc{{"_id", r.owner.ID}, {"username", r.owner.Username}})
	}
	d = d.with("usersCount", len(r.members)).with("msgs", len(r.list)).with("ts", r.created)
	d = d.text("topic", r.topic).text("prid", r.parent).flag("encrypted", r.encrypted).flag("archived", r.archived)
	if r.kind != "d" {
		d = d.with("ro", r.readOnly).with("sysMes", true).with("default", r.name == "general")
	}
	d = d.date("lm", r.moved)
	if r.last != nil {
		d = d.with("lastMessage", r.last.msg.doc(s.v))
	}
	return d.with("_updatedAt", r.updated)
}

func (r *room) usernames() []string {
	list := make([]string, len(r.users))
	for i, u := range r.users {
		list[i] = u.username
	}
	return list
}

func (r *room) uids() []string {
	list := make([]string, len(r.users))
	for i, u := range r.users {
		list[i] = u.id
	}
	return list
}

// nameFor is what a room is called in u's subscription: the other people of a
// direct room, else its own name.
func (r *room) nameFor(u *user) (name, fname string) {
	if r.kind != "d" {
		return r.name, r.fname
	}
	var names, fnames []string
	for _, o := range r.users {
		if o != u || len(r.users) == 1 {
			names, fnames = append(names, o.username), append(fnames, o.name)
		}
	}
	return strings.Join(names, ", "), strings.Join(fnames, ", ")
}

// subscriptionDoc is a membership as subscriptions.get shows it.
func (s *Server) subscriptionDoc(r *room, m *membership) doc {
	name, fname := r.nameFor(m.user)
	d := doc{
		{"_id", m.id},
		{"rid", r.id},
		{"t", r.kind},
		{"name", name},
		{"fname", fname},
		{"u", m.user.author().doc()},
		{"open", true},
		{"alert", r.moved.After(m.seen)},
		{"unread", m.unread},
		{"userMentions", m.mentions},
		{"groupMentions", m.group},
		{"ts", m.since},
		{"ls", m.seen},
	}
	if len(m.roles) > 0 {
		d = d.with("roles", m.roles)
	}
	return d.text("prid", r.parent).flag("ro", r.readOnly).flag("archived", r.archived).with("_updatedAt", m.updated)
}

// userDoc is a user as users.info and users.list show him.
func (u *user) doc() doc {
	d := doc{
		{"_id", u.id},
		{"type", u.kind()},
		{"status", u.status},
		{"active", u.active},
		{"name", u.name},
		{"utcOffset", 0},
		{"username", u.username},
		{"roles", u.roles},
	}
	return d.text("statusText", u.statusText).flag("federated", u.remote)
}

// meDoc is a user as GET /me shows him to himself. 3.4 shows a password hash
// too, which is why nobody may log such a body.
func (s *Server) meDoc(u *user) doc {
	d := doc{{"_id", u.id}, {"username", u.username}, {"name", u.name}, {"active", u.active}, {"roles", u.roles}}
	d = d.with("emails", []doc{{{"address", u.username + "@example.org"}, {"verified", true}}})
	if s.v.fullUsers {
		d = d.with("services", doc{{"password", doc{{"bcrypt", "$2b$10$" + strings.Repeat("x", 53)}}}})
	}
	d = d.with("status", u.status).text("statusText", u.statusText).with("statusConnection", u.status)
	d = d.with("utcOffset", 0).with("settings", doc{{"preferences", doc{}}})
	return d.with("avatarUrl", "/avatar/"+u.username)
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func pathEscape(s string) string { return url.PathEscape(s) }

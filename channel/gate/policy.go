package gate

import (
	"slices"
	"strings"

	"rcsupervisor/profile"
)

// A Policy is access.yaml made for looking up: what it costs to judge a
// message does not depend on how many people or rooms are listed. It never
// changes; a change of access is a new Policy.
type Policy struct {
	people   map[string]profile.Role
	rooms    map[string]bool // on; true: only when mentioned
	ignored  Set
	siblings sorted
	commands Set  // of members, in lower case
	askerToo bool // an asker may approve what his question led to
}

// Compile makes a Policy. siblings are the user ids of this supervisor's other
// bots on the same server; the slice is kept and must not be changed. Where
// access says two things of one id the narrower holds: blocked before member
// before owner, a mention asked for before none.
func Compile(a profile.Access, siblings []string) *Policy {
	p := &Policy{
		people:   make(map[string]profile.Role, len(a.People)),
		rooms:    make(map[string]bool, len(a.Rooms)),
		ignored:  NewSet(a.IgnoreSenders...),
		siblings: inOrder(siblings),
		commands: make(Set, len(a.MemberCommands)),
		askerToo: a.Approvals == "asker",
	}
	for _, person := range a.People {
		if person.ID == "" {
			continue
		}
		if had, ok := p.people[person.ID]; !ok || narrower(person.Role, had) {
			p.people[person.ID] = person.Role
		}
	}
	for _, r := range a.Rooms {
		if r.ID != "" {
			p.rooms[r.ID] = p.rooms[r.ID] || r.Mention
		}
	}
	for _, c := range a.MemberCommands {
		p.commands[strings.ToLower(c)] = struct{}{}
	}
	return p
}

// sorted is ids in their order. A thousand bots of one server are siblings of
// each other, so this is one list for all of them and not a set for each.
type sorted []string

func inOrder(ids []string) sorted {
	if slices.IsSorted(ids) {
		return ids // shared, and never changed
	}
	return slices.Sorted(slices.Values(ids))
}

// Has reports whether id is among them. The empty id never is.
func (s sorted) Has(id string) bool {
	_, ok := slices.BinarySearch(s, id)
	return ok && id != ""
}

// narrower reports whether role a allows less than b. A role that is none of
// ours allows nothing.
func narrower(a, b profile.Role) bool { return rank(a) < rank(b) }

func rank(r profile.Role) int {
	switch r {
	case profile.Owner:
		return 2
	case profile.Member:
		return 1
	}
	return 0
}

// Role returns what a person is, "" for a stranger.
func (p *Policy) Role(user string) profile.Role { return p.people[user] }

// LetIn reports whether a person may ask.
func (p *Policy) LetIn(user string) bool { return rank(p.people[user]) > 0 }

// Room reports whether a room is on, and whether the bot has to be mentioned
// in it.
func (p *Policy) Room(id string) (on, mention bool) {
	mention, on = p.rooms[id]
	return on, mention
}

// allows reports whether somebody of that role may give a command. The name is
// in lower case.
func (p *Policy) allows(role profile.Role, name string) bool {
	return role == profile.Owner || role == profile.Member && p.commands.Has(name)
}

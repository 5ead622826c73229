package profile

import (
	"maps"
	"slices"
	"strings"
)

// Grants are what a home's files give: who may talk, and what answers with
// which rights. An agent can write its own home's files, so what they give
// more than before is believed only when a person says so ([Narrow]); the rest
// of the settings gives nobody anything.
type Grants struct {
	Agent  AgentSettings
	Access Access
}

// GrantsOf are those of a profile's files.
func GrantsOf(p Profile) Grants { return Grants{Agent: p.Settings.Agent, Access: p.Access} }

// Believed reports whether all the files say may apply at once: no agent that
// could have written them runs (echo runs nothing), or it runs as another user
// than the one they belong to. g are the grants in use, not those of the file.
func (g Grants) Believed(fileOwner, agentUID int) bool {
	return g.Agent.Kind == "echo" || fileOwner != agentUID
}

// A Widening is one thing that a file gives more than before.
type Widening struct {
	Kind string // one of the Wider constants
	ID   string // of the person, room or sender; the command; or the key under agent
	Name string // the person's or room's, "" for others
	Text string // a sentence's middle, as in "status" and "plan": person X becomes owner
}

// The kinds of widening.
const (
	WiderOwner      = "owner"
	WiderPerson     = "person"
	WiderUnblocked  = "unblocked"
	WiderRoom       = "room"
	WiderMention    = "mention"
	WiderSender     = "sender"
	WiderReferences = "references"
	WiderCommand    = "command"
	WiderApprovals  = "approvals"
	WiderAgent      = "agent"
)

// Widens lists what new gives more than old. It is a pure function and empty
// exactly when nothing is given.
func Widens(old, new Grants) []Widening {
	_, w := Narrow(old, new)
	return w
}

// Narrow splits a change in two: what may be in use at once, which gives no
// more than either old or new, and what new gives beyond old, which waits for
// a person. Without widenings the first is new itself.
//
// What is in use is what the next change is to be compared with: something
// that a file took away and gives again waits too.
func Narrow(old, new Grants) (inUse Grants, pending []Widening) {
	inUse = Grants{Agent: cloneAgent(new.Agent), Access: cloneAccess(new.Access)}
	pending = narrowPeople(old.Access.People, &inUse.Access.People)
	pending = append(pending, narrowRooms(old.Access.Rooms, &inUse.Access.Rooms)...)
	pending = append(pending, narrowAccess(old.Access, &inUse.Access)...)
	pending = append(pending, narrowAgent(old.Agent, &inUse.Agent)...)
	return inUse, pending
}

// rank orders roles by what they give. A stranger may ask to be let in; the
// blocked may not.
var rank = map[Role]int{Blocked: 0, "": 1, Member: 2, Owner: 3}

func narrowPeople(old []Person, people *[]Person) (pending []Widening) {
	was := make(map[string]Person, len(old))
	for _, p := range old {
		was[p.ID] = p
	}
	var kept []Person
	for _, p := range *people {
		before, new := was[p.ID].Role, p.Role
		delete(was, p.ID)
		if rank[new] > rank[before] {
			pending = append(pending, widerPerson(p.ID, p.Name, before, new))
			p.Role = before
		}
		if p.Role != "" {
			kept = append(kept, p)
		}
	}
	for _, p := range old { // in their order: who is no longer there
		if _, gone := was[p.ID]; gone && p.Role == Blocked {
			pending = append(pending, widerPerson(p.ID, p.Name, Blocked, ""))
			kept = append(kept, p)
		}
	}
	*people = kept
	return pending
}

func widerPerson(id, name string, before, after Role) Widening {
	w := Widening{ID: id, Name: name}
	switch {
	case after == Owner:
		w.Kind, w.Text = WiderOwner, "person "+id+" becomes owner"
	case before == Blocked:
		w.Kind, w.Text = WiderUnblocked, "person "+id+" is no longer blocked"
	default:
		w.Kind, w.Text = WiderPerson, "person "+id+" is let in"
	}
	return w
}

func narrowRooms(old []Room, rooms *[]Room) (pending []Widening) {
	was := make(map[string]Room, len(old))
	for _, r := range old {
		was[r.ID] = r
	}
	var kept []Room
	for _, r := range *rooms {
		before, on := was[r.ID]
		switch {
		case !on:
			text := "room " + r.ID + " is on"
			if !r.Mention {
				text += ", without a mention"
			}
			pending = append(pending, Widening{Kind: WiderRoom, ID: r.ID, Name: r.Name, Text: text})
			continue
		case before.Mention && !r.Mention:
			pending = append(pending, Widening{
				Kind: WiderMention, ID: r.ID, Name: r.Name, Text: "room " + r.ID + " needs no mention",
			})
			r.Mention = true
		}
		kept = append(kept, r)
	}
	*rooms = kept
	return pending
}

func narrowAccess(old Access, a *Access) (pending []Widening) {
	for _, id := range old.IgnoreSenders {
		if !slices.Contains(a.IgnoreSenders, id) {
			pending = append(pending, Widening{Kind: WiderSender, ID: id, Text: "sender " + id + " is no longer ignored"})
			a.IgnoreSenders = append(a.IgnoreSenders, id)
		}
	}
	if a.AllowContextReferences && !old.AllowContextReferences {
		pending = append(pending, Widening{Kind: WiderReferences, Text: "context references are allowed"})
		a.AllowContextReferences = false
	}
	a.MemberCommands = slices.DeleteFunc(a.MemberCommands, func(c string) bool {
		if slices.Contains(old.MemberCommands, c) {
			return false
		}
		pending = append(pending, Widening{Kind: WiderCommand, ID: c, Text: "members may use " + c})
		return true
	})
	if a.Approvals == "asker" && old.Approvals != "asker" {
		pending = append(pending, Widening{Kind: WiderApprovals, Text: "the asker may approve"})
		a.Approvals = old.Approvals
	}
	return pending
}

// narrowAgent lets nothing under agent change by itself but that it gets fewer
// secrets: of any other change nobody can tell whether it gives more.
func narrowAgent(old AgentSettings, a *AgentSettings) (pending []Widening) {
	a.Secrets = slices.DeleteFunc(a.Secrets, func(name string) bool {
		if slices.Contains(old.Secrets, name) {
			return false
		}
		pending = append(pending, Widening{Kind: WiderAgent, ID: "agent.secrets", Text: "the agent gets the secret " + name})
		return true
	})
	before, after := Settings{Agent: old}, Settings{Agent: *a}
	for _, k := range settingsKeys {
		if !strings.HasPrefix(k.path, "agent.") || k.path == "agent.secrets" || k.same(&before, &after) {
			continue
		}
		text := k.path + " changes"
		if !k.secret {
			text += " from " + k.show(&before) + " to " + k.show(&after)
		}
		pending = append(pending, Widening{Kind: WiderAgent, ID: k.path, Text: text})
		k.copy(&after, &before)
	}
	*a = after.Agent
	return pending
}

func cloneAgent(a AgentSettings) AgentSettings {
	a.Command, a.Secrets, a.Env = slices.Clone(a.Command), slices.Clone(a.Secrets), maps.Clone(a.Env)
	return a
}

func cloneAccess(a Access) Access {
	a.People, a.Rooms = slices.Clone(a.People), slices.Clone(a.Rooms)
	a.IgnoreSenders, a.MemberCommands = slices.Clone(a.IgnoreSenders), slices.Clone(a.MemberCommands)
	return a
}

package profile

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// state is one point of all that can be given to one person, in one room, by
// one sender, with one command: each number is how much.
type state struct{ role, room, heard, command, approvals, references int }

var most = state{role: 3, room: 2, heard: 1, command: 1, approvals: 1, references: 1}

func (s state) grants() Grants {
	var g Grants
	g.Agent.Kind = "acp"
	if role := [...]Role{Blocked, "", Member, Owner}[s.role]; role != "" {
		g.Access.People = []Person{{ID: "p", Role: role}}
	}
	if s.room > 0 {
		g.Access.Rooms = []Room{{ID: "r", Mention: s.room == 1}}
	}
	if s.heard == 0 {
		g.Access.IgnoreSenders = []string{"s"}
	}
	if s.command > 0 {
		g.Access.MemberCommands = append(g.Access.MemberCommands, "stop")
	}
	g.Access.MemberCommands = append(g.Access.MemberCommands, "new")
	g.Access.Approvals = [...]string{"owner", "asker"}[s.approvals]
	g.Access.AllowContextReferences = s.references > 0
	return g
}

func (s state) fields() []int {
	return []int{s.role, s.room, s.heard, s.command, s.approvals, s.references}
}

func fromFields(f []int) state { return state{f[0], f[1], f[2], f[3], f[4], f[5]} }

// all states, by counting.
func states() []state {
	limits := most.fields()
	f := make([]int, len(limits))
	var all []state
	for {
		all = append(all, fromFields(f))
		i := 0
		for ; i < len(f); i++ {
			if f[i]++; f[i] <= limits[i] {
				break
			}
			f[i] = 0
		}
		if i == len(f) {
			return all
		}
	}
}

// Between any two states: what is in use is the lesser of each, and something
// is pending for each that is more, and only then.
func TestNarrowIsExhaustive(t *testing.T) {
	all := states()
	if len(all) != 4*3*2*2*2*2 {
		t.Fatal(len(all))
	}
	for _, old := range all {
		og := old.grants()
		for _, new := range all {
			of, nf := old.fields(), new.fields()
			lesser, wider := make([]int, len(of)), 0
			for i := range of {
				lesser[i] = min(of[i], nf[i])
				if nf[i] > of[i] {
					wider++
				}
			}
			inUse, pending := Narrow(og, new.grants())
			if want := fromFields(lesser).grants(); !equalGrants(inUse, want) {
				t.Fatalf("%+v to %+v: in use %+v, want %+v", old, new, inUse, want)
			}
			if len(pending) != wider {
				t.Fatalf("%+v to %+v: pending %v", old, new, pending)
			}
		}
	}
}

func equalGrants(a, b Grants) bool {
	as, bs := Settings{Agent: a.Agent}, Settings{Agent: b.Agent}
	return settingsKeys.equal(&as, &bs) && accessKeys.equal(&a.Access, &b.Access)
}

// Every field is known to this file: a new one has to be given its meaning in
// Narrow and a place above or below.
func TestEveryGrantIsKnown(t *testing.T) {
	for _, c := range []struct {
		v    any
		want []string
	}{
		{Grants{}, []string{"Agent", "Access"}},
		{Access{}, []string{"People", "Rooms", "IgnoreSenders", "MemberCommands", "Approvals", "AllowContextReferences", "SharedMemoryWarning"}},
		{Person{}, []string{"ID", "Name", "Role"}},
		{Room{}, []string{"ID", "Name", "Mention"}},
		{AgentSettings{}, []string{"Kind", "Command", "Secrets", "Env", "IdleStop", "ApprovalTimeout"}},
	} {
		var got []string
		for f := range reflect.TypeOf(c.v).Fields() {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%T has the fields %v", c.v, got)
		}
	}
	// The key table says of the same keys that they widen.
	for _, k := range settingsKeys {
		if want := len(k.path) > 6 && k.path[:6] == "agent."; k.widens != want {
			t.Errorf("%s: widens is %v", k.path, k.widens)
		}
	}
	for _, k := range accessKeys {
		if want := k.path != "shared_memory_warning"; k.widens != want {
			t.Errorf("%s: widens is %v", k.path, k.widens)
		}
	}
}

// Anything under agent waits, whatever it is; all keep what they were.
func TestAnyChangeUnderAgentWaits(t *testing.T) {
	base := Grants{Agent: AgentSettings{
		Kind: "exec", Command: []string{"a"}, Secrets: []string{"A", "B"}, Env: map[string]string{"X": "1"},
		IdleStop: time.Minute, ApprovalTimeout: time.Minute,
	}}
	for _, c := range []struct {
		key    string
		change func(*AgentSettings)
	}{
		{"agent.kind", func(a *AgentSettings) { a.Kind = "acp" }},
		{"agent.kind", func(a *AgentSettings) { a.Kind = "echo" }},
		{"agent.command", func(a *AgentSettings) { a.Command = []string{"b"} }},
		{"agent.command", func(a *AgentSettings) { a.Command = []string{"a", "--yolo"} }},
		{"agent.secrets", func(a *AgentSettings) { a.Secrets = []string{"A", "B", "C"} }},
		{"agent.env", func(a *AgentSettings) { a.Env = nil }},
		{"agent.env", func(a *AgentSettings) { a.Env = map[string]string{"X": "2"} }},
		{"agent.idle_stop", func(a *AgentSettings) { a.IdleStop = 0 }},
		{"agent.approval_timeout", func(a *AgentSettings) { a.ApprovalTimeout = time.Hour }},
	} {
		new := Grants{Agent: cloneAgent(base.Agent)}
		c.change(&new.Agent)
		inUse, pending := Narrow(base, new)
		if len(pending) != 1 || pending[0].Kind != WiderAgent || pending[0].ID != c.key {
			t.Errorf("%s: %+v", c.key, pending)
		}
		if !equalGrants(inUse, base) {
			t.Errorf("%s: in use %+v", c.key, inUse)
		}
		if c.key == "agent.command" || c.key == "agent.env" {
			if pending[0].Text != c.key+" changes" {
				t.Errorf("a value that may be secret is shown: %s", pending[0].Text)
			}
		}
	}
	fewer := Grants{Agent: cloneAgent(base.Agent)}
	fewer.Agent.Secrets = []string{"B"}
	if inUse, pending := Narrow(base, fewer); len(pending) != 0 || !equalGrants(inUse, fewer) {
		t.Errorf("fewer secrets wait: %v", pending)
	}
}

func TestWideningsAreToldApart(t *testing.T) {
	old := Grants{Access: Access{
		People:        []Person{{ID: "b", Name: "Bob", Role: Blocked}, {ID: "c", Role: Blocked}, {ID: "m", Role: Member}},
		Rooms:         []Room{{ID: "r", Mention: true}},
		IgnoreSenders: []string{"x"}, Approvals: "owner",
	}}
	new := Grants{Access: Access{
		People: []Person{{ID: "b", Name: "Bob", Role: Member}, {ID: "m", Role: Owner}, {ID: "n", Name: "New", Role: Member}},
		Rooms:  []Room{{ID: "r"}, {ID: "s", Mention: true}, {ID: "t"}}, MemberCommands: []string{"stop"},
		Approvals: "asker", AllowContextReferences: true,
	}}
	want := []Widening{
		{WiderUnblocked, "b", "Bob", "person b is no longer blocked"},
		{WiderOwner, "m", "", "person m becomes owner"},
		{WiderPerson, "n", "New", "person n is let in"},
		{WiderUnblocked, "c", "", "person c is no longer blocked"},
		{WiderMention, "r", "", "room r needs no mention"},
		{WiderRoom, "s", "", "room s is on"},
		{WiderRoom, "t", "", "room t is on, without a mention"},
		{WiderSender, "x", "", "sender x is no longer ignored"},
		{WiderReferences, "", "", "context references are allowed"},
		{WiderCommand, "stop", "", "members may use stop"},
		{WiderApprovals, "", "", "the asker may approve"},
	}
	if d := cmp.Diff(want, Widens(old, new)); d != "" {
		t.Fatal(d)
	}
	// The inputs are left alone.
	if len(new.Access.People) != 3 || new.Access.People[0].Role != Member || len(new.Access.MemberCommands) != 1 || new.Access.Rooms[0].Mention {
		t.Fatalf("changed: %+v", new.Access)
	}
	// What is in use is a place to stand on: nothing more is pending there.
	inUse, _ := Narrow(old, new)
	again, pending := Narrow(old, inUse)
	if len(pending) != 0 || !equalGrants(again, inUse) {
		t.Fatal(pending)
	}
	if d := cmp.Diff(want, Widens(inUse, new)); d != "" {
		t.Fatal(d)
	}
}

// A file that takes somebody out and puts him in again waits for a person.
func TestWhatWasTakenAwayIsNotGivenBack(t *testing.T) {
	with := Grants{Access: Access{People: []Person{{ID: "a", Role: Owner}}}}
	inUse, _ := Narrow(with, Grants{})
	if _, pending := Narrow(inUse, with); len(pending) != 1 {
		t.Fatal(pending)
	}
}

func TestBelieved(t *testing.T) {
	for _, c := range []struct {
		kind         string
		owner, agent int
		want         bool
	}{
		{"echo", 1000, 1000, true}, {"acp", 1000, 1000, false}, {"exec", 0, 0, false}, {"acp", 0, 1000, true},
	} {
		if got := (Grants{Agent: AgentSettings{Kind: c.kind}}).Believed(c.owner, c.agent); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A new name for the same id gives nothing.
func TestNamesGiveNothing(t *testing.T) {
	a := Grants{Access: Access{People: []Person{{ID: "a", Name: "x", Role: Member}}, Rooms: []Room{{ID: "r", Name: "x"}}, SharedMemoryWarning: true}}
	b := Grants{Access: Access{People: []Person{{ID: "a", Name: "y", Role: Member}}, Rooms: []Room{{ID: "r", Name: "y"}}}}
	inUse, pending := Narrow(a, b)
	if len(pending) != 0 || !equalGrants(inUse, b) {
		t.Fatal(pending)
	}
}

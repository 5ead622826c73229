package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fullAccess = `people:
  - {id: aaaaaaaaaaaaaaaaa, name: "Ada", role: owner}
  - id: "12345"
    name: 'Bob: the second'
    role: member
  - {id: ccc, role: blocked}
rooms:
  - {id: GENERAL, name: "general"}
  - {id: r2, mention: false}
ignore_senders: [otherbot]
commands: {members: [help]}
approvals: asker
allow_context_references: true
shared_memory_warning: false
`

func TestParseAccess(t *testing.T) {
	got, err := ParseAccess("access.yaml", []byte(fullAccess))
	if err != nil {
		t.Fatal(err)
	}
	want := Access{
		People: []Person{
			{ID: "aaaaaaaaaaaaaaaaa", Name: "Ada", Role: Owner},
			{ID: "12345", Name: "Bob: the second", Role: Member},
			{ID: "ccc", Role: Blocked},
		},
		Rooms:         []Room{{ID: "GENERAL", Name: "general", Mention: true}, {ID: "r2"}},
		IgnoreSenders: []string{"otherbot"}, MemberCommands: []string{"help"},
		Approvals: "asker", AllowContextReferences: true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	for _, k := range accessKeys {
		if def := DefaultAccess(); k.same(&def, &got) {
			t.Errorf("%s has its default: give it another value above", k.path)
		}
	}
}

// Nobody is let in and no room is on unless the file says so.
func TestAccessDefaults(t *testing.T) {
	want := Access{MemberCommands: []string{"help", "status", "stop", "new"}, Approvals: "owner", SharedMemoryWarning: true}
	for _, in := range []string{"", "# nobody yet\n", "---\n", "null\n", "commands:\n"} {
		got, err := ParseAccess("f", []byte(in))
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q: %s", in, d)
		}
	}
	a := DefaultAccess()
	a.MemberCommands[0] = "model"
	if DefaultAccess().MemberCommands[0] != "help" {
		t.Fatal("the defaults are shared")
	}
}

func TestParseAccessRefuses(t *testing.T) {
	var many strings.Builder
	many.WriteString("ignore_senders:\n")
	for i := range maxIgnored + 1 {
		fmt.Fprintf(&many, "- i%d\n", i)
	}
	for _, c := range []struct{ name, yaml, want string }{
		{"number as id", "people: [{id: 12345, role: owner}]", "f:1: people.id: must be text: put quotes around it"},
		{"null id", "people: [{id: , role: owner}]", "people.id: has no value"},
		{"empty id", `people: [{id: "", role: owner}]`, "people.id: an id is empty"},
		{"space in id", `people: [{id: "a b", role: owner}]`, "people.id: an id holds a space"},
		{"long id", `people: [{id: ` + strings.Repeat("a", 256) + `, role: owner}]`, "people.id: an id is longer than 255 bytes"},
		{"no id", `people: [{name: "x", role: owner}]`, "people: an entry has no id"},
		{"no role", "people: [{id: a}]", "people: an entry has no role"},
		{"bad role", "people: [{id: a, role: admin}]", "people.role: must be owner, member or blocked"},
		{"unknown", "people: [{id: a, roll: owner}]", "people.roll: unknown key; did you mean role?"},
		{"twice", "people:\n- {id: a, role: owner}\n- {id: a, role: blocked}\n", "f:3: people: an id stands twice, first on line 2"},
		{"a name as number", "people: [{id: a, name: 7, role: owner}]", "people.name: must be text: put quotes around it"},
		{"long name", "people: [{id: a, role: owner, name: " + strings.Repeat("ü", 65) + "}]", "people.name: a name is longer than 64 characters"},
		{"line in name", `people: [{id: a, role: owner, name: "a\nb"}]`, "people.name: a name holds a control or format character"},
		{"bidi in name", `people: [{id: a, role: owner, name: "a\u202eb"}]`, "people.name: a name holds a control or format character"},
		{"a map", "people: {a: owner}", "people: must be a list of {id, name, role}"},
		{"names alone", "people: [a]", "people: an entry must be {id, name, role}"},
		{"room twice", "rooms: [{id: a}, {id: a}]", "rooms: an id stands twice"},
		{"mention trap", "rooms: [{id: a, mention: no}]", "rooms.mention: must be true or false: yes, no, on and off are only text"},
		{"sender twice", "ignore_senders: [a, a]", "ignore_senders: an item stands twice"},
		{"sender a number", "ignore_senders: [1]", "ignore_senders: must be text: put quotes around it"},
		{"many", many.String(), "ignore_senders: has more than 10000 items"},
		{"other command", "commands: {members: [model]}", "commands.members: must be help, status, stop or new"},
		{"approvals", "approvals: member", "approvals: must be owner or asker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseAccess("f", []byte(c.yaml))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

// Names of 64 characters are allowed whatever their bytes.
func TestNameBound(t *testing.T) {
	name := strings.Repeat("ü", 64)
	a, err := ParseAccess("f", []byte(`people: [{id: a, role: member, name: "`+name+`"}]`))
	if err != nil || a.People[0].Name != name {
		t.Fatal(a, err)
	}
}

func FuzzParseAccess(f *testing.F) {
	f.Add([]byte(fullAccess))
	f.Add([]byte("people: [{id: a, role: owner}, {id: a, role: owner}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAccess("f", data)
		if err != nil {
			if _, ok := errors.AsType[*FileError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, p := range a.People {
			if p.ID == "" || seen[p.ID] || idFault(p.ID) != "" || nameFault(p.Name) != "" {
				t.Fatalf("let through: %+v", p)
			}
			seen[p.ID] = true
		}
	})
}

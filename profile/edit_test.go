package profile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const commented = `# Who may talk to the bot.
# Second line.

people:
  # the boss
  - {id: "aaa", name: "Ada", role: owner} # since 2020

  - id: bbb
    name: 'Bob'
    role: member # for now
  # before carl
  - {id: ccc, role: blocked}

# The rooms.
rooms:
  - {id: GENERAL, name: "general"}

ignore_senders: [a, b] # bots
approvals: "asker"
# the end
`

// An edit changes the lines it is about and no others.
func TestEditKeepsTheFile(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     Edit
		from, to string // the only difference
	}{
		{
			"let in", LetIn(Person{ID: "12345", Name: "Zoë: #1", Role: Member}),
			"role: blocked}\n", "role: blocked}\n  - {id: \"12345\", name: \"Zoë: #1\", role: member}\n",
		},
		{"role of a flow entry", SetRole("aaa", Member), "role: owner} #", "role: member} #"},
		{"role of a block entry", SetRole("bbb", Owner), "role: member # for now", "role: owner # for now"},
		{"rename", LetIn(Person{ID: "bbb", Name: "Rob", Role: Member}), "'Bob'", `"Rob"`},
		{"forget", Forget("bbb"), "\n  - id: bbb\n    name: 'Bob'\n    role: member # for now\n", ""},
		{"block a stranger", SetRole("ddd", Blocked), "role: blocked}\n", "role: blocked}\n  - {id: \"ddd\", role: blocked}\n"},
		{"room on", RoomOn(Room{ID: "r2", Mention: true}), "\"general\"}\n", "\"general\"}\n  - {id: \"r2\", mention: true}\n"},
		{"room without mention", RoomOn(Room{ID: "GENERAL"}), `"general"}`, `"general", mention: false}`},
		{"last room off", RoomOff("GENERAL"), "rooms:\n  - {id: GENERAL, name: \"general\"}\n", "rooms: []\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, err := EditAccess("f", []byte(commented), c.edit)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(commented, c.from) {
				t.Fatal("a slip in this test")
			}
			if d := cmp.Diff(strings.Replace(commented, c.from, c.to, 1), string(out)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEditFromNothing(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "people:\n  - {id: \"a\", name: \"A\", role: owner}\nrooms:\n  - {id: \"r\", mention: true}\n",
		"# nobody yet\n":                 "# nobody yet\n\npeople:\n  - {id: \"a\", name: \"A\", role: owner}\nrooms:\n  - {id: \"r\", mention: true}\n",
		"people:\nrooms: []\n":           "people:\n  - {id: \"a\", name: \"A\", role: owner}\nrooms:\n  - {id: \"r\", mention: true}\n",
		"approvals: asker\r\npeople: []": "approvals: asker\npeople:\n  - {id: \"a\", name: \"A\", role: owner}\nrooms:\n  - {id: \"r\", mention: true}\n",
	} {
		out, a, err := EditAccess("f", []byte(in), LetIn(Person{"a", "A", Owner}), RoomOn(Room{"r", "", true}))
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, string(out)); d != "" {
			t.Errorf("%q: %s", in, d)
		}
		if len(a.People) != 1 || len(a.Rooms) != 1 || !a.Rooms[0].Mention {
			t.Errorf("%+v", a)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		edit           Edit
	}{
		{"unknown person", commented, "zzz is not in access.yaml", Forget("zzz")},
		{"unknown room", commented, "zzz is not in access.yaml", RoomOff("zzz")},
		{"control in a foreign id", commented, `"\x1b[31m" is not in access.yaml`, Forget("\x1b[31m")},
		{"empty id", commented, "an id is empty", SetRole("", Owner)},
		{"bad name", commented, "a name holds a control", LetIn(Person{"x", "a\nb", Member})},
		{"bad role", commented, "a role is owner, member or blocked", SetRole("x", "admin")},
		{"no role", commented, "a role is owner, member or blocked", SetRole("x", "")},
		{"a file with errors", "people: 7\n", "f:1: people: must be a list", SetRole("x", Owner)},
		{"an alias", "people: &a []\n", "anchors and aliases", SetRole("x", Owner)},
	} {
		out, _, err := EditAccess("f", []byte(c.in), c.edit)
		if err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, _, err := EditAccess("f", nil, Forget("x")); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// Whatever is typed as an id or a name, the file says it afterwards.
func TestEditsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom([]string{"", commented, fullAccess, "people:\n"}).Draw(t, "file"))
		want, err := ParseAccess("f", text)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			id := rapid.SampledFrom([]string{"aaa", "bbb", "true", "null", "12", "1e3", "~", "a:b", "#x", "- x", "*a", "!b", "ü", `"`, "'", "{", "%", "@x", "0x1f", "<<"}).Draw(t, "id")
			name := rapid.StringN(0, 8, -1).Draw(t, "name")
			role := rapid.SampledFrom([]Role{Owner, Member, Blocked, "bad"}).Draw(t, "role")
			out, got, err := EditAccess("f", text, LetIn(Person{id, name, role}))
			if idFault(id) != "" || nameFault(name) != "" || role == "bad" {
				if err == nil {
					t.Fatal("accepted")
				}
				continue
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			want.People = upsert(want.People, Person{id, name, role})
			if d := cmp.Diff(want.People, got.People); d != "" || !accessKeys.equal(&want, &got) {
				t.Fatalf("%s\n%s", out, d)
			}
			text = out
		}
	})
}

func upsert(people []Person, p Person) []Person {
	for i := range people {
		if people[i].ID == p.ID {
			if people[i].Role = p.Role; p.Name != "" {
				people[i].Name = p.Name
			}
			return people
		}
	}
	return append(people, p)
}

func FuzzEditAccess(f *testing.F) {
	f.Add([]byte(commented))
	f.Add([]byte(fullAccess))
	f.Add([]byte("people: # x\n\n  # y\n  - {id: a, # z\n\n   role: owner}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := ParseAccess("f", data)
		if err != nil {
			return
		}
		out, after, err := EditAccess("f", data, SetRole("someone", Blocked))
		if err != nil {
			return // it says so; the file is as it was
		}
		before.People = upsert(before.People, Person{ID: "someone", Role: Blocked})
		if !accessKeys.equal(&before, &after) {
			t.Fatalf("%q became %q", data, out)
		}
	})
}

// What a person edits holds in the access in use too, and nothing else of the
// file does.
func TestWithIsTheEditAlone(t *testing.T) {
	inUse := DefaultAccess()
	inUse.People = []Person{{ID: "a", Role: Owner}}
	got, err := inUse.With(LetIn(Person{ID: "b", Name: "bee", Role: Member}), RoomOn(Room{ID: "r", Mention: true}), SetRole("a", Blocked))
	must(t, err)
	want := DefaultAccess()
	want.People = []Person{{"a", "", Blocked}, {"b", "bee", Member}}
	want.Rooms = []Room{{"r", "", true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if inUse.People[0].Role != Owner {
		t.Error("what was in use has changed")
	}
	if _, err := inUse.With(Forget("x")); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := inUse.With(SetRole("x", "king")); err == nil {
		t.Error("a role that is none was taken")
	}
}

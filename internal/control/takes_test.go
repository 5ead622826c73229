package control

import "testing"

// Of a name that is no profile, only those verbs may be asked that are for that,
// and of what can't be a name, none.
func TestVerbsOfUnknownNames(t *testing.T) {
	root, own, owner := Peer{UID: 0, own: 7}, Peer{UID: 7, own: 7}, Peer{UID: 8, own: 7}
	for _, c := range []struct {
		what string
		verb Verb
		by   Peer
		name string
		want bool
	}{
		{"an order", Verb{}, root, "alice", false},
		{"remove, by root", Verb{Unknown: true}, root, "alice", true},
		{"remove, by the supervisor's user", Verb{Unknown: true}, own, "alice", true},
		{"remove, by somebody", Verb{Unknown: true}, owner, "alice", false},
		{"reseal of all, by root", Verb{Unknown: true}, root, AllNames, true},
		{"reseal of all, by somebody", Verb{Unknown: true}, owner, AllNames, false},
		{"remove of no name", Verb{Unknown: true}, root, "../alice", false},
		{"add, by somebody", Verb{Makes: true}, owner, "alice", true},
		{"add, by root", Verb{Makes: true}, root, "alice", true},
		{"add of all", Verb{Makes: true}, root, AllNames, false},
		{"add of no name", Verb{Makes: true}, owner, "Alice", false},
	} {
		if got := c.verb.takes(c.by, c.name); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

package sealed

import (
	"errors"
	"testing"
)

// What keeps a shared bot from acting for the wrong person, where it is met by
// what an envelope opens for.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	id := newIdentity(t)
	bobs := mustSeal(t, envelope("bob"), keyring(t, id))
	t.Run("secrets cross profiles", func(t *testing.T) {
		for _, name := range []string{"alice", "bobby", "Bob", "bo", "", "bob\n", "../bob"} {
			if e, err := Unseal(bobs, id, name); !errors.Is(err, ErrForeign) || !e.Token.Empty() || len(e.Values) > 0 {
				t.Errorf("it opens for %q: %v", name, err)
			}
		}
		if e, err := Unseal(bobs, id, "bob"); err != nil || e.Token.Empty() {
			t.Errorf("it does not open for bob: %v", err)
		}
	})
	t.Run("the token goes elsewhere", func(t *testing.T) {
		// Where it goes is sealed with it: whoever changes a byte of the file, the
		// server's name among them, has a file that doesn't open.
		e, err := Unseal(bobs, id, "bob")
		if err != nil || e.Server != envelope("bob").Server {
			t.Fatalf("it is for %q, %v", e.Server, err)
		}
		for _, server := range []string{"http://chat.example.org", "ftp://chat.example.org", "https://u:p@chat.example.org", "https://chat.example.org/?to=x", "chat.example.org", ""} {
			e := envelope("bob")
			e.Server = server
			if _, err := Seal(e, keyring(t, id)); err == nil {
				t.Errorf("sealed for %q", server)
			}
		}
	})
}

package sealed

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"filippo.io/age"
)

func hybridText(t testing.TB) string {
	t.Helper()
	key, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}

func classicText(t testing.TB) string {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}

func TestParseIdentity(t *testing.T) {
	hybrid, classic := hybridText(t), classicText(t)
	for name, tc := range map[string]struct {
		text     string
		kind     Kind
		rotating bool
	}{
		"hybrid":                    {hybrid, Hybrid, false},
		"classic":                   {classic, Classic, false},
		"with comments":             {"# created: today\n\n" + hybrid + "\n# end\n", Hybrid, false},
		"with Windows' line ends":   {"# x\r\n" + hybrid + "\r\n", Hybrid, false},
		"indented":                  {"  " + hybrid + "\t\n", Hybrid, false},
		"while rotating":            {hybridText(t) + "\n" + hybrid + "\n", Hybrid, true},
		"rotating away from X25519": {hybrid + "\n" + classic + "\n", Hybrid, true},
	} {
		id, err := ParseIdentity([]byte(tc.text), "identity")
		if err != nil || id.Kind() != tc.kind || id.Rotating() != tc.rotating {
			t.Errorf("%s: %v, %v", name, id, err)
		}
	}
	ssh := "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"
	for name, tc := range map[string]struct{ text, word string }{
		"empty":           {"", "no key"},
		"comments only":   {"# " + hybrid + "\n", "no key"},
		"cut short":       {hybrid[:50], "identity:1: a hybrid key that is cut short"},
		"mistyped":        {"\n" + hybrid[:30] + hybrid[31:32] + hybrid[30:31] + hybrid[32:] + "Q", "identity:2: a hybrid key"},
		"classic cut":     {classic[:50], "classic key"},
		"in lower case":   {strings.ToLower(hybrid), "not a secret key"},
		"a recipient":     {mustParse(t, hybrid).Recipient(), "public half"},
		"ssh":             {ssh, "SSH"},
		"a plugin's":      {"AGE-PLUGIN-YUBIKEY-1QYQSZQGPQYQSZQGPQ", "plugin"},
		"prose":           {"my key is " + hybrid, "not a secret key"},
		"three keys":      {hybridText(t) + "\n" + hybridText(t) + "\n" + hybrid, "more than two"},
		"one key twice":   {hybrid + "\n" + hybrid, "identity:2: the same key"},
		"two on one line": {hybrid + " " + hybridText(t), "cut short or mistyped"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseIdentity([]byte(tc.text), "identity")
			checkError(t, err, ErrIdentity, tc.word)
			checkClean(t, "the error", fmt.Sprint(err), hybrid[20:])
		})
	}
}

func TestParseRecipients(t *testing.T) {
	a, b, c := newIdentity(t).Recipient(), newIdentity(t).Recipient(), classicIdentity(t).Recipient()
	r, err := ParseRecipients([]byte("# host\n"+a+"\n\n# offline\n  "+b+"\r\n"+a+"\n"), "recipients.txt")
	if err != nil || len(r.Keys()) != 2 || r.Kind() != Hybrid || !r.Contains(b) || r.Contains(c) {
		t.Fatalf("%v, %v", r.Keys(), err)
	}
	turned, err := ParseRecipients([]byte(b+"\n"+a), "recipients.txt")
	if err != nil || turned.Digest() != r.Digest() || len(r.Digest()) != 64 {
		t.Errorf("the digest depends on the order: %v", err)
	}
	one, err := ParseRecipients([]byte(a), "recipients.txt")
	if err != nil || one.Digest() == r.Digest() {
		t.Errorf("the digest of another set is the same: %v", err)
	}
	many := strings.Builder{}
	for range maxRecipients + 1 {
		many.WriteString(classicIdentity(t).Recipient() + "\n")
	}
	for name, tc := range map[string]struct {
		text  string
		kind  error
		words []string
	}{
		"empty":            {"# nobody\n", ErrNoRecipients, []string{"holds no recipient"}},
		"mixed":            {a + "\n# recovery\n" + c, ErrRecipients, []string{"recipients.txt:3", "classic", "line 1", "hybrid", "never seals"}},
		"mixed, turned":    {c + "\n" + a, ErrRecipients, []string{"recipients.txt:2", "hybrid", "line 1"}},
		"cut short":        {a[:100], ErrRecipients, []string{"recipients.txt:1", "cut short"}},
		"a secret key":     {hybridText(t), ErrRecipients, []string{"secret key"}},
		"ssh":              {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE", ErrRecipients, []string{"SSH"}},
		"a plugin's":       {"age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", ErrRecipients, []string{"neither"}},
		"prose":            {"recipient: " + a, ErrRecipients, []string{"not a recipient"}},
		"more than needed": {many.String(), ErrRecipients, []string{"more than 32"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRecipients([]byte(tc.text), "recipients.txt")
			checkError(t, err, tc.kind, tc.words...)
			if strings.Contains(err.Error(), "AGE-SECRET") {
				t.Errorf("the error quotes the line: %v", err)
			}
		})
	}
}

func TestKeyringRefusesToLockUsOut(t *testing.T) {
	host, recovery := newIdentity(t), newIdentity(t)
	_, err := NewKeyring(host, recipientsOf(t, recovery), false)
	checkError(t, err, ErrLockout, "this host's own key", host.Recipient()[:20])
	_, err = NewKeyring(host, recipientsOf(t, classicIdentity(t)), false)
	checkError(t, err, ErrLockout, "another kind (classic, this host's is hybrid)")
	_, err = NewKeyring(nil, recipientsOf(t, recovery), false)
	checkError(t, err, ErrNoIdentity)
	_, err = NewKeyring(host, Recipients{}, true)
	checkError(t, err, ErrNoRecipients)
	for _, id := range []*Identity{host, nil} {
		k, err := NewKeyring(id, recipientsOf(t, recovery), true)
		if err != nil {
			t.Fatal(err)
		}
		store := Store{Folder: DirFolder(openDir(t, t.TempDir())), Profile: "alice"}
		if _, err := store.Write(envelope(""), k, WriteOptions{Force: true}); err != nil {
			t.Errorf("forced: %v", err)
		}
		if _, err := store.Read(recovery); err != nil {
			t.Errorf("the recipient can't open it: %v", err)
		}
		if _, err := store.Read(host); !errors.Is(err, ErrWrongIdentity) {
			t.Errorf("the host: %v", err)
		}
	}
}

func TestIdentityPrintsItsPublicHalf(t *testing.T) {
	id := newIdentity(t)
	for _, verb := range verbs {
		for _, v := range []any{id, *id, []*Identity{id}, struct{ I *Identity }{id}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(strings.ToUpper(got), "AGE-SECRET") {
				t.Fatalf("%s: %s", verb, got)
			}
		}
	}
	if got := fmt.Sprint(id); !strings.HasPrefix(got, "[identity of age1pq1") || len(got) > 60 {
		t.Errorf("printed as %s", got)
	}
}

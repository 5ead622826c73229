package sealed

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSealAndUnseal(t *testing.T) {
	id := newIdentity(t)
	e := envelope("alice")
	data := mustSeal(t, e, keyring(t, id))
	for _, secret := range []string{testToken, testAsker, testValue, "alice", "chat.example.org"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the sealed file shows %q", secret)
		}
	}
	got, err := Unseal(data, id, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if got.Token.Reveal() != testToken || got.Keys[AskerKey].Reveal() != testAsker || got.Values["OPENAI_API_KEY"].Reveal() != testValue {
		t.Error("a secret came back as another")
	}
	if len(got.Keys[PostKey].Reveal()) != 43 {
		t.Errorf("keys.post has %d characters, want those of 32 bytes", len(got.Keys[PostKey].Reveal()))
	}
	if _, ok := e.Keys[PostKey]; ok {
		t.Error("sealing changed the caller's envelope")
	}
	if got.Profile != "alice" || got.Server != e.Server || got.UserID != e.UserID || got.Generation != 1 {
		t.Errorf("got %+v", got)
	}
	again, err := Unseal(mustSeal(t, got, keyring(t, id)), id, "alice")
	if err != nil || !again.Same(got) {
		t.Errorf("sealed again it is another: %v", err)
	}
}

func TestEveryProfileGetsAPostKeyOfItsOwn(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	seen := map[string]bool{}
	for range 5 {
		e, err := Unseal(mustSeal(t, envelope("alice"), k), id, "alice")
		if err != nil {
			t.Fatal(err)
		}
		seen[e.Keys[PostKey].Reveal()] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different keys of 5", len(seen))
	}
}

func TestSealedAtIsTheMomentOfTheSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := newIdentity(t)
		time.Sleep(90*time.Minute + 300*time.Millisecond)
		e, err := Unseal(mustSeal(t, envelope("alice"), keyring(t, id)), id, "alice")
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC); e.SealedAt != want {
			t.Errorf("sealed at %v, want %v", e.SealedAt, want)
		}
	})
}

// A host whose clock begins before all others' seals and opens all the same: no
// rule hangs on the time, only on generations.
func TestAClockBefore1970(t *testing.T) {
	id := newIdentity(t)
	for _, at := range []time.Time{time.Unix(0, 0).UTC(), time.Date(1960, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)} {
		e := envelope("alice")
		e.SealedAt = at
		got, err := Unseal(mustSeal(t, e, keyring(t, id)), id, "alice")
		if err != nil || !got.SealedAt.Equal(at) {
			t.Errorf("%v: %v, %v", at, got.SealedAt, err)
		}
	}
}

func TestSealRefuses(t *testing.T) {
	id := newIdentity(t)
	set := func(change func(*Envelope)) Envelope {
		e := envelope("alice")
		change(&e)
		return e
	}
	values := func(name, value string) Envelope {
		return set(func(e *Envelope) { e.Values[name] = NewSecret(value) })
	}
	for name, tc := range map[string]struct {
		e    Envelope
		word string
	}{
		"no profile":         {set(func(e *Envelope) { e.Profile = "" }), "profile"},
		"a path as profile":  {set(func(e *Envelope) { e.Profile = "../bob" }), "profile"},
		"no server":          {set(func(e *Envelope) { e.Server = "" }), "server address"},
		"a lax server":       {set(func(e *Envelope) { e.Server = "https://chat.example.org/" }), "canonical"},
		"plain http":         {set(func(e *Envelope) { e.Server = "http://chat.example.org" }), "http is only"},
		"no user id":         {set(func(e *Envelope) { e.UserID = "" }), "user_id is empty"},
		"user id of a line":  {set(func(e *Envelope) { e.UserID = "a\r\nX-Admin: 1" }), "user_id"},
		"no token":           {set(func(e *Envelope) { e.Token = Secret{} }), "token is empty"},
		"token with a line":  {set(func(e *Envelope) { e.Token = NewSecret("abc\n") }), "token"},
		"token with a space": {set(func(e *Envelope) { e.Token = NewSecret("abc def") }), "token"},
		"token not ASCII":    {set(func(e *Envelope) { e.Token = NewSecret("tökén") }), "token"},
		"token too long":     {set(func(e *Envelope) { e.Token = NewSecret(strings.Repeat("x", maxToken+1)) }), "token"},
		"generation 0":       {set(func(e *Envelope) { e.Generation = 0 }), "generation"},
		"generation 2^53":    {set(func(e *Envelope) { e.Generation = 1 << 53 }), "generation"},
		"an unknown key":     {set(func(e *Envelope) { e.Keys["host"] = NewSecret("x") }), "keys holds another"},
		"an empty key":       {set(func(e *Envelope) { e.Keys[AskerKey] = Secret{} }), "keys.asker is empty"},
		"an empty value":     {values("A", ""), "values.A is empty"},
		"a blank value":      {values("A", " \n\t"), "values.A is empty"},
		"a value of NULs":    {values("A", "a\x00b"), "values.A holds a NUL"},
		"a value not UTF-8":  {values("A", "a\xffb"), "values.A is not UTF-8"},
		"a huge value":       {values("A", strings.Repeat("x", maxValue+1)), "values.A has more"},
		"a name with =":      {values("A=B", "x"), "name that is none"},
		"a name with a dash": {values("A-B", "x"), "name that is none"},
		"an empty name":      {values("", "x"), "name that is none"},
		"a long name":        {values(strings.Repeat("A", 129), "x"), "name that is none"},
		"the token's name":   {values("token", "x"), "bot's own"},
		"the asker's name":   {values("asker", "x"), "bot's own"},
		"too many values": {set(func(e *Envelope) {
			for i := range maxValues + 1 {
				e.Values["V"+strings.Repeat("x", i%100)+string(rune('a'+i/100))] = NewSecret("x")
			}
		}), "values are more"},
		"too much in all": {set(func(e *Envelope) {
			for i := range 10 {
				e.Values["V"+string(rune('a'+i))] = NewSecret(strings.Repeat("x", maxValue))
			}
		}), "all values together"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := Seal(tc.e, keyring(t, id))
			if err == nil {
				t.Fatalf("sealed into %d bytes", len(data))
			}
			checkError(t, err, ErrInvalid, tc.word)
		})
	}
}

func TestErrorsOfNamesQuoteNoName(t *testing.T) {
	const pasted = "sk-pasted-in-the-wrong-place"
	e := envelope("alice")
	e.Values[pasted] = NewSecret("x")
	_, err := Seal(e, keyring(t, newIdentity(t)))
	if err == nil || strings.Contains(err.Error(), pasted) {
		t.Errorf("err = %v", err)
	}
}

func TestCredentialsHoldTheNamedValuesOnly(t *testing.T) {
	e := envelope("alice")
	e.Keys[PostKey] = NewSecret("post-key-post-key")
	e.Values["OTHER"] = NewSecret("other-value")
	c := e.Credentials([]string{"OTHER", "ABSENT"})
	if got := slices.Collect(maps.Keys(c.Values)); !slices.Equal(got, []string{"OTHER"}) {
		t.Errorf("values = %q", got)
	}
	if got := e.Missing([]string{"OTHER", "ABSENT"}); !slices.Equal(got, []string{"ABSENT"}) {
		t.Errorf("missing = %q", got)
	}
	want := Credentials{
		Server: e.Server, UserID: e.UserID, Token: e.Token, Generation: 1, PostKey: e.Keys[PostKey], AskerKey: e.Keys[AskerKey],
		Values: map[string]Secret{"OTHER": NewSecret("other-value")},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if got := e.Credentials(nil).Values; len(got) != 0 {
		t.Errorf("without names there are values: %v", got)
	}
	if n := len(e.Secrets()); n != 5 {
		t.Errorf("%d secrets for the redactor, want 5", n)
	}
	if n := len(c.Secrets()); n != 4 {
		t.Errorf("%d secrets for the redactor, want 4", n)
	}
}

func TestSetAndUnset(t *testing.T) {
	e := envelope("alice")
	was := e
	for name, get := range map[string]func() Secret{
		"token": func() Secret { return e.Token },
		"asker": func() Secret { return e.Keys[AskerKey] },
		"NEW":   func() Secret { return e.Values["NEW"] },
	} {
		if err := e.Set(name, NewSecret("new-"+name)); err != nil || get().Reveal() != "new-"+name {
			t.Errorf("%s: %v", name, err)
		}
		before := e
		for _, empty := range []string{"", " \n"} {
			checkError(t, e.Set(name, NewSecret(empty)), ErrInvalid)
		}
		if !e.Same(before) {
			t.Errorf("%s: a refused value changed the envelope", name)
		}
	}
	for _, bad := range []string{"", "post", "A-B", "A B", "Ä"} {
		if err := e.Set(bad, NewSecret("x")); bad != "post" {
			checkError(t, err, ErrInvalid, "name that is none")
		} else if err != nil || !e.Keys[PostKey].Empty() {
			t.Error("the post key can be set from outside")
		}
	}
	if !e.Unset("NEW") || e.Unset("NEW") || !e.Unset("asker") || e.Unset("asker") || e.Unset("token") || e.Token.Empty() {
		t.Error("Unset")
	}
	if _, ok := was.Values["NEW"]; ok || was.Keys[AskerKey].Reveal() != testAsker {
		t.Error("a copy made before was changed")
	}
	var bare Envelope
	bare.Token = NewSecret("t")
	if err := bare.Set("asker", NewSecret("a")); err != nil {
		t.Error(err)
	}
	if err := bare.Set("V", NewSecret("v")); err != nil || !bare.Unset("V") {
		t.Error(err)
	}
}

func TestStaleRecipients(t *testing.T) {
	host, recovery, other := newIdentity(t), newIdentity(t), newIdentity(t)
	open := func(data []byte) Envelope {
		e, err := Unseal(data, host, "alice")
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	both := open(mustSeal(t, envelope("alice"), keyring(t, host, recovery)))
	for name, tc := range map[string]struct {
		now  Recipients
		want bool
	}{
		"the same set":        {recipientsOf(t, host, recovery), false},
		"in another order":    {recipientsOf(t, recovery, host), false},
		"one removed":         {recipientsOf(t, host), true},
		"one added":           {recipientsOf(t, host, recovery, other), true},
		"one replaced":        {recipientsOf(t, host, other), true},
		"of the other kind":   {recipientsOf(t, classicIdentity(t), classicIdentity(t)), true},
		"no recipient at all": {Recipients{}, true},
	} {
		if got := both.Stale(tc.now); got != tc.want {
			t.Errorf("%s: stale = %v", name, got)
		}
	}
	// Made by hand, without a digest: number and kind still tell something.
	plain := `{"v":1,"profile":"alice","server":"https://chat.example.org","user_id":"u","token":"t","generation":3,"sealed_at":"2026-01-02T03:04:05Z","keys":{"post":"p"},"values":{}}`
	byHand := open(sealText(t, plain, recipientsOf(t, host, recovery)))
	if byHand.Stale(recipientsOf(t, host, recovery)) || !byHand.Stale(recipientsOf(t, host)) {
		t.Error("the number of recipients doesn't count")
	}
	// One whose digest names a set it was not sealed for.
	forged := open(sealText(t, strings.Replace(plain, `"values":{}`, `"values":{},"recipients":"`+recipientsOf(t, host).Digest()+`"`, 1), recipientsOf(t, host, recovery)))
	if !forged.Stale(recipientsOf(t, host)) {
		t.Error("a recipient beyond the digest was not noticed")
	}
	if stale, err := Stale(mustSeal(t, envelope("alice"), keyring(t, host)), host, "alice", recipientsOf(t, host, recovery)); !stale || err != nil {
		t.Errorf("Stale = %v, %v", stale, err)
	}
}

func TestAnyEnvelopeComesBackAsItWas(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	// Whatever JSON might bend: quotes, HTML, line separators, escapes that look like ours.
	text := rapid.StringMatching(`[ -~\x01-\x1f\x{2028}\x{fffd}\x{1F600}é\\u]{0,40}[!-~]`)
	rapid.Check(t, func(t *rapid.T) {
		e := Envelope{
			Profile: rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,63}`).Draw(t, "profile"), Server: "https://chat.example.org/base",
			UserID:     rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "user"),
			Token:      NewSecret(rapid.StringMatching(`[!-~]{1,60}`).Draw(t, "token")),
			Generation: rapid.Uint64Range(1, maxGeneration).Draw(t, "generation"),
			Keys:       map[string]Secret{PostKey: NewSecret(text.Draw(t, "post"))},
			Values:     map[string]Secret{},
		}
		for name, value := range rapid.MapOfN(rapid.StringMatching(`[A-Z_][A-Z0-9_]{0,20}`), text, 0, 5).Draw(t, "values") {
			e.Values[name] = NewSecret(value)
		}
		data, err := Seal(e, k)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unseal(data, id, e.Profile)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Same(e) {
			t.Fatal("it came back as another")
		}
	})
}

package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// plainEnvelope is an envelope as a person might write it.
const plainEnvelope = `{"v":1,"profile":"alice","server":"https://chat.example.org","user_id":"uid","token":"tok","generation":3,` +
	`"sealed_at":"2026-01-02T03:04:05Z","keys":{"post":"p0st"},"values":{"A":"b"}}`

func TestUnsealReadsStrictly(t *testing.T) {
	id := newIdentity(t)
	r := recipientsOf(t, id)
	replace := func(old, new string) string {
		if !strings.Contains(plainEnvelope, old) {
			t.Fatalf("the envelope has no %s", old)
		}
		return strings.Replace(plainEnvelope, old, new, 1)
	}
	for name, tc := range map[string]struct{ plain, word string }{
		"nothing":                       {" ", "JSON"},
		"no object":                     {`[1]`, "object"},
		"null":                          {`null`, "object"},
		"half":                          {plainEnvelope[:60], "JSON"},
		"two":                           {plainEnvelope + plainEnvelope, "more than one"},
		"text after it":                 {plainEnvelope + " x", "more than one"},
		"not UTF-8":                     {replace("tok", "t\xffk"), "UTF-8"},
		"half of a surrogate pair":      {replace("tok", `t\ud800k`), "surrogate"},
		"an unknown key":                {replace(`"v":1`, `"v":1,"redirect":"https://evil.test"`), "unknown key"},
		"a key in capitals":             {replace(`"token"`, `"Token"`), "unknown key"},
		"a key twice":                   {replace(`"v":1`, `"v":1,"server":"https://evil.test"`), "twice"},
		"a key twice by escape":         {replace(`"v":1`, `"v":1,"\u0074oken":"x"`), "twice"},
		"a value twice":                 {replace(`"A":"b"`, `"A":"b","A":"c"`), "twice"},
		"no version":                    {replace(`"v":1,`, ``), "v is missing"},
		"version 0":                     {replace(`"v":1`, `"v":0`), "v is not 1"},
		"version as text":               {replace(`"v":1`, `"v":"1"`), "v is not a number"},
		"version -1":                    {replace(`"v":1`, `"v":-1`), "whole number"},
		"version 1.0":                   {replace(`"v":1`, `"v":1.0`), "whole number"},
		"no profile":                    {replace(`"profile":"alice",`, ``), "profile is missing"},
		"an empty profile":              {replace(`"alice"`, `""`), "profile"},
		"a profile of control bytes":    {replace(`alice`, `a\u001b[31m`), "profile"},
		"no server":                     {replace(`"server":"https://chat.example.org",`, ``), "server is missing"},
		"a server with a default port":  {replace(`example.org`, `example.org:443`), "canonical"},
		"a server in plain text":        {replace(`https:`, `http:`), "http is only"},
		"no token":                      {replace(`"token":"tok",`, ``), "token is missing"},
		"an empty token":                {replace(`"tok"`, `""`), "token is empty"},
		"a token of null":               {replace(`"tok"`, `null`), "token is not a string"},
		"a token as number":             {replace(`"tok"`, `5`), "token is not a string"},
		"a token as object":             {replace(`"tok"`, `{"a":1}`), "token is not a string"},
		"a token in a list":             {replace(`"tok"`, `["tok"]`), "token is not a string"},
		"no user":                       {replace(`"user_id":"uid",`, ``), "user_id is missing"},
		"generation 0":                  {replace(`:3,`, `:0,`), "generation"},
		"generation -3":                 {replace(`:3,`, `:-3,`), "generation"},
		"generation 3e0":                {replace(`:3,`, `:3e0,`), "generation"},
		"generation beyond every bound": {replace(`:3,`, `:99999999999999999999,`), "generation"},
		"generation 2^53":               {replace(`:3,`, `:9007199254740992,`), "generation"},
		"sealed at no time":             {replace(`2026-01-02T03:04:05Z`, `yesterday`), "sealed_at"},
		"keys of null":                  {replace(`{"post":"p0st"}`, `null`), "keys is not an object"},
		"keys as list":                  {replace(`{"post":"p0st"}`, `[]`), "keys is not an object"},
		"no post key":                   {replace(`{"post":"p0st"}`, `{}`), "keys.post is missing"},
		"an empty post key":             {replace(`"p0st"`, `""`), "keys.post"},
		"an unknown key among keys":     {replace(`"post"`, `"post":"p","host"`), "keys holds another"},
		"an empty value":                {replace(`"b"`, `""`), "values.A is empty"},
		"a value of null":               {replace(`"b"`, `null`), "not a string"},
		"a nested value":                {replace(`"b"`, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), "not a string"},
		"a value with a bad name":       {replace(`"A"`, `"A B"`), "name that is none"},
		"a token among the values":      {replace(`"A"`, `"token"`), "bot's own"},
		"far too many values":           {replace(`"A":"b"`, manyMembers(maxValues+1)), "more than"},
		"far too long":                  {replace(`"b"`, `"`+strings.Repeat("x", maxPlain)+`"`), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Unseal(sealText(t, tc.plain, r), id, "alice")
			if err == nil {
				t.Fatalf("opened: %+v", e)
			}
			checkError(t, err, ErrDamaged, "alice", tc.word)
		})
	}
	for name, plain := range map[string]string{
		"as it is":               plainEnvelope,
		"with white space":       " \n" + strings.ReplaceAll(plainEnvelope, ",", " ,\n\t") + "\n",
		"without values":         replace(`,"values":{"A":"b"}`, ``),
		"escapes":                replace(`"tok"`, `"\u0074\u006fk"`),
		"the replacement itself": replace(`"b"`, `"\\ufffd \ufffd �"`),
		"a whole surrogate pair": replace(`"b"`, `"\ud83d\ude00"`),
	} {
		if e, err := Unseal(sealText(t, plain, r), id, "alice"); err != nil || e.Token.Reveal() != "tok" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"V%d":"x",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestANewerVersionSaysSoWhateverElseIsInIt(t *testing.T) {
	id := newIdentity(t)
	for _, plain := range []string{
		`{"v":2}`,
		`{"v":2,"profile":{"name":"alice"},"token":["a","b"]}`,
		`{"profile":"alice","keys":{"v":1,"deep":[{"v":1}]},"v":7}`,
		strings.Replace(plainEnvelope, `"v":1`, `"v":1000`, 1),
	} {
		_, err := Unseal(sealText(t, plain, recipientsOf(t, id)), id, "alice")
		checkError(t, err, ErrNewer, "alice", "newer version")
	}
}

func TestUnsealTellsWhatMendsIt(t *testing.T) {
	host, other := newIdentity(t), newIdentity(t)
	good := mustSeal(t, envelope("alice"), keyring(t, host))
	scrypt, err := age.NewScryptRecipient("a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	scrypt.SetWorkFactor(2)
	var byPassphrase, armored bytes.Buffer
	w, err := age.Encrypt(&byPassphrase, scrypt)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(plainEnvelope))
	w.Close()
	a := armor.NewWriter(&armored)
	a.Write(good)
	a.Close()
	for name, tc := range map[string]struct {
		data  []byte
		id    *Identity
		kind  error
		words []string
	}{
		"empty":                     {nil, host, ErrDamaged, []string{"alice", "empty"}},
		"too large":                 {make([]byte, MaxFile+1), host, ErrDamaged, []string{"alice", "1048576"}},
		"not age":                   {[]byte("token: abc\n"), host, ErrDamaged, []string{"alice"}},
		"plain JSON":                {[]byte(plainEnvelope), host, ErrDamaged, []string{"alice"}},
		"armored":                   {armored.Bytes(), host, ErrDamaged, []string{"armored"}},
		"header only":               {good[:200], host, ErrDamaged, []string{"cut short"}},
		"last byte missing":         {good[:len(good)-1], host, ErrDamaged, []string{"cut short"}},
		"a byte too many":           {append(bytes.Clone(good), 0), host, ErrDamaged, []string{"cut short"}},
		"twice":                     {append(bytes.Clone(good), good...), host, ErrDamaged, []string{"cut short"}},
		"for another host":          {mustSeal(t, envelope("alice"), keyring(t, other)), host, ErrWrongIdentity, []string{"alice", "other keys", "age1pq1"}},
		"for a classic key":         {mustSeal(t, envelope("alice"), keyring(t, classicIdentity(t))), host, ErrWrongIdentity, []string{"another kind (X25519)"}},
		"for a hybrid, we classic":  {good, classicIdentity(t), ErrWrongIdentity, []string{"another kind (mlkem768x25519)"}},
		"by passphrase":             {byPassphrase.Bytes(), host, ErrWrongIdentity, []string{"passphrase"}},
		"of another profile":        {mustSeal(t, envelope("bob"), keyring(t, host)), host, ErrForeign, []string{"sealed for profile bob", "alice"}},
		"without an identity of us": {good, nil, ErrNoIdentity, []string{"alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Unseal(tc.data, tc.id, "alice")
			if err == nil {
				t.Fatalf("opened: %+v", e)
			}
			checkError(t, err, tc.kind, tc.words...)
			if !e.Token.Empty() {
				t.Error("a token beside an error")
			}
		})
	}
	if _, err := Unseal(mustSeal(t, envelope("alice"), keyring(t, host)), host, ""); !errors.Is(err, ErrForeign) {
		t.Errorf("an unnamed profile opened it: %v", err)
	}
	if e, err := UnsealAny(mustSeal(t, envelope("bob"), keyring(t, host)), host, "alice"); err != nil || e.Profile != "bob" {
		t.Errorf("UnsealAny = %v, %v", e.Profile, err)
	}
}

func TestNoByteCanBeChangedOrCutOff(t *testing.T) {
	id := newIdentity(t)
	good := mustSeal(t, envelope("alice"), keyring(t, id))
	check := func(what string, i int, data []byte) {
		_, err := Unseal(data, id, "alice")
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrWrongIdentity) {
			t.Fatalf("%s at byte %d of %d: %v", what, i, len(good), err)
		}
	}
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 1 << (i % 8)
		check("changed", i, changed)
		if i%4 == 0 || i > len(good)-20 {
			check("cut", i, good[:i])
		}
	}
}

func TestEveryRecipientOpens(t *testing.T) {
	host, recovery := newIdentity(t), newIdentity(t)
	data := mustSeal(t, envelope("alice"), keyring(t, host, recovery))
	for _, id := range []*Identity{host, recovery} {
		if _, err := Unseal(data, id, "alice"); err != nil {
			t.Error(err)
		}
	}
	a, b := classicIdentity(t), classicIdentity(t)
	data = mustSeal(t, envelope("alice"), keyring(t, a, b))
	if _, err := Unseal(data, b, "alice"); err != nil {
		t.Errorf("classic: %v", err)
	}
}

// Files sealed by version 1 open for ever. The identities under testdata are
// made for this test and open nothing else.
func TestGoldenFilesStillOpen(t *testing.T) {
	for _, kind := range []string{"hybrid", "classic"} {
		t.Run(kind, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", kind+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join("testdata", kind+".age"))
			if err != nil {
				t.Fatal(err)
			}
			e, err := Unseal(data, mustParse(t, string(text)), "alice")
			if err != nil {
				t.Fatal(err)
			}
			if e.Token.Reveal() != testToken || e.Values["OPENAI_API_KEY"].Reveal() != testValue || e.Generation != 7 {
				t.Errorf("it holds something else: %+v", e)
			}
		})
	}
}

// What is sealed here is a file of age's own, and the other way round. The
// command is not everywhere; the golden files are.
func TestTheCommandOfAgeAgrees(t *testing.T) {
	tool, err := exec.LookPath("age")
	if err != nil {
		t.Log("no age command on this machine: only its library was asked")
		return
	}
	id, dir := classicIdentity(t), privateDir(t)
	key := id.keys()[0].(*age.X25519Identity)
	path := writeFile(t, dir, "identity.txt", key.String()+"\n", 0o600)
	cmd := exec.Command(tool, "-d", "-i", path)
	cmd.Stdin = bytes.NewReader(mustSeal(t, envelope("alice"), keyring(t, id)))
	plain, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if e, err := unmarshalEnvelope(plain); err != nil || e.Token.Reveal() != testToken {
		t.Errorf("age -d gave something else: %v", err)
	}
	cmd = exec.Command(tool, "-r", id.Recipient())
	cmd.Stdin = strings.NewReader(plainEnvelope)
	data, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if e, err := Unseal(data, id, "alice"); err != nil || e.Token.Reveal() != "tok" {
		t.Errorf("what age sealed: %v", err)
	}
}

// FuzzUnseal is what whoever knows our public key can put into a home: any
// bytes as the file, and any bytes as what the file decrypts to.
func FuzzUnseal(f *testing.F) {
	id := newIdentity(f)
	r := recipientsOf(f, id)
	k := keyring(f, id)
	f.Add([]byte(plainEnvelope))
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"v":1}`))
	f.Add([]byte(strings.Replace(plainEnvelope, "tok", `\ud800`, 1)))
	f.Add(mustSeal(f, envelope("alice"), k))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Unseal(data, id, "alice"); err == nil {
			return // one that was sealed for this very run
		}
		e, err := UnsealAny(sealText(t, string(data), r), id, "alice")
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		// What opens can be sealed again and is the same.
		again, err := UnsealAny(mustSeal(t, e, k), id, "alice")
		if err != nil || !again.Same(e) {
			t.Fatalf("sealed again it is another: %v", err)
		}
	})
}

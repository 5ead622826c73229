package sealed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// The secrets of the tests, long and odd enough to be found wherever they show.
const (
	testToken = `tok3n-"9f<8>&\q`
	testAsker = "asker-key-55aa55aa"
	testValue = "sk-value-ünïcode-\n-line two"
)

func newIdentity(t testing.TB) *Identity {
	t.Helper()
	key, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, identityText(key))
}

func classicIdentity(t testing.TB) *Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, key.String())
}

func mustParse(t testing.TB, text string) *Identity {
	t.Helper()
	id, err := ParseIdentity([]byte(text), "identity")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func recipientsOf(t testing.TB, ids ...*Identity) Recipients {
	t.Helper()
	var lines []string
	for _, id := range ids {
		lines = append(lines, id.Recipient())
	}
	r, err := ParseRecipients([]byte(strings.Join(lines, "\n")), "recipients")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keyring seals for id, which opens, and for the others.
func keyring(t testing.TB, id *Identity, others ...*Identity) *Keyring {
	t.Helper()
	k, err := NewKeyring(id, recipientsOf(t, append([]*Identity{id}, others...)...), false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// envelope is one of every kind of secret.
func envelope(profile string) Envelope {
	return Envelope{
		Profile: profile, Server: "https://chat.example.org", UserID: "aBcDeFgHiJkLmNoPq", Token: NewSecret(testToken), Generation: 1,
		Keys:   map[string]Secret{AskerKey: NewSecret(testAsker)},
		Values: map[string]Secret{"OPENAI_API_KEY": NewSecret(testValue)},
	}
}

func mustSeal(t testing.TB, e Envelope, k *Keyring) []byte {
	t.Helper()
	data, err := Seal(e, k)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sealText seals any text at all, as somebody with our recipient could.
func sealText(t testing.TB, plain string, r Recipients) []byte {
	t.Helper()
	data, err := encrypt([]byte(plain), r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func openDir(t testing.TB, path string) *os.Root {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// privateDir is a folder nobody else can write to, whatever the umask.
func privateDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t testing.TB, dir, name, text string, perm os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkError checks kind and words of an error that people read, and that it
// says what mends it.
func checkError(t testing.TB, err error, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("err = %v, want one of the kind %q", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("err = %v, want it to say %q", err, w)
		}
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Hint() == "" {
		t.Errorf("err = %v has no hint", err)
	}
}

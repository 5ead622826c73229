package sealed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"rcsupervisor/internal/atomicfile"
)

func TestInitMakesAnIdentityAndItsRecipients(t *testing.T) {
	home := privateDir(t)
	_, recovery, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Getenv: env("HOME", home)}
	res, err := Init(InitOptions{Recovery: []string{recovery}, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Created || res.Identity.Kind() != Hybrid || len(res.Added) != 2 || res.Path != filepath.Join(home, ".config/rcsupervisor/identity.txt") {
		t.Errorf("%+v", res)
	}
	for path, perm := range map[string]os.FileMode{res.Path: 0o600, res.Recipients: 0o644, filepath.Dir(res.Path): 0o700} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != perm {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
	k, err := FindKeyring(o, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Recipients().Keys(); !slices.Equal(got, []string{res.Identity.Recipient(), recovery}) {
		t.Errorf("recipients = %q", got)
	}
	if _, err := Unseal(mustSeal(t, envelope("alice"), k), k.Identity(), "alice"); err != nil {
		t.Error(err)
	}
}

func TestInitAgainKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(privateDir(t), "identity.txt")
	first, err := Init(InitOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_, recovery, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(first.Recipients)
	if err != nil {
		t.Fatal(err)
	}
	mine := string(text) + "# my own remark, and no line end"
	writeFile(t, filepath.Dir(path), "recipients.txt", mine, 0o644)
	again, err := Init(InitOptions{Path: path, Recovery: []string{recovery, "  "}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Created || again.Identity.Recipient() != first.Identity.Recipient() || !slices.Equal(again.Added, []string{recovery}) {
		t.Errorf("%+v", again)
	}
	if got, _ := os.ReadFile(first.Recipients); string(got) != mine+"\n"+recovery+"\n" {
		t.Errorf("recipients.txt holds %q", got)
	}
	if again, err = Init(InitOptions{Path: path}); err != nil || len(again.Added) != 0 || len(again.Keyring.Recipients().Keys()) != 2 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestInitRefuses(t *testing.T) {
	dir := privateDir(t)
	_, err := Init(InitOptions{Path: filepath.Join(dir, "a", "identity.txt"), Recovery: []string{classicIdentity(t).Recipient()}})
	checkError(t, err, ErrRecipients, "classic", "hybrid")
	_, err = Init(InitOptions{Path: filepath.Join(dir, "b", "identity.txt"), Recovery: []string{"age1nonsense"}})
	checkError(t, err, ErrRecipients)
	if _, err := os.Stat(filepath.Join(dir, "b")); err == nil {
		t.Error("a mistyped recovery key left an identity behind")
	}
	key := hybridText(t)
	_, err = Init(InitOptions{Path: key})
	checkError(t, err, ErrIdentity, "key was given")
	damaged := writeFile(t, dir, "identity.txt", key[:40]+"\n", 0o600)
	_, err = Init(InitOptions{Path: damaged})
	checkError(t, err, ErrIdentity, "cut short")
	if got, _ := os.ReadFile(damaged); string(got) != key[:40]+"\n" {
		t.Error("the damaged identity was replaced")
	}
}

func TestInitMendsRecipientsThatLackOurKey(t *testing.T) {
	dir := privateDir(t)
	path, id := place(t, dir, "identity.txt", 0o600)
	other := newIdentity(t).Recipient()
	writeFile(t, dir, "recipients.txt", other+"\n", 0o644)
	_, err := FindKeyring(Options{File: path}, false)
	checkError(t, err, ErrLockout)
	res, err := Init(InitOptions{Path: path})
	if err != nil || !slices.Equal(res.Keyring.Recipients().Keys(), []string{other, id.Recipient()}) {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestOfManyInitsOneIdentityComes(t *testing.T) {
	path := filepath.Join(privateDir(t), "identity.txt")
	var mu sync.Mutex
	created, keys := 0, map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			res, err := Init(InitOptions{Path: path})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			keys[res.Identity.Recipient()] = true
			if res.Created {
				created++
			}
		})
	}
	wg.Wait()
	if created != 1 || len(keys) != 1 {
		t.Errorf("%d created, %d different keys", created, len(keys))
	}
}

func TestInitKilledAnywhereIsFinishedByTheNext(t *testing.T) {
	n := 0
	for n = 1; ; n++ {
		path := filepath.Join(privateDir(t), "identity.txt")
		crashed := crashAt(n, func() {
			if _, err := Init(InitOptions{Path: path}); err != nil {
				t.Error(err)
			}
		})
		before, _ := os.ReadFile(path)
		res, err := Init(InitOptions{Path: path})
		if err != nil {
			t.Fatalf("crash %d: %v", n, err)
		}
		after, _ := os.ReadFile(path)
		if len(before) > 0 && string(before) != string(after) {
			t.Fatalf("crash %d: the identity was replaced", n)
		}
		if !res.Keyring.Recipients().Contains(res.Identity.Recipient()) {
			t.Fatalf("crash %d: the recipients lack our key", n)
		}
		if !crashed {
			break
		}
	}
	if want := 2 * len(atomicfile.Steps); n != want+1 {
		t.Errorf("%d crashes, want one at each of %d steps", n-1, want)
	}
}

func TestPassphrase(t *testing.T) {
	dir := privateDir(t)
	id := hybridText(t)
	right := func(int) (Secret, error) { return NewSecret("correct horse"), nil }
	protectedText := func(text string, logN int) string {
		data, err := protect([]byte(text), NewSecret("correct horse"), logN)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	path := writeFile(t, dir, "identity.txt", protectedText(id, 4), 0o600)

	got, err := FindIdentity(Options{File: path, Passphrase: right})
	if err != nil || got.Recipient() != mustParse(t, id).Recipient() {
		t.Fatalf("%v, %v", got, err)
	}
	attempts := 0
	got, err = FindIdentity(Options{File: path, Passphrase: func(n int) (Secret, error) {
		attempts++
		if n != attempts {
			t.Errorf("attempt %d is called %d", attempts, n)
		}
		if n == 3 {
			return right(n)
		}
		return NewSecret("wrong"), nil
	}})
	if err != nil || got == nil || attempts != 3 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
	attempts = 0
	_, err = FindIdentity(Options{File: path, Passphrase: func(int) (Secret, error) { attempts++; return Secret{}, nil }})
	checkError(t, err, ErrPassphrase, "is another")
	if attempts != 3 {
		t.Errorf("asked %d times", attempts)
	}
	_, err = FindIdentity(Options{File: path})
	checkError(t, err, ErrPassphrase, "nobody is here to ask")
	gone := errors.New("the terminal is gone")
	_, err = FindIdentity(Options{File: path, Passphrase: func(int) (Secret, error) { return Secret{}, gone }})
	checkError(t, err, ErrPassphrase)
	if !errors.Is(err, gone) {
		t.Error(err)
	}
	fd := pipe(t, protectedText(id, 4))
	if _, err := FindIdentity(Options{FD: fd, Passphrase: right}); err != nil {
		t.Errorf("by descriptor: %v", err)
	}
	// What can't be opened is said before anybody is asked.
	never := func(int) (Secret, error) { t.Error("asked in vain"); return Secret{}, nil }
	for name, tc := range map[string]struct{ text, word string }{
		"too much work": {strings.Replace(binaryForm(t, protectedText(id, 4)), " 4\n", " 21\n", 1), "work factor"},
		"for a key":     {string(sealText(t, id, recipientsOf(t, newIdentity(t)))), "not by a passphrase"},
		"cut armor":     {protectedText(id, 4)[:120], "armored"},
	} {
		_, err := FindIdentity(Options{File: writeFile(t, dir, "other.txt", tc.text, 0o600), Passphrase: never})
		checkError(t, err, ErrIdentity, tc.word)
		if err != nil {
			checkClean(t, name, err.Error(), id)
		}
	}
	_, err = FindIdentity(Options{File: writeFile(t, dir, "other.txt", protectedText("no key at all", 4), 0o600), Passphrase: right})
	checkError(t, err, ErrIdentity, "not a secret key")
	_, err = FindIdentity(Options{File: writeFile(t, dir, "other.txt", protectedText(id, 4)[:200]+"\n-----END AGE ENCRYPTED FILE-----\n", 0o600), Passphrase: right})
	checkError(t, err, ErrIdentity)
}

// binaryForm takes the armor off.
func binaryForm(t *testing.T, text string) string {
	t.Helper()
	data, ok, err := dearmor([]byte(text))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return string(data)
}

func TestInitWithAPassphraseOpensWithItOnly(t *testing.T) {
	if workFactor != 18 {
		t.Errorf("the work factor is %d, age's own is 18", workFactor)
	}
	defer func(n int) { workFactor = n }(workFactor)
	workFactor = 10
	path := filepath.Join(privateDir(t), "identity.txt")
	res, err := Init(InitOptions{Path: path, Passphrase: NewSecret("correct horse")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "AGE-SECRET") || !strings.HasPrefix(string(text), "-----BEGIN AGE ENCRYPTED FILE-----") {
		t.Errorf("the file begins %.40q", text)
	}
	id, err := FindIdentity(Options{File: path, Passphrase: func(int) (Secret, error) { return NewSecret("correct horse"), nil }})
	if err != nil || id.Recipient() != res.Identity.Recipient() {
		t.Error(id, err)
	}
}

// crashAt runs f and has it end at the nth step of the files it replaces, with
// nothing done afterwards, as a kill would. It reports whether f got that far.
func crashAt(n int, f func()) (crashed bool) {
	type crash struct{}
	count := 0
	restore := atomicfile.SetHook(func(atomicfile.Step) error {
		if count++; count == n {
			panic(crash{})
		}
		return nil
	})
	defer restore()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(fmt.Sprint(r))
			}
			crashed = true
		}
	}()
	f()
	return false
}

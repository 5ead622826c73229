package sealed

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/internal/atomicfile"
)

// faulty is a folder that fails on demand, as a tenant's may.
type faulty struct {
	Folder
	read, replace error
	alter         func([]byte) []byte // what the disk makes of what is written
}

func (f *faulty) ReadFile(name string, limit int64) ([]byte, error) {
	if f.read != nil {
		return nil, f.read
	}
	return f.Folder.ReadFile(name, limit)
}

func (f *faulty) ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error {
	if f.replace != nil {
		return f.replace
	}
	return f.Folder.ReplaceFile(name, data, perm, func(written []byte) error {
		if f.alter != nil {
			written = f.alter(written)
		}
		return verify(written)
	})
}

func newStore(t testing.TB, profile string) Store {
	t.Helper()
	return Store{Folder: DirFolder(openDir(t, t.TempDir())), Profile: profile}
}

func mustWrite(t testing.TB, s Store, k *Keyring) Envelope {
	t.Helper()
	e, err := s.Write(envelope(""), k, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestGenerationsRise(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	s := newStore(t, "alice")
	_, err := s.Read(id)
	checkError(t, err, ErrMissing, "alice", "no sealed credentials")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for want := uint64(1); want <= 3; want++ {
		e := mustWrite(t, s, k)
		if e.Generation != want || e.Profile != "alice" {
			t.Fatalf("generation %d of %s, want %d", e.Generation, e.Profile, want)
		}
		if back, err := s.Read(id); err != nil || !back.Same(e) {
			t.Fatalf("read back: %v", err)
		}
	}
	if e, err := s.Write(envelope(""), k, WriteOptions{Floor: 41}); err != nil || e.Generation != 42 {
		t.Errorf("above the ledger's 41 comes %d, %v", e.Generation, err)
	}
	if e, err := s.Write(envelope(""), k, WriteOptions{Floor: 5}); err != nil || e.Generation != 43 {
		t.Errorf("above the file's 42 comes %d, %v", e.Generation, err)
	}
	_, err = s.Write(envelope(""), k, WriteOptions{Floor: maxGeneration})
	checkError(t, err, ErrInvalid, "rise no further")
}

func TestTheFileIsPrivate(t *testing.T) {
	dir := openDir(t, t.TempDir())
	s := Store{Folder: DirFolder(dir), Profile: "alice"}
	mustWrite(t, s, keyring(t, newIdentity(t)))
	fi, err := dir.Stat(FileName)
	if err != nil || fi.Mode() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func TestWriteRefusesToReplaceWhatIsNotItsOwn(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	other := envelope("")
	other.UserID = "anotherBot"
	elsewhere := envelope("")
	elsewhere.Server = "https://other.example.org"
	newer := sealText(t, `{"v":2}`, recipientsOf(t, id))
	for name, tc := range map[string]struct {
		lies []byte
		put  Envelope
		kind error
	}{
		"another bot":       {mustSeal(t, envelope("alice"), k), other, ErrOtherBot},
		"another server":    {mustSeal(t, envelope("alice"), k), elsewhere, ErrOtherBot},
		"another profile":   {mustSeal(t, envelope("bob"), k), envelope(""), ErrForeign},
		"other keys":        {mustSeal(t, envelope("alice"), keyring(t, newIdentity(t))), envelope(""), ErrWrongIdentity},
		"damaged":           {[]byte("damaged"), envelope(""), ErrDamaged},
		"empty":             {nil, envelope(""), ErrDamaged},
		"of a newer kind":   {newer, envelope(""), ErrNewer},
		"one that is large": {make([]byte, MaxFile+1), envelope(""), ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := openDir(t, t.TempDir())
			if err := dir.WriteFile(FileName, tc.lies, 0o600); err != nil {
				t.Fatal(err)
			}
			s := Store{Folder: DirFolder(dir), Profile: "alice"}
			_, err := s.Write(tc.put, k, WriteOptions{})
			checkError(t, err, tc.kind, "alice")
			if lies, _ := dir.ReadFile(FileName); string(lies) != string(tc.lies) {
				t.Error("the file was changed")
			}
			e, err := s.Write(tc.put, k, WriteOptions{Force: true, Floor: 9})
			if err != nil || e.Generation != 10 || !e.SameBot(tc.put) {
				t.Errorf("forced: %v, %v", e, err)
			}
		})
	}
}

func TestAWriteThatFailsChangesNothing(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	full := errors.New("no space left on device")
	swapped := mustSeal(t, envelope("alice"), k)
	for name, f := range map[string]*faulty{
		"a full disk":          {replace: full},
		"a disk that cuts":     {alter: func(b []byte) []byte { return b[:len(b)-1] }},
		"a disk that empties":  {alter: func([]byte) []byte { return nil }},
		"a disk that flips":    {alter: func(b []byte) []byte { b[len(b)-5] ^= 1; return b }},
		"another whole one":    {alter: func([]byte) []byte { return swapped }},
		"one of other keys":    {alter: func([]byte) []byte { return mustSeal(t, envelope("alice"), keyring(t, newIdentity(t))) }},
		"one it can't look at": {read: os.ErrPermission},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, "alice")
			was := mustWrite(t, s, k)
			f.Folder = s.Folder
			if e, err := (Store{Folder: f, Profile: "alice"}).Write(envelope(""), k, WriteOptions{}); err == nil {
				t.Fatalf("written as generation %d", e.Generation)
			}
			if now, err := s.Read(id); err != nil || !now.Same(was) {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	s := newStore(t, "alice")
	was := mustWrite(t, s, k)
	e, err := s.Update(k, 0, func(e *Envelope) error {
		e.Values["NEW"] = NewSecret("a new value")
		delete(e.Values, "OPENAI_API_KEY")
		return nil
	})
	if err != nil || e.Generation != 2 {
		t.Fatal(e.Generation, err)
	}
	want := was.Credentials(nil)
	want.Generation, want.Values = 2, map[string]Secret{"NEW": NewSecret("a new value")}
	if diff := cmp.Diff(want, e.Credentials([]string{"NEW", "OPENAI_API_KEY"})); diff != "" {
		t.Error(diff) // the post key too must be the same as before
	}
	no := errors.New("no")
	if _, err := s.Update(k, 0, func(*Envelope) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	_, err = s.Update(k, 0, func(e *Envelope) error { e.Values["EMPTY"] = Secret{}; return nil })
	checkError(t, err, ErrInvalid, "values.EMPTY is empty")
	if now, err := s.Read(id); err != nil || !now.Same(e) {
		t.Errorf("it was changed: %v", err)
	}
}

func TestAdoptSealsForTheNewName(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	s := newStore(t, "alice")
	was := mustWrite(t, s, k)
	renamed := Store{Folder: s.Folder, Profile: "alicia"}
	_, err := renamed.Read(id)
	checkError(t, err, ErrForeign, "sealed for profile alice", "alicia")
	_, err = renamed.Adopt(k, "bob", 0)
	checkError(t, err, ErrForeign, "sealed for profile alice")
	e, err := renamed.Adopt(k, "alice", 0)
	if err != nil || e.Profile != "alicia" || e.Generation != 2 || !e.Token.Equal(was.Token) || !e.Keys[PostKey].Equal(was.Keys[PostKey]) {
		t.Errorf("%v, %v", e, err)
	}
	again, err := renamed.Adopt(k, "alice", 0)
	if err != nil || !again.Same(e) {
		t.Errorf("adopted twice: %v", err)
	}
	_, err = s.Read(id)
	checkError(t, err, ErrForeign)
}

func TestResealKeepsAllButTheRecipients(t *testing.T) {
	host, recovery := newIdentity(t), newIdentity(t)
	s := newStore(t, "alice")
	was := mustWrite(t, s, keyring(t, host))
	both := keyring(t, host, recovery)
	if !was.Stale(both.Recipients()) {
		t.Error("the recovery key isn't missed")
	}
	e, err := s.Reseal(both)
	if err != nil || !e.Same(was) || e.Stale(both.Recipients()) {
		t.Errorf("%v, %v", e, err)
	}
	if back, err := s.Read(recovery); err != nil || !back.Same(was) {
		t.Errorf("the recovery key: %v", err)
	}
}

func TestAWriteKilledAnywhereLeavesOldOrNew(t *testing.T) {
	id := newIdentity(t)
	k := keyring(t, id)
	n := 0
	for n = 1; ; n++ {
		dir := openDir(t, t.TempDir())
		s := Store{Folder: DirFolder(dir), Profile: "alice"}
		mustWrite(t, s, k)
		crashed := crashAt(n, func() { mustWrite(t, s, k) })
		e, err := s.Read(id)
		if err != nil {
			t.Fatalf("crash %d: %v", n, err)
		}
		want := uint64(1)
		if n > 5 { // the fifth step is the rename
			want = 2
		}
		if e.Generation != want {
			t.Errorf("crash %d: generation %d, want %d", n, e.Generation, want)
		}
		checkNoPlaintext(t, dir)
		if _, err := atomicfile.Sweep(dir); err != nil {
			t.Error(err)
		}
		if !crashed {
			break
		}
	}
	if n != len(atomicfile.Steps)+1 {
		t.Errorf("%d crashes", n-1)
	}
}

// checkNoPlaintext looks at every file of the folder, the temporary ones too.
func checkNoPlaintext(t *testing.T, dir *os.Root) {
	t.Helper()
	err := fs.WalkDir(dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := dir.ReadFile(path)
		for _, secret := range []string{testToken, testAsker, testValue} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds a secret in plain text", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestHandover(t *testing.T) {
	e := envelope("alice")
	e.Keys[PostKey] = NewSecret("post-key")
	want := e.Credentials([]string{"OPENAI_API_KEY"})
	data, err := want.MarshalHandover()
	if err != nil || strings.Contains(string(data), "\n") {
		t.Fatalf("%q, %v", data, err)
	}
	got, err := UnmarshalHandover(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Token.Reveal() != testToken || got.Values["OPENAI_API_KEY"].Reveal() != testValue || got.AskerKey.Reveal() != testAsker {
		t.Errorf("it came as another: %s", diff)
	}
	whole := string(data)
	for name, bad := range map[string]string{
		"nothing": "", "half": whole[:40], "twice": whole + whole, "printed": strings.Replace(whole, `"v":1`, `"v":1,"x":"[sealed]"`, 1),
		"version": strings.Replace(whole, `"v":1`, `"v":2`, 1), "no token": strings.Replace(whole, `"token"`, `"tokem"`, 1),
		"server": strings.Replace(whole, "https://chat.example.org", "https://chat.example.org/", 1), "null": "null",
	} {
		if _, err := UnmarshalHandover([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			checkClean(t, name, err.Error(), testToken, testAsker, testValue)
		}
	}
	bare := Credentials{Server: "https://chat.example.org", UserID: "u", Token: NewSecret("t"), Generation: 1}
	if data, err = bare.MarshalHandover(); err != nil {
		t.Fatal(err)
	}
	if got, err = UnmarshalHandover(data); err != nil || !got.Equal(bare) || !got.AskerKey.Empty() {
		t.Errorf("%v, %v", got, err)
	}
}

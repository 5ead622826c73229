package sealed

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rcsupervisor/internal/atomicfile"
)

// rotate is what a verb does, from the beginning or from wherever it stopped.
func (h *host) rotate(t *testing.T, o Options) *Identity {
	t.Helper()
	if _, err := Resume(h.journal, h.find); err != nil {
		t.Fatal(err)
	}
	k, err := StartRotation(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rekey(t.Context(), h.journal, h.homes, k.Identity(), k); err != nil {
		t.Fatal(err)
	}
	id, err := FinishRotation(o, h.opens)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (h *host) opens(id *Identity) error {
	for _, home := range h.homes {
		if _, err := (Store{home.Folder, home.Profile}).Read(id); err != nil {
			return err
		}
	}
	return nil
}

func TestRotation(t *testing.T) {
	dir := privateDir(t)
	_, recovery, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{File: filepath.Join(dir, "identity.txt")}
	first, err := Init(InitOptions{Path: o.File, Recovery: []string{recovery}})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, 3, first.Keyring)
	id := h.rotate(t, o)
	if id.Recipient() == first.Identity.Recipient() || id.Rotating() || id.Path() != o.File {
		t.Errorf("%v of %q", id, id.Path())
	}
	k, err := FindKeyring(o, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Recipients().Keys(); !slices.Equal(got, []string{id.Recipient(), recovery}) {
		t.Errorf("recipients = %d, the new key first: %v", len(got), got[0] == id.Recipient())
	}
	if n := h.sealedFor(t, k, k.Identity()); n != 3 {
		t.Errorf("%d of 3 sealed anew", n)
	}
	if err := h.opens(first.Identity); !errors.Is(err, ErrWrongIdentity) {
		t.Errorf("the old key still opens: %v", err)
	}
	if fi, err := os.Stat(o.File); err != nil || fi.Mode().Perm() != 0o600 {
		t.Error(fi.Mode(), err)
	}
	text, _ := os.ReadFile(o.File)
	if n := strings.Count(string(text), "\nAGE-SECRET-KEY-"); n != 1 {
		t.Errorf("%d keys in the file", n)
	}
}

func TestFinishKeepsAKeyThatIsStillNeeded(t *testing.T) {
	dir := privateDir(t)
	o := Options{File: filepath.Join(dir, "identity.txt")}
	first, err := Init(InitOptions{Path: o.File})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, 2, first.Keyring)
	if _, err := StartRotation(o); err != nil {
		t.Fatal(err)
	}
	if _, err := FinishRotation(o, h.opens); !errors.Is(err, ErrWrongIdentity) {
		t.Errorf("err = %v", err)
	}
	id, err := FindIdentity(o)
	if err != nil || !id.Rotating() {
		t.Fatal(id, err)
	}
	if err := h.opens(id); err != nil {
		t.Errorf("with both keys: %v", err)
	}
	h.rotate(t, o)
	if id, err = FinishRotation(o, nil); err != nil || id.Rotating() {
		t.Errorf("finished twice: %v, %v", id, err)
	}
}

func TestRotationCrashedAnywhereStillOpensAndIsFinishedByTheNext(t *testing.T) {
	n := 0
	for n = 1; ; n++ {
		o := Options{File: filepath.Join(privateDir(t), "identity.txt")}
		first, err := Init(InitOptions{Path: o.File})
		if err != nil {
			t.Fatal(err)
		}
		h := newHost(t, 2, first.Keyring)
		crashed := crashAt(n, func() { h.rotate(t, o) })
		// As it lies there: the host's identity opens everything, and seals.
		k, err := FindKeyring(o, false)
		if err != nil {
			t.Fatalf("crash %d: %v", n, err)
		}
		if err := h.opens(k.Identity()); err != nil {
			t.Fatalf("crash %d: %v", n, err)
		}
		if !crashed {
			break
		}
		id := h.rotate(t, o)
		if id.Rotating() || id.Recipient() == first.Identity.Recipient() {
			t.Fatalf("crash %d: not rotated", n)
		}
		if err := h.opens(id); err != nil {
			t.Fatalf("crash %d: %v", n, err)
		}
		if k, err = FindKeyring(o, false); err != nil || !slices.Equal(k.Recipients().Keys(), []string{id.Recipient()}) {
			t.Fatalf("crash %d: the recipients are others than the host: %v", n, err)
		}
	}
	if want := 6 * len(atomicfile.Steps); n != want+1 { // identity, recipients, journal, two homes, identity
		t.Errorf("%d crashes, want %d", n-1, want)
	}
}

func TestRotationFromClassicToHybrid(t *testing.T) {
	dir := privateDir(t)
	text := classicText(t)
	o := Options{File: writeFile(t, dir, "identity.txt", text, 0o600)}
	id := mustParse(t, text)
	writeFile(t, dir, "recipients.txt", "# mine\n"+id.Recipient()+"\n", 0o644)
	h := newHost(t, 2, keyring(t, id))
	if got := h.rotate(t, o); got.Kind() != Hybrid {
		t.Errorf("kind = %s", got.Kind())
	}

	// With a classic recovery key it can't be, and is seen before a file is touched.
	dir = privateDir(t)
	o.File = writeFile(t, dir, "identity.txt", text, 0o600)
	recipients := id.Recipient() + "\n" + classicIdentity(t).Recipient() + "\n"
	writeFile(t, dir, "recipients.txt", recipients, 0o644)
	_, err := StartRotation(o)
	checkError(t, err, ErrRecipients, "never seals", "new key")
	for name, want := range map[string]string{"identity.txt": text, "recipients.txt": recipients} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestRotationKeepsThePassphrase(t *testing.T) {
	defer func(n int) { workFactor = n }(workFactor)
	workFactor = 6
	o := Options{File: filepath.Join(privateDir(t), "identity.txt"), Passphrase: func(int) (Secret, error) { return NewSecret("correct horse"), nil }}
	first, err := Init(InitOptions{Path: o.File, Passphrase: NewSecret("correct horse")})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, 1, first.Keyring)
	h.rotate(t, o)
	text, _ := os.ReadFile(o.File)
	if strings.Contains(string(text), "AGE-SECRET") {
		t.Error("the passphrase is gone")
	}
	if id, err := FindIdentity(o); err != nil || id.Recipient() == first.Identity.Recipient() {
		t.Error(id, err)
	}
}

func TestRotationOfWhatIsNoFileOfOurs(t *testing.T) {
	_, err := StartRotation(Options{FD: pipe(t, hybridText(t)), Getenv: env("HOME", "/nonexistent", IdentityVar, "/nonexistent/identity.txt")})
	checkError(t, err, ErrIdentity, "not ours to change")
	dir := privateDir(t)
	place(t, dir, CredentialName, 0o400)
	_, err = FinishRotation(Options{Getenv: env("CREDENTIALS_DIRECTORY", dir)}, nil)
	checkError(t, err, ErrIdentity, "not ours to change")
}

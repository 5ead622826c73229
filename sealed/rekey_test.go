package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rcsupervisor/internal/atomicfile"
)

// A host is a set of homes with their envelopes, and a journal's folder.
type host struct {
	dir     string
	journal *os.Root
	homes   []Home
	was     []Envelope
}

func newHost(t testing.TB, n int, k *Keyring) *host {
	t.Helper()
	h := &host{dir: t.TempDir()}
	h.journal = openDir(t, filepath.Join(h.dir, "state"))
	for i := range n {
		key := fmt.Sprintf("home%02d", i)
		home := Home{Key: key, Profile: fmt.Sprintf("p%02d", i), Folder: DirFolder(openDir(t, filepath.Join(h.dir, key)))}
		h.homes = append(h.homes, home)
		h.was = append(h.was, mustWrite(t, Store{home.Folder, home.Profile}, k))
	}
	return h
}

func (h *host) find(key, _ string) (Folder, error) {
	for _, home := range h.homes {
		if home.Key == key {
			return home.Folder, nil
		}
	}
	return nil, fs.ErrNotExist
}

// sealedFor returns how many envelopes are sealed for k's recipients, after
// checking that each opens with one of ids and holds what it held before.
func (h *host) sealedFor(t testing.TB, k *Keyring, ids ...*Identity) int {
	t.Helper()
	n := 0
	for i, home := range h.homes {
		var e Envelope
		err := errors.New("no identity")
		for _, id := range ids {
			if e, err = (Store{home.Folder, home.Profile}).Read(id); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", home.Profile, err)
		}
		if !e.Same(h.was[i]) {
			t.Fatalf("%s holds something else", home.Profile)
		}
		if !e.Stale(k.Recipients()) {
			n++
		}
	}
	return n
}

func TestRekeySealsAllForTheNewRecipients(t *testing.T) {
	before, after, recovery := newIdentity(t), newIdentity(t), newIdentity(t)
	h := newHost(t, 5, keyring(t, before))
	empty := Home{Key: "empty", Profile: "empty", Folder: DirFolder(openDir(t, t.TempDir()))}
	k := keyring(t, after, recovery)
	done, err := Rekey(t.Context(), h.journal, append(h.homes, empty), before, k)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"p00", "p01", "p02", "p03", "p04"}; !slices.Equal(done.Resealed, want) || !slices.Equal(done.Empty, []string{"empty"}) {
		t.Errorf("%+v", done)
	}
	for _, id := range []*Identity{after, recovery} {
		if n := h.sealedFor(t, k, id); n != 5 {
			t.Errorf("%d of 5 sealed anew", n)
		}
	}
	_, err = (Store{h.homes[0].Folder, "p00"}).Read(before)
	checkError(t, err, ErrWrongIdentity)
	if left, err := Unfinished(h.journal); left || err != nil {
		t.Errorf("the journal: %v, %v", left, err)
	}
	if done, err := Resume(h.journal, h.find); err != nil || len(done.Resealed) != 0 {
		t.Errorf("nothing to resume: %+v, %v", done, err)
	}
	if done, err := Rekey(t.Context(), h.journal, nil, after, k); err != nil || len(done.Resealed) != 0 {
		t.Errorf("no homes: %+v, %v", done, err)
	}
}

func TestRekeyChangesNothingWhenOneCantBeOpened(t *testing.T) {
	before, after := newIdentity(t), newIdentity(t)
	k := keyring(t, after)
	for name, tc := range map[string]struct {
		lies []byte
		kind error
	}{
		"damaged":             {[]byte("damaged"), ErrDamaged},
		"of another profile":  {mustSeal(t, envelope("bob"), keyring(t, before)), ErrForeign},
		"sealed for others":   {mustSeal(t, envelope("p02"), keyring(t, newIdentity(t))), ErrWrongIdentity},
		"of a newer version":  {sealText(t, `{"v":2}`, recipientsOf(t, before)), ErrNewer},
		"already for the new": {mustSeal(t, envelope("p02"), k), ErrWrongIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 3, keyring(t, before))
			if err := os.WriteFile(filepath.Join(h.dir, "home02", FileName), tc.lies, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Rekey(t.Context(), h.journal, h.homes, before, k)
			checkError(t, err, tc.kind, "p02")
			h.homes = h.homes[:2]
			if n := h.sealedFor(t, k, before); n != 0 {
				t.Errorf("%d were sealed anew", n)
			}
			if left, _ := Unfinished(h.journal); left {
				t.Error("a journal was left")
			}
		})
	}
	h := newHost(t, 2, keyring(t, before))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rekey(ctx, h.journal, h.homes, before, k); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Rekey(t.Context(), h.journal, append(h.homes, h.homes[0]), before, k); err == nil {
		t.Error("a home named twice was accepted")
	}
	if n := h.sealedFor(t, k, before); n != 0 {
		t.Errorf("%d were sealed anew", n)
	}
}

func TestAHomeThatCantBeWrittenPutsAllBack(t *testing.T) {
	before, after := newIdentity(t), newIdentity(t)
	k := keyring(t, after)
	full := errors.New("disk quota exceeded")
	h := newHost(t, 4, keyring(t, before))
	bad := &faulty{Folder: h.homes[2].Folder, replace: full}
	h.homes[2].Folder = bad
	_, err := Rekey(t.Context(), h.journal, h.homes, before, k)
	checkError(t, err, ErrPutBack, "p02", "disk quota")
	if !errors.Is(err, full) {
		t.Error(err)
	}
	if n := h.sealedFor(t, k, before); n != 0 {
		t.Errorf("%d stayed sealed anew", n)
	}
	if left, _ := Unfinished(h.journal); left {
		t.Error("a journal was left")
	}
	bad.replace = nil
	if _, err := Rekey(t.Context(), h.journal, h.homes, before, k); err != nil {
		t.Errorf("once mended: %v", err)
	}
	if n := h.sealedFor(t, k, after); n != 4 {
		t.Errorf("%d of 4 sealed anew", n)
	}
}

func TestWhatCantBePutBackIsFinishedLater(t *testing.T) {
	before, after := newIdentity(t), newIdentity(t)
	k := keyring(t, after)
	h := newHost(t, 3, keyring(t, before))
	first, second := &faulty{Folder: h.homes[0].Folder}, &faulty{Folder: h.homes[1].Folder, replace: errors.New("disk full")}
	first.alter = func(b []byte) []byte { // once written, it can't be written again
		first.replace = errors.New("read-only file system")
		return b
	}
	h.homes[0].Folder, h.homes[1].Folder = first, second
	_, err := Rekey(t.Context(), h.journal, h.homes, before, k)
	checkError(t, err, ErrUnfinished, "p01", "disk full", "put back p00", "read-only")
	if n := h.sealedFor(t, k, before, after); n != 1 {
		t.Errorf("%d sealed anew, want the first", n)
	}
	_, err = Rekey(t.Context(), h.journal, h.homes, before, k)
	checkError(t, err, ErrUnfinished)
	first.replace, first.alter, second.replace = nil, nil, nil
	done, err := Resume(h.journal, h.find)
	if err != nil || len(done.Resealed) != 3 {
		t.Errorf("%+v, %v", done, err)
	}
	if n := h.sealedFor(t, k, after); n != 3 {
		t.Errorf("%d of 3 sealed anew", n)
	}
}

func TestResumeLeavesWhatChangedMeanwhile(t *testing.T) {
	before, after := newIdentity(t), newIdentity(t)
	k := keyring(t, after)
	h := newHost(t, 4, keyring(t, before))
	if !crashAt(len(atomicfile.Steps)+1, func() { Rekey(t.Context(), h.journal, h.homes, before, k) }) {
		t.Fatal("it was not interrupted")
	}
	// One is set anew, one deleted, and one home is gone altogether.
	if h.was[1], _ = (Store{h.homes[1].Folder, "p01"}).Write(h.was[1], k, WriteOptions{Force: true, Floor: 1}); h.was[1].Generation != 2 {
		t.Fatal("not written")
	}
	if err := os.Remove(filepath.Join(h.dir, "home02", FileName)); err != nil {
		t.Fatal(err)
	}
	h.homes, h.was = slices.Delete(h.homes, 3, 4), slices.Delete(h.was, 3, 4)
	done, err := Resume(h.journal, h.find)
	if err != nil || !slices.Equal(done.Resealed, []string{"p00"}) || !slices.Equal(done.Changed, []string{"p01"}) || !slices.Equal(done.Gone, []string{"p02", "p03"}) {
		t.Errorf("%+v, %v", done, err)
	}
	h.homes, h.was = h.homes[:2], h.was[:2]
	if n := h.sealedFor(t, k, after); n != 2 {
		t.Errorf("%d of 2 sealed for the new", n)
	}
}

// checkWhole resumes after a crash and checks that all or none are sealed anew.
// It returns how many are.
func (h *host) checkWhole(t *testing.T, where string, k *Keyring, ids ...*Identity) int {
	t.Helper()
	h.sealedFor(t, k, ids...) // whatever happened, every single one opens
	for _, dir := range append([]string{"state"}, keysOf(h.homes)...) {
		if _, err := atomicfile.Sweep(openDir(t, filepath.Join(h.dir, dir))); err != nil {
			t.Error(err)
		}
	}
	if _, err := Resume(h.journal, h.find); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	n := h.sealedFor(t, k, ids...)
	if n != 0 && n != len(h.homes) {
		t.Fatalf("%s: %d of %d sealed anew", where, n, len(h.homes))
	}
	if left, _ := Unfinished(h.journal); left {
		t.Errorf("%s: the journal is still there", where)
	}
	for _, home := range h.homes {
		entries, err := os.ReadDir(filepath.Join(h.dir, home.Key))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: %s holds %v, %v", where, home.Key, entries, err)
		}
	}
	return n
}

func keysOf(homes []Home) []string {
	var keys []string
	for _, h := range homes {
		keys = append(keys, h.Key)
	}
	return keys
}

func TestARekeyOfFiftyCrashedAnywhereEndsWhole(t *testing.T) {
	const homes = 50
	before, after := newIdentity(t), newIdentity(t)
	k := keyring(t, after)
	steps := len(atomicfile.Steps)
	last := steps * (homes + 1)
	h := newHost(t, homes, keyring(t, before))
	originals := map[string][]byte{}
	for _, home := range h.homes {
		originals[home.Key], _ = home.Folder.ReadFile(FileName, MaxFile)
	}
	for n := 1; n <= last; n++ {
		// The steps around the journal's rename, and a sample of the homes'; with
		// fewer homes the next test takes every step.
		if n < 4 || n > steps && n < last && n%149 != 0 {
			continue
		}
		for key, data := range originals {
			if err := os.WriteFile(filepath.Join(h.dir, key, FileName), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !crashAt(n, func() { Rekey(t.Context(), h.journal, h.homes, before, k) }) {
			t.Fatalf("no crash at step %d of %d", n, last)
		}
		if got := h.checkWhole(t, fmt.Sprint("crash at ", n), k, after, before); (got == homes) != (n > 5) {
			t.Errorf("crash at %d: %d sealed anew; the fifth step is the journal's rename", n, got)
		}
	}
}

// The same with the kernel's own kill, in a child, at every step.
func TestARekeyKilledAnywhereEndsWhole(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beforeText, afterText := hybridText(t), hybridText(t)
	before, after := mustParse(t, beforeText), mustParse(t, afterText)
	k := keyring(t, after)
	const homes = 2
	for n := 1; ; n++ {
		h := newHost(t, homes, keyring(t, before))
		writeFile(t, h.dir, "before.txt", beforeText, 0o600)
		writeFile(t, h.dir, "after.txt", afterText, 0o600)
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childDir+"="+h.dir, childVerb+"=rekey", childArg+"="+fmt.Sprint(n))
		out, err := cmd.CombinedOutput()
		if err == nil {
			if want := len(atomicfile.Steps)*(homes+1) + 1; n != want {
				t.Errorf("%d steps, want %d", n, want)
			}
			if got := h.sealedFor(t, k, after); got != homes {
				t.Errorf("%d of %d sealed anew", got, homes)
			}
			return
		}
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("kill %d: %v: %s", n, err, out)
		}
		h.checkWhole(t, fmt.Sprint("kill at ", n), k, before, after)
	}
}

func TestADamagedJournalIsNotFollowed(t *testing.T) {
	id := newIdentity(t)
	h := newHost(t, 2, keyring(t, id))
	entry, err := h.homes[0].plan(id, keyring(t, id))
	if err != nil {
		t.Fatal(err)
	}
	if err := writeJournal(h.journal, []journalEntry{entry}); err != nil {
		t.Fatal(err)
	}
	err = writeJournal(h.journal, nil)
	checkError(t, err, ErrUnfinished)
	good, err := h.journal.ReadFile(JournalName)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := parseJournal(good); err != nil || len(entries) != 1 || string(entries[0].New) != string(entry.New) {
		t.Fatalf("%v", err)
	}
	for name, data := range map[string]string{
		"empty": "", "cut": string(good[:len(good)-70]), "without an end": string(good[:strings.LastIndex(string(good[:len(good)-1]), "\n")+1]),
		"a byte changed": strings.Replace(string(good), `"profile":"p00"`, `"profile":"p01"`, 1), "more": string(good) + "{}\n",
		"another version": strings.Replace(string(good), `"v":1`, `"v":2`, 1),
	} {
		if err := h.journal.WriteFile(JournalName, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := Resume(h.journal, h.find)
		if len(done.Resealed) != 0 {
			t.Errorf("%s: followed", name)
		}
		checkError(t, err, ErrDamaged, "journal")
	}
	h.sealedFor(t, keyring(t, id), id)
}

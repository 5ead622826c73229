package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// What lies on the disk between two steps of a write is what a process leaves
// that is killed there: its locks end with it, and nothing else of it stays.
// So one run is enough to see all of them. Each is then looked at and the verb
// run again in it, as whoever finds it would. That a killed process leaves no
// more and no less is shown with real kills in atomicfile and sealed.

// crashes runs do, takes a copy of the world before each step that wanted
// picks, and calls check in each of them and in the one at the end. It returns
// how many steps there were.
func (w *world) crashes(do func(), wanted func(step int) bool, check func(t *testing.T, step int)) int {
	w.t.Helper()
	copies := w.t.TempDir()
	steps := 0
	restore := atomicfile.SetHook(func(atomicfile.Step) error {
		if steps++; wanted(steps) {
			copyTree(w.t, w.dir, filepath.Join(copies, fmt.Sprint(steps)))
		}
		return nil
	})
	do()
	restore()
	copyTree(w.t, w.dir, filepath.Join(copies, "end"))
	for n := 1; n <= steps; n++ {
		if wanted(n) {
			w.restore(filepath.Join(copies, fmt.Sprint(n)))
			check(w.t, n)
			if w.t.Failed() {
				w.t.Fatalf("killed before step %d of %d", n, steps)
			}
		}
	}
	w.restore(filepath.Join(copies, "end"))
	check(w.t, steps+1)
	return steps
}

// all picks every step; with the race detector, which makes sealing slow, every
// third.
func all(step int) bool { return !raced || step%3 == 1 }

func TestKilledWhileABotIsAdded(t *testing.T) {
	w := newWorld(t)
	token := []string{w.ada.Token}
	steps := w.crashes(func() { w.add("alice") }, all, func(t *testing.T, step int) {
		w.whole()
		w.noPlain(token)
		// Without channel.yaml it takes no part, and nothing has to be undone.
		_, err := os.Stat(filepath.Join(w.home("alice"), profile.Folder, profile.SettingsFile))
		if e, missing := w.envelope("alice"); err == nil && (missing != nil || e.Token.Reveal() != w.ada.Token) {
			t.Error("the home takes part before its envelope is there")
		}
		w.add("alice")
		w.works("", "check", "alice")
		if e, err := w.envelope("alice"); err != nil || e.Generation > 2 {
			t.Error(e.Generation, err)
		}
	})
	if steps < 20 {
		t.Errorf("only %d steps: what was to be enumerated?", steps)
	}
}

func TestKilledWhileASecretIsSet(t *testing.T) {
	w := newWorld(t)
	w.add("alice")
	const value = "sk-0123456789abcdef"
	w.crashes(func() { w.works(value, "secret", "alice", "set", "OPENAI_API_KEY") }, all, func(t *testing.T, _ int) {
		w.whole()
		w.noPlain([]string{w.ada.Token, value})
		e, err := w.envelope("alice")
		if err != nil || e.Token.Reveal() != w.ada.Token {
			t.Fatal(err)
		}
		if got, there := e.Values["OPENAI_API_KEY"]; there != (e.Generation == 2) || there && got.Reveal() != value {
			t.Error("neither the old nor the new")
		}
		w.works(value, "secret", "alice", "set", "OPENAI_API_KEY")
	})
}

func TestKilledWhileAnImportScrubs(t *testing.T) {
	w := newWorld(t)
	const asker = "an-asker-key-of-some-length"
	env := fmt.Sprintf("# mine\nOTHER=1\nROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\nROCKETCHAT_TOKEN=%s\nROCKETCHAT_TEAM_ASKER_KEY=%s\n", w.url, w.ada.ID, w.ada.Token, asker)
	path := filepath.Join(w.home("alice"), ".env")
	must(t, os.MkdirAll(w.home("alice"), 0o755))
	must(t, os.WriteFile(path, []byte(env), 0o640))
	scrub := func() { w.works("", "import", "alice", "--scrub", "--agent", "echo") }
	steps := w.crashes(scrub, all, func(t *testing.T, _ int) {
		w.whole()
		w.noPlain([]string{w.ada.Token, asker}, path)
		text, err := os.ReadFile(path)
		must(t, err)
		switch string(text) {
		case env:
		case fmt.Sprintf("# mine\nOTHER=1\nROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\n", w.url, w.ada.ID):
			// What is gone from here is sealed, whole.
			if e, err := w.envelope("alice"); err != nil || e.Token.Reveal() != w.ada.Token || e.Keys["asker"].Reveal() != asker {
				t.Error("a secret is neither here nor sealed", err)
			}
		default:
			t.Errorf("the .env is neither the old nor the new: %d bytes", len(text))
		}
		scrub()
		w.noPlain([]string{w.ada.Token, asker})
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Error("its mode has changed", info.Mode())
		}
		w.works("", "check", "alice")
	})
	if steps < 30 {
		t.Errorf("only %d steps", steps)
	}
}

func TestKilledWhileTheLedgerIsWritten(t *testing.T) {
	w := newWorld(t)
	w.add("alice")
	w.works("", "adopt", "alice")
	w.add("bob")
	steps := w.crashes(func() { w.works("", "adopt", "bob") }, all, func(t *testing.T, _ int) {
		w.whole()
		root, err := os.OpenRoot(w.at("state"))
		must(t, err)
		defer root.Close()
		l, err := profile.OpenLedger(root)
		must(t, err)
		if _, ok := l.Get("alice"); !ok {
			t.Error("alice was forgotten")
		}
		w.works("", "adopt", "bob")
		if !strings.Contains(w.works("", "adopt", "bob"), "nothing to adopt") {
			t.Error("bob was not adopted")
		}
	})
	if steps < 10 {
		t.Errorf("only %d steps", steps)
	}
}

// A reseal of fifty: before the journal is whole all are old, after that all
// will be new. The steps of the journal and the first file are looked at, and
// some after them: those of each file say the same.
func TestKilledWhileFiftyAreResealed(t *testing.T) {
	w := newWorld(t)
	const homes = 50
	name := func(i int) string { return fmt.Sprintf("p%02d", i) }
	w.add(name(0))
	for i := 1; i < homes; i++ {
		w.works(w.ada.Token, "add", name(i), "--unchecked", "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID)
	}
	_, recovery, err := sealed.GenerateKey()
	must(t, err)
	w.works("", "init", "--recovery", recovery)
	id, err := sealed.FindIdentity(sealed.Options{})
	must(t, err)
	recipients, err := sealed.FindRecipients(id, sealed.Options{})
	must(t, err)
	each := len(atomicfile.Steps)
	total := each * (homes + 1) // the journal is one file more
	wanted := func(step int) bool {
		if raced {
			return step == 1 || step == each-2 || step == each+1 || step == total/2
		}
		return step <= each+1 || step == each+5 || step == each+6 || step == total/2 || step == total-2
	}
	steps := w.crashes(func() { w.works("", "reseal", "--all") }, wanted, func(t *testing.T, step int) {
		fresh := 0
		for i := range homes {
			e, err := w.envelope(name(i))
			must(t, err)
			if e.Token.Reveal() != w.ada.Token || e.Generation != 1 {
				t.Fatal("an envelope holds something else")
			}
			if !e.Stale(recipients) {
				fresh++
			}
		}
		_, journal := os.Stat(filepath.Join(w.at("state"), sealed.JournalName))
		if fresh > 0 && fresh < homes && journal != nil {
			t.Errorf("%d of %d are new, and nothing brings that to an end", fresh, homes)
		}
		out := w.works("", "reseal", name(0))
		if journal == nil && !strings.Contains(out, "finished") {
			t.Error("the reseal that was interrupted was not finished:", out)
		}
		if journal == nil {
			for i := range homes {
				if e, err := w.envelope(name(i)); err != nil || e.Stale(recipients) {
					t.Fatal("not all are new", err)
				}
			}
		}
		if _, err := os.Stat(filepath.Join(w.at("state"), sealed.JournalName)); err == nil {
			t.Error("the journal is still there")
		}
	})
	if steps != total {
		t.Errorf("%d steps, and %d were to be picked from", steps, total)
	}
}

// Another identity for the host: whenever it is killed everything opens, and
// the next try ends it.
func TestKilledWhileTheIdentityIsChanged(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"alice", "bob"} {
		w.add(name)
	}
	old, err := sealed.FindIdentity(sealed.Options{})
	must(t, err)
	change := func() { w.works("", "reseal", "--all", "--new-identity") }
	w.crashes(change, all, func(t *testing.T, _ int) {
		w.whole()
		change()
		w.works("", "check", "alice")
		w.works("", "check", "bob")
		now, err := sealed.FindIdentity(sealed.Options{})
		must(t, err)
		if now.Rotating() || now.Recipient() == old.Recipient() {
			t.Error("the identity is still the old one")
		}
	})
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A verb is killed between any two steps of what it writes: it is run in a
// process of its own, which kills itself as nothing but the kernel can, and
// what it left is looked at and the verb run again, as whoever finds it would.

// dieAt is the variable that says before which step a process of the program
// is to kill itself.
const dieAt = "RCSUPERVISOR_TEST_DIES_AT"

// dieWhenTold has this process die at the step that the variable says.
func dieWhenTold() {
	at, err := strconv.Atoi(os.Getenv(dieAt))
	if err != nil {
		return
	}
	steps := 0
	atomicfile.SetHook(func(atomicfile.Step) error {
		if steps++; steps == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
}

// crashWorld is a world on a disk in memory, where there is one: a process that
// is killed loses nothing it has written, so any disk shows the same.
func crashWorld(t *testing.T) *world {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
	return newWorld(t)
}

// dies runs the program and reports whether it died at the step; else it has to
// have done what it was to do, having had no such step.
func (w *world) dies(step int, stdin string, args ...string) bool {
	w.t.Helper()
	cmd := w.command(stdin, args...)
	cmd.Env = append(os.Environ(), fmt.Sprint(dieAt, "=", step))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		w.t.Fatalf("%v, to die at step %d: %v\n%s", args, step, err, out)
	}
	return true
}

// killed runs the program from one and the same beginning again and again, and
// kills it at each of the steps, or at every step that there is. check is called
// in what each left, and again makes good of it what it is: afterwards nothing
// temporary lies about. It returns how many were killed.
func (w *world) killed(steps []int, check, again func(t *testing.T), stdin string, args ...string) int {
	w.t.Helper()
	base := filepath.Join(w.t.TempDir(), "base")
	copyTree(w.t, w.dir, base)
	kills := 0
	for i := 1; steps == nil || i <= len(steps); i++ {
		step := i
		if steps != nil {
			step = steps[i-1]
		}
		w.restore(base)
		died := w.dies(step, stdin, args...)
		check(w.t)
		again(w.t)
		w.swept()
		if w.t.Failed() {
			w.t.Fatalf("killed at step %d", step)
		}
		if !died {
			break
		}
		kills++
	}
	return kills
}

func TestKilledWhileTheHostIsMade(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	must(t, os.RemoveAll(w.at("home")))
	must(t, os.MkdirAll(w.at("home"), 0o700))
	kills := w.killed(nil, func(t *testing.T) {
		if id, err := sealed.FindIdentity(sealed.Options{}); err != nil && (id != nil || !errors.Is(err, sealed.ErrNoIdentity)) {
			t.Error(err)
		}
	}, func(t *testing.T) {
		w.works("", "init")
		w.add("alice")
	}, "", "init")
	if kills != 2*len(atomicfile.Steps) {
		t.Errorf("killed %d times", kills)
	}
}

func TestKilledWhileABotIsAdded(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	kills := w.killed(nil, func(t *testing.T) {
		w.whole()
		w.noPlain([]string{w.ada.Token})
		// Without channel.yaml it takes no part, and nothing has to be undone.
		_, err := os.Stat(filepath.Join(w.home("alice"), profile.Folder, profile.SettingsFile))
		if e, missing := w.envelope("alice"); err == nil && (missing != nil || e.Token.Reveal() != w.ada.Token) {
			t.Error("the home takes part before its envelope is there")
		}
	}, func(t *testing.T) {
		w.add("alice")
		w.works("", "check", "alice")
		if e, err := w.envelope("alice"); err != nil || e.Generation > 2 {
			t.Error(e.Generation, err)
		}
	}, w.ada.Token, "add", "alice", "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID)
	if kills < 20 {
		t.Errorf("only %d steps: what was to be enumerated?", kills)
	}
}

func TestKilledWhileASecretIsSet(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	w.add("alice")
	const value = "sk-0123456789abcdef"
	set := []string{"secret", "alice", "set", "OPENAI_API_KEY"}
	kills := w.killed(nil, func(t *testing.T) {
		w.whole()
		w.noPlain([]string{w.ada.Token, value})
		e, err := w.envelope("alice")
		if err != nil || e.Token.Reveal() != w.ada.Token {
			t.Fatal(err)
		}
		if got, there := e.Values["OPENAI_API_KEY"]; there != (e.Generation == 2) || there && got.Reveal() != value {
			t.Error("neither the old nor the new")
		}
	}, func(*testing.T) { w.works(value, set...) }, value, set...)
	if kills < len(atomicfile.Steps) {
		t.Errorf("killed %d times", kills)
	}
}

func TestKilledWhileAnImportScrubs(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	const asker = "an-asker-key-of-some-length"
	env := fmt.Sprintf("# mine\nOTHER=1\nROCKETCHAT_URL=%s\nROCKETCHAT_USER_ID=%s\nROCKETCHAT_TOKEN=%s\nROCKETCHAT_TEAM_ASKER_KEY=%s\n", w.url, w.ada.ID, w.ada.Token, asker)
	path := filepath.Join(w.home("alice"), ".env")
	must(t, os.MkdirAll(w.home("alice"), 0o755))
	must(t, os.WriteFile(path, []byte(env), 0o640))
	scrub := []string{"import", "alice", "--scrub", "--agent", "echo"}
	kills := w.killed(nil, func(t *testing.T) {
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
	}, func(t *testing.T) {
		w.works("", scrub...)
		w.noPlain([]string{w.ada.Token, asker})
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Error("its mode has changed", info.Mode())
		}
		w.works("", "check", "alice")
	}, "", scrub...)
	if kills < 30 {
		t.Errorf("only %d steps", kills)
	}
}

func TestKilledWhileTheLedgerIsWritten(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	for _, name := range []string{"alice", "bob"} {
		w.add(name)
	}
	w.works("", "adopt", "alice")
	remembered := func(t *testing.T) {
		t.Helper()
		w.whole()
		root, err := os.OpenRoot(w.at("state"))
		must(t, err)
		defer root.Close()
		l, err := profile.OpenLedger(root)
		must(t, err)
		if _, ok := l.Get("alice"); !ok {
			t.Error("alice was forgotten")
		}
	}
	kills := w.killed(nil, remembered, func(t *testing.T) {
		w.works("", "adopt", "bob")
		if !strings.Contains(w.works("", "adopt", "bob"), "nothing to adopt") {
			t.Error("bob was not adopted")
		}
	}, "", "adopt", "bob")
	// What alice's files give more, in a ledger that has its previous copy.
	access := filepath.Join(w.home("alice"), profile.Folder, profile.AccessFile)
	must(t, os.WriteFile(access, []byte("people: [{id: mallory, role: owner}]\n"), 0o600))
	kills += w.killed(nil, remembered, func(t *testing.T) {
		w.works("", "accept", "alice")
		if !strings.Contains(w.works("", "accept", "alice"), "nothing") {
			t.Error("it was not accepted")
		}
	}, "", "accept", "alice")
	if want := 4 * len(atomicfile.Steps); kills != want {
		t.Errorf("killed %d times, want %d: the ledger and its previous copy, twice", kills, want)
	}
}

// everyStep has also the steps enumerated that say what others said.
func everyStep() bool { return os.Getenv("CRASH_STEPS") == "all" }

// Before the journal of a reseal is whole all envelopes are old, after that all
// will be new.
func TestKilledWhileManyAreResealed(t *testing.T) {
	if unraced(t) {
		return
	}
	each := len(atomicfile.Steps)
	// The steps of the journal, and of the first, a middle and the last file.
	picked := func(homes int) (steps []int) {
		for _, file := range []int{0, 1, homes / 2, homes} {
			for step := range each {
				steps = append(steps, file*each+step+1)
			}
		}
		return steps
	}
	for _, c := range []struct {
		homes int
		steps []int
	}{{5, nil}, {50, picked(50)}} {
		t.Run(fmt.Sprint(c.homes), func(t *testing.T) {
			if everyStep() {
				c.steps = nil
			}
			w := crashWorld(t)
			r := newResealing(w, c.homes)
			kills := w.killed(c.steps, r.check, r.again, "", "reseal", "--all")
			want := each * (c.homes + 1) // the journal is one file more
			if c.steps != nil {
				want = len(c.steps)
			}
			if kills != want {
				t.Errorf("killed %d times, want %d", kills, want)
			}
			if r.unfinished == 0 || r.untouched == 0 {
				t.Errorf("of those killed %d left a reseal unfinished and %d had not begun", r.unfinished, r.untouched)
			}
		})
	}
}

// A resealing is many profiles whose recipients have changed.
type resealing struct {
	*world
	names      []string
	recipients sealed.Recipients

	journal               bool // left by the one that was killed last
	unfinished, untouched int
}

func newResealing(w *world, homes int) *resealing {
	r := &resealing{world: w}
	for i := range homes {
		name := fmt.Sprintf("p%02d", i)
		r.names = append(r.names, name)
		w.works(w.ada.Token, "add", name, "--unchecked", "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID)
	}
	_, recovery, err := sealed.GenerateKey()
	must(w.t, err)
	w.works("", "init", "--recovery", recovery)
	id, err := sealed.FindIdentity(sealed.Options{})
	must(w.t, err)
	r.recipients, err = sealed.FindRecipients(id, sealed.Options{})
	must(w.t, err)
	return r
}

// fresh counts the envelopes that are sealed for the new recipients. All open.
func (r *resealing) fresh(t *testing.T) (n int) {
	t.Helper()
	for _, name := range r.names {
		e, err := r.envelope(name)
		must(t, err)
		if e.Token.Reveal() != r.ada.Token || e.Generation != 1 {
			t.Fatal("an envelope holds something else")
		}
		if !e.Stale(r.recipients) {
			n++
		}
	}
	return n
}

func (r *resealing) check(t *testing.T) {
	r.noPlain([]string{r.ada.Token})
	_, err := os.Stat(filepath.Join(r.at("state"), sealed.JournalName))
	r.journal = err == nil
	switch fresh := r.fresh(t); {
	case r.journal:
		r.unfinished++
	case fresh == 0:
		r.untouched++
	case fresh < len(r.names):
		t.Errorf("%d of %d are new, and nothing brings that to an end", fresh, len(r.names))
	}
}

func (r *resealing) again(t *testing.T) {
	out := r.works("", "reseal", "--all")
	if r.journal != strings.Contains(out, "finished") {
		t.Error("what was interrupted is finished by the next, and nothing else is:", out)
	}
	if r.fresh(t) < len(r.names) {
		t.Error("not all are new")
	}
	if _, err := os.Stat(filepath.Join(r.at("state"), sealed.JournalName)); err == nil {
		t.Error("the journal is still there")
	}
}

// Another identity for the host: whenever it is killed everything opens, and
// the next try ends it.
func TestKilledWhileTheIdentityIsChanged(t *testing.T) {
	if unraced(t) {
		return
	}
	w := crashWorld(t)
	for _, name := range []string{"alice", "bob"} {
		w.add(name)
	}
	old, err := sealed.FindIdentity(sealed.Options{})
	must(t, err)
	change := []string{"reseal", "--all", "--new-identity"}
	kills := w.killed(nil, func(t *testing.T) {
		w.whole()
		w.noPlain([]string{w.ada.Token})
		for _, name := range []string{"alice", "bob"} {
			if _, err := w.envelope(name); err != nil {
				t.Error(err)
			}
		}
	}, func(t *testing.T) {
		w.works("", change...)
		w.works("", "check", "alice")
		w.works("", "check", "bob")
		now, err := sealed.FindIdentity(sealed.Options{})
		must(t, err)
		if now.Rotating() || now.Recipient() == old.Recipient() {
			t.Error("the identity is still the old one")
		}
	}, "", change...)
	if want := 6 * len(atomicfile.Steps); kills != want { // identity, recipients, journal, two homes, identity
		t.Errorf("killed %d times, want %d", kills, want)
	}
}

// swept fails for whatever temporary lies about.
func (w *world) swept() {
	w.t.Helper()
	for _, name := range w.files() {
		if atomicfile.IsTemp(filepath.Base(name)) {
			w.t.Errorf("%s was left", name)
		}
	}
}

// A process that was to die did, or the tests above say nothing.
func TestDies(t *testing.T) {
	w := crashWorld(t)
	if !w.dies(1, "", "init", "--recovery", recoveryKey(t)) || w.dies(100, "", "init", "--recovery", recoveryKey(t)) {
		t.Error("it dies at the first step, and has no hundredth")
	}
	if slices.ContainsFunc(w.files(), atomicfile.IsTemp) {
		t.Error("something was left")
	}
}

func recoveryKey(t *testing.T) string {
	t.Helper()
	_, recipient, err := sealed.GenerateKey()
	must(t, err)
	return recipient
}

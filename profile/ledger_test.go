package profile

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/internal/atomicfile"
)

func stateDir(t testing.TB) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func openLedger(t testing.TB, dir *os.Root) *Ledger {
	t.Helper()
	l, err := OpenLedger(dir)
	must(t, err)
	return l
}

func TestLedgerRemembers(t *testing.T) {
	dir := stateDir(t)
	l := openLedger(t, dir)
	if len(l.Names()) != 0 || l.FromPrevious {
		t.Fatal("a first run knows something")
	}
	must(t, l.Save()) // nothing to save
	if _, err := dir.Stat(LedgerFile); err == nil {
		t.Error("an empty first run wrote a ledger")
	}
	g := GrantsOf(Profile{Settings: Settings{Agent: AgentSettings{Kind: "acp", Command: []string{"hermes", "acp"}}}, Access: DefaultAccess()})
	want := Entry{Path: "/h", Owner: 7, Server: "https://x", Bot: "b", Generation: 3, Wanted: true, Suspended: true, Reason: "rent", Accepted: &g}
	l.Put("a", want)
	l.Put("b", NewEntry(Claim{Path: "/i", Owner: 8}))
	must(t, l.Save())
	l = openLedger(t, dir)
	if got, ok := l.Get("a"); !ok || cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
	if !slices.Equal(l.Names(), []string{"a", "b"}) || l.Paths()["b"] != "/i" {
		t.Error(l.Names())
	}
	if got := l.Holders("https://x", "b"); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
	if got := l.Holders("", ""); got != nil {
		t.Error("unproven claims hold:", got)
	}
	fi, err := dir.Stat(LedgerFile)
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Error(fi.Mode())
	}
}

func TestJudge(t *testing.T) {
	e := Entry{Path: "/h", Owner: 7, Server: "https://x", Bot: "b", Generation: 3}
	same := Claim{Path: "/h", Owner: 7, Server: "https://x", Bot: "b", Generation: 3}
	change := func(f func(*Claim)) Claim { c := same; f(&c); return c }
	for _, c := range []struct {
		name  string
		entry Entry
		claim Claim
		want  Verdict
		text  string
	}{
		{"as it was", e, same, Known, ""},
		{"a newer envelope", e, change(func(c *Claim) { c.Generation = 9 }), Known, ""},
		{"another path", e, change(func(c *Claim) { c.Path = "/i j" }), Moved, "its home was /h and is now '/i j'"},
		{"another owner", e, change(func(c *Claim) { c.Owner = 8 }), Moved, "its home belonged to uid 7 and now to 8"},
		{"another server", e, change(func(c *Claim) { c.Server = "https://y" }), Rebound, "its server was https://x and is now https://y"},
		{"another bot", e, change(func(c *Claim) { c.Bot = "\x1b" }), Rebound, `its bot was b and is now "\x1b"`},
		{"an older envelope", e, change(func(c *Claim) { c.Generation = 2 }), RolledBack, "its envelope is of generation 2, and 3 has been seen"},
		{"another bot, older", e, change(func(c *Claim) { c.Bot, c.Generation = "c", 1 }), Rebound, "its bot was b and is now c"},
		{"not opened yet", e, Claim{Path: "/h", Owner: 7}, Known, ""},
		{"not opened yet, elsewhere", e, Claim{Path: "/i", Owner: 7}, Moved, "its home was /h and is now /i"},
		{"never proven", NewEntry(same), change(func(c *Claim) { c.Server, c.Bot = "https://y", "z" }), Known, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, text := c.entry.Judge(c.claim)
			if got != c.want || text != c.text {
				t.Fatalf("%q: %s", got, text)
			}
			// Whatever it was, once adopted it is known.
			if got, text := c.entry.Adopt(c.claim).Judge(c.claim); got != Known {
				t.Errorf("adopted and still %q: %s", got, text)
			}
		})
	}
}

// What nothing proved holds nobody, and what was proven holds.
func TestProvenAndAdopted(t *testing.T) {
	c := Claim{Path: "/h", Owner: 7, Server: "https://x", Bot: "b", Generation: 5}
	e := NewEntry(c)
	if e.Server != "" || e.Generation != 0 || !e.Wanted {
		t.Fatalf("%+v", e)
	}
	e = e.Proven(c)
	if e.Server != "https://x" || e.Bot != "b" || e.Generation != 5 {
		t.Fatalf("%+v", e)
	}
	older := c
	older.Generation = 4
	if e.Proven(older).Generation != 5 {
		t.Error("the highest generation fell")
	}
	if got := e.Adopt(older); got.Generation != 4 || got.Bot != "b" {
		t.Errorf("%+v", got)
	}
	other := Claim{Path: "/i", Owner: 8, Server: "https://y", Bot: "z", Generation: 1}
	e.Suspended = true
	got := e.Adopt(other)
	if got.Server != "" || got.Bot != "" || got.Path != "/i" || got.Owner != 8 || !got.Suspended {
		t.Errorf("%+v", got)
	}
	if got = got.Proven(other); got.Generation != 1 || got.Bot != "z" {
		t.Errorf("%+v", got)
	}
}

func TestLedgerRename(t *testing.T) {
	l := openLedger(t, stateDir(t))
	l.Put("a", Entry{Path: "/a", Owner: 7, Server: "s", Bot: "b"})
	l.Put("c", Entry{Path: "/c"})
	if l.Rename("a", "c", "/c2") || l.Rename("none", "x", "/x") {
		t.Error("a known name was taken")
	}
	if !l.Rename("a", "b", "/b") {
		t.Fatal("refused")
	}
	if e, ok := l.Get("b"); !ok || e.Path != "/b" || e.Bot != "b" {
		t.Errorf("%+v", e)
	}
	if _, ok := l.Get("a"); ok {
		t.Error("the old name is still there")
	}
	l.Remove("b")
	if got := l.Names(); !slices.Equal(got, []string{"c"}) {
		t.Error(got)
	}
}

// What a newer program has written is neither damaged nor given up for an older
// copy.
func TestANewerLedger(t *testing.T) {
	dir := stateDir(t)
	old, err := encodeLedger(map[string]Entry{"a": {Path: "/a"}})
	must(t, err)
	newer := strings.Replace(string(old), `{"v":1,`, `{"v":2,"more":{},`, 1)
	must(t, dir.WriteFile(LedgerFile, []byte(newer), 0o600))
	must(t, dir.WriteFile(LedgerPrevious, old, 0o600))
	_, err = OpenLedger(dir)
	if e, ok := errors.AsType[*NewerLedgerError](err); !ok || e.Version != 2 || errors.Is(err, ErrLedgerLost) || e.Hint() == "" {
		t.Error(err)
	}
	if got, err := dir.ReadFile(LedgerFile); err != nil || string(got) != newer {
		t.Error("it was changed", err)
	}
}

// Every way in which the two copies can be whole, damaged or missing.
func TestDamagedLedgers(t *testing.T) {
	content := func(name string) string {
		b, err := encodeLedger(map[string]Entry{name: {Path: "/" + name}})
		must(t, err)
		return string(b)
	}
	damage := map[string]string{
		"empty": "", "cut": content("x")[:40], "not JSON": "hello\n", "another kind": "[]\n", "newer": `{"v":2,"sum":"","names":{}}`,
		"a bit": strings.Replace(content("x"), `"/x"`, `"/y"`, 1), "no names": `{"v":1,"sum":"` + sum(nil) + `"}`,
	}
	for name, bad := range damage {
		for _, c := range []struct {
			current, previous string // "-" for none
			want              string // the name that is known, "" for lost
		}{
			{content("cur"), content("prev"), "cur"},
			{content("cur"), bad, "cur"},
			{content("cur"), "-", "cur"},
			{bad, content("prev"), "prev"},
			{"-", content("prev"), "prev"},
			{bad, bad, ""},
			{bad, "-", ""},
			{"-", bad, ""},
		} {
			dir := stateDir(t)
			for file, text := range map[string]string{LedgerFile: c.current, LedgerPrevious: c.previous} {
				if text != "-" {
					must(t, dir.WriteFile(file, []byte(text), 0o600))
				}
			}
			l, err := OpenLedger(dir)
			if c.want == "" {
				if !errors.Is(err, ErrLedgerLost) {
					t.Errorf("%s: %v", name, err)
				}
				must(t, ForgetLedger(dir))
				openLedger(t, dir)
				continue
			}
			if err != nil || !slices.Equal(l.Names(), []string{c.want}) || l.FromPrevious != (c.want == "prev") {
				t.Errorf("%s, %s: %v", name, c.want, err)
				continue
			}
			// The next save makes both whole, and a good copy is never lost to a bad one.
			l.Put("new", Entry{})
			must(t, l.Save())
			if got := openLedger(t, dir).Names(); !slices.Contains(got, "new") || !slices.Contains(got, c.want) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	// A link or a folder in its place is no first run either.
	dir := stateDir(t)
	must(t, dir.Mkdir(LedgerFile, 0o700))
	if _, err := OpenLedger(dir); !errors.Is(err, ErrLedgerLost) {
		t.Error(err)
	}
}

// Killing the process between any two steps of a save leaves the old or the
// new state, whole. An error at a step stands for the kill: nothing of the save
// runs after it but the removal of the temporary file.
func TestLedgerSurvivesEveryStep(t *testing.T) {
	steps := 2 * len(atomicfile.Steps) // both copies
	for n := range steps {
		dir := stateDir(t)
		l := openLedger(t, dir)
		l.Put("first", Entry{})
		must(t, l.Save())
		l.Put("second", Entry{})
		must(t, l.Save())

		l.Put("third", Entry{})
		broken := errors.New("broken")
		count := 0
		restore := atomicfile.SetHook(func(atomicfile.Step) error {
			if count++; count == n+1 {
				return broken
			}
			return nil
		})
		err := l.Save()
		restore()
		if !errors.Is(err, broken) {
			t.Fatalf("step %d: %v", n, err)
		}
		again := openLedger(t, dir)
		got := again.Names()
		if again.FromPrevious || !slices.Equal(got, []string{"first", "second"}) && !slices.Equal(got, []string{"first", "second", "third"}) {
			t.Fatalf("step %d: %v", n, got)
		}
		// It is still to be saved, and is.
		must(t, l.Save())
		if got := openLedger(t, dir).Names(); len(got) != 3 {
			t.Fatalf("step %d: %v", n, got)
		}
	}
}

// The same for access.yaml, which has people's words in it.
func TestAccessSurvivesEveryStep(t *testing.T) {
	const before = "# mine\npeople: []\n"
	for n, step := range atomicfile.Steps {
		dir := tempDir(t)
		makeHome(t, dir, SettingsFile, "agent: {kind: echo}\n", AccessFile, before)
		broken := errors.New("broken")
		restore := atomicfile.SetHook(func(s atomicfile.Step) error {
			if s == step {
				return broken
			}
			return nil
		})
		_, err := WriteAccess(dir, SetRole("a", Owner))
		restore()
		if !errors.Is(err, broken) {
			t.Fatalf("%s: %v", step, err)
		}
		b, _ := os.ReadFile(dir + "/rocketchat/access.yaml")
		a, err := ParseAccess("f", b)
		if err != nil || n <= 4 && string(b) != before || n > 4 && len(a.People) != 1 {
			t.Errorf("%s: %q, %v", step, b, err)
		}
		list, _ := os.ReadDir(dir + "/rocketchat")
		if len(list) != 2 {
			t.Errorf("%s: left behind: %v", step, list)
		}
	}
}

func TestWriteAccess(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	if _, err := WriteAccess(dir, Forget("x")); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/rocketchat/access.yaml"); err == nil {
		t.Error("a failed edit made a file")
	}
	a, err := WriteAccess(dir, LetIn(Person{"x", "X", Owner}), RoomOn(Room{"r", "R", true}))
	must(t, err)
	p := scan(t, newScanner(Root{Dir: dir})).Profiles[0]
	if d := cmp.Diff(a, p.Access); d != "" || p.Err != nil {
		t.Error(d, p.Err)
	}
	fi, err := os.Stat(dir + "/rocketchat/access.yaml")
	must(t, err)
	if fi.Mode() != 0o600 {
		t.Error(fi.Mode())
	}
	write(t, dir+"/rocketchat/access.yaml", "people: 7\n")
	if _, err := WriteAccess(dir, SetRole("x", Owner)); err == nil || !strings.Contains(err.Error(), "people: must be a list") {
		t.Error(err)
	}
	must(t, os.RemoveAll(dir))
	if _, err := WriteAccess(dir, SetRole("x", Owner)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a home that vanished was made again")
	}
}

func FuzzDecodeLedger(f *testing.F) {
	b, _ := encodeLedger(map[string]Entry{"a": {Path: "/a", Wanted: true}})
	f.Add(b)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeLedger(data)
		if err != nil {
			return
		}
		again, err := encodeLedger(entries)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeLedger(again); err != nil || cmp.Diff(entries, got) != "" {
			t.Fatal(err)
		}
	})
}

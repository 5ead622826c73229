package people

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel"
	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/profile"
)

func init() { scryptN = 1 << 4 }

func newBook(t *testing.T) (*Book, *[]profile.Person) {
	let := &[]profile.Person{}
	return &Book{Dir: t.TempDir(), LetIn: func(_ context.Context, name string, p profile.Person) error {
		if name != "alice" {
			t.Errorf("let into %s", name)
		}
		*let = append(*let, p)
		return nil
	}}, let
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Book) try(t *testing.T, user, code string) bool {
	t.Helper()
	reply, err := b.Ask(t.Context(), "alice", channel.Request{Kind: "code", User: user, Name: user + "-name", Code: code})
	must(t, err)
	return reply.OK
}

// wrong is a code that is another than good.
func wrong(good string) string {
	if good[0] == 'A' {
		return "B" + good[1:]
	}
	return "A" + good[1:]
}

func TestTheOwnersCode(t *testing.T) {
	b, let := newBook(t)
	if b.try(t, "olivia", "AAAAAAAA") {
		t.Error("there is no code yet")
	}
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	if len(code) != 8 || strings.Trim(code, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789") != "" {
		t.Errorf("the code is %q", code)
	}
	page, err := os.ReadFile(filepath.Join(b.Dir, "people", "alice.json"))
	must(t, err)
	if strings.Contains(string(page), code) {
		t.Error("the code is kept as it is")
	}
	if info, err := os.Stat(filepath.Join(b.Dir, "people", "alice.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, bad := range []string{"", wrong(code), code + "X", code[:7], strings.ToLower(code), " " + code} {
		if b.try(t, "gus", bad) {
			t.Errorf("%q was taken for the code", bad)
		}
	}
	if !b.try(t, "olivia", code) {
		t.Fatal("the code was not taken")
	}
	want := []profile.Person{{ID: "olivia", Name: "olivia-name", Role: profile.Owner}}
	if d := cmp.Diff(want, *let); d != "" {
		t.Error(d)
	}
	if b.try(t, "olivia", code) || b.try(t, "gus", code) {
		t.Error("it worked twice")
	}
}

// Each has five tries, and another's do not count for him.
func TestFiveTriesAPerson(t *testing.T) {
	b, let := newBook(t)
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	for range 5 {
		b.try(t, "gus", wrong(code))
	}
	if b.try(t, "gus", code) {
		t.Error("a sixth try was taken")
	}
	for range 4 {
		b.try(t, "olivia", wrong(code))
	}
	if !b.try(t, "olivia", code) || len(*let) != 1 {
		t.Error("the fifth try of another was not taken")
	}
	// Another code is another chance.
	code, err = b.NewCode("alice", time.Now())
	must(t, err)
	if !b.try(t, "gus", code) {
		t.Error("the tries of the code before still count")
	}
}

func TestACodeLastsAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, let := newBook(t)
		code, err := b.NewCode("alice", time.Now())
		must(t, err)
		time.Sleep(time.Hour + time.Second)
		if b.try(t, "olivia", code) {
			t.Error("it was taken after an hour")
		}
		code, err = b.NewCode("alice", time.Now())
		must(t, err)
		time.Sleep(time.Hour - time.Second)
		if !b.try(t, "olivia", code) || len(*let) != 1 {
			t.Error("it was not taken within the hour")
		}
	})
}

// What looks like the code is not the code: it is of eight capital letters and
// digits, and each try at it counts.
func TestWhatLooksLikeTheCode(t *testing.T) {
	b, let := newBook(t)
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	for i, like := range []string{
		strings.ToLower(code), " " + code, code + "\n", code[:4] + " " + code[4:], code[:4] + "-" + code[4:], code + code, code + "\x00", "\u200b" + code, "`" + code + "`",
		string([]rune{rune(code[0]) + 0xfee0}) + code[1:], strings.Repeat("A", 1<<20), "", "\xff",
	} {
		if b.try(t, fmt.Sprint("gus", i/5), like) {
			t.Errorf("%.20q was taken for the code", like)
		}
	}
	// Nobody can be who has no id, and one that isn't one takes up no place.
	for _, id := range []string{"", strings.Repeat("x", maxID+1), strings.Repeat("x", 1<<20), "\x1b[31mx", "a b", "\xff"} {
		if b.try(t, id, code) || b.try(t, id, wrong(code)) {
			t.Error("somebody without an id was let in")
		}
	}
	if info, err := os.Stat(filepath.Join(b.Dir, "people", "alice.json")); err != nil || info.Size() > 4<<10 {
		t.Errorf("the page is %d bytes, %v", info.Size(), err)
	}
	if !b.try(t, strings.Repeat("x", maxID), code) || len(*let) != 1 {
		t.Error("the code was not taken after all that")
	}
}

// A new code takes the place of the one before.
func TestOneCodeAtATime(t *testing.T) {
	b, _ := newBook(t)
	first, err := b.NewCode("alice", time.Now())
	must(t, err)
	second, err := b.NewCode("alice", time.Now())
	must(t, err)
	if first == second || b.try(t, "olivia", first) || !b.try(t, "gus", second) {
		t.Error("the first code is still good")
	}
}

// When so many people guess that one of them may be right, nobody is.
func TestManyGuessersEndTheCode(t *testing.T) {
	b, _ := newBook(t)
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	must(t, b.change("alice", func(p *page) bool {
		p.Tries = map[string]int{}
		for i := range triersKept {
			p.Tries[fmt.Sprint(i)] = 1
		}
		return true
	}))
	b.try(t, "one-more", wrong(code))
	if b.try(t, "olivia", code) {
		t.Error("the code outlived its guessers")
	}
}

// Of many who write it at the same time one becomes the owner.
func TestTheCodeWorksOnce(t *testing.T) {
	b := &Book{Dir: t.TempDir()}
	var mu sync.Mutex
	var owners []string
	b.LetIn = func(_ context.Context, _ string, p profile.Person) error {
		mu.Lock()
		defer mu.Unlock()
		owners = append(owners, p.ID)
		return nil
	}
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if _, err := b.Ask(t.Context(), "alice", channel.Request{Kind: "code", User: fmt.Sprint(i), Code: code}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(owners) != 1 {
		t.Errorf("owners: %v", owners)
	}
}

// Who could not be let in has not used the code up.
func TestAFailedLetInKeepsTheCode(t *testing.T) {
	b, _ := newBook(t)
	full := errors.New("no space left on device")
	letIn := b.LetIn
	b.LetIn = func(context.Context, string, profile.Person) error { return full }
	code, err := b.NewCode("alice", time.Now())
	must(t, err)
	reply, err := b.Ask(t.Context(), "alice", channel.Request{Kind: "code", User: "olivia", Code: code})
	if reply.OK || !errors.Is(err, full) {
		t.Errorf("%+v, %v", reply, err)
	}
	b.LetIn = letIn
	if !b.try(t, "olivia", code) {
		t.Error("the code was used up by a failure")
	}
}

func (b *Book) ask(t *testing.T, user, name string) {
	t.Helper()
	reply, err := b.Ask(t.Context(), "alice", channel.Request{Kind: "request", User: user, Name: name})
	must(t, err)
	if !reply.OK {
		t.Error("a request was not taken")
	}
}

func (b *Book) ids(t *testing.T) (ids []string) {
	t.Helper()
	list, err := b.Requests("alice")
	must(t, err)
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		if got := b.ids(t); got != nil {
			t.Error(got)
		}
		b.ask(t, "gus", "gus")
		time.Sleep(time.Hour)
		b.ask(t, "mia", "mia\u202e\nevil")
		time.Sleep(time.Hour)
		b.ask(t, "gus", "gus") // the same day
		if d := cmp.Diff([]string{"mia", "gus"}, b.ids(t)); d != "" {
			t.Error(d)
		}
		list, _ := b.Requests("alice")
		if list[0].Name != "miaevil" || !list[1].At.Equal(time.Now().Add(-2*time.Hour)) {
			t.Errorf("%+v", list)
		}
		time.Sleep(23 * time.Hour)
		b.ask(t, "gus", "gustav") // the next day: once, and newest
		if d := cmp.Diff([]string{"gus", "mia"}, b.ids(t)); d != "" {
			t.Error(d)
		}
		for i := range 30 {
			b.ask(t, fmt.Sprint("s", i), "stranger")
		}
		got := b.ids(t)
		if len(got) != 20 || got[0] != "s29" || got[19] != "s10" {
			t.Error(got)
		}
		b.ask(t, "", "nobody")
		for _, id := range []string{strings.Repeat("x", 300), "\x1b[2Jx", "a\nb", "a b", "a\u00a0b", "\u202ex", "a\u200b", "\u009b", "\xff", "a\x00"} {
			b.ask(t, id, "nobody")
		}
		if d := cmp.Diff(got, b.ids(t)); d != "" {
			t.Error(d)
		}
		if asked, err := b.Asked("alice", "s29"); !asked || err != nil {
			t.Error(asked, err)
		}
		must(t, b.Settle("alice", "s29"))
		must(t, b.Settle("alice", "who"))
		if asked, _ := b.Asked("alice", "s29"); asked || len(b.ids(t)) != 19 {
			t.Error(b.ids(t))
		}
	})
}

func TestProfilesHavePagesOfTheirOwn(t *testing.T) {
	b, _ := newBook(t)
	b.ask(t, "gus", "gus")
	if list, err := b.Requests("bob"); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	for _, name := range []string{"../alice", "", "Upper", "a/b"} {
		if _, err := b.Requests(name); err == nil {
			t.Errorf("%q was taken for a name", name)
		}
		if _, err := b.NewCode(name, time.Now()); err == nil {
			t.Errorf("%q was taken for a name", name)
		}
		if b.Drop(name) == nil {
			t.Errorf("%q was taken for a name", name)
		}
	}
	must(t, b.Drop("alice"))
	must(t, b.Drop("alice"))
	if got := b.ids(t); got != nil {
		t.Error(got)
	}
}

// A page that can't be read is begun anew; one of a newer version stays.
func TestDamagedPages(t *testing.T) {
	b, _ := newBook(t)
	b.ask(t, "gus", "gus")
	path := filepath.Join(b.Dir, "people", "alice.json")
	for _, bad := range []string{"", "{", "[]", "\x00\x01", `{"v":1,"requests":7}`} {
		must(t, os.WriteFile(path, []byte(bad), 0o600))
		if _, err := b.Requests("alice"); !errors.Is(err, errPage) {
			t.Errorf("%q: %v", bad, err)
		}
		b.ask(t, "mia", "mia")
		if d := cmp.Diff([]string{"mia"}, b.ids(t)); d != "" {
			t.Error(d)
		}
	}
	must(t, os.WriteFile(path, []byte(`{"v":2,"future":true}`), 0o600))
	if _, err := b.Ask(t.Context(), "alice", channel.Request{Kind: "request", User: "x"}); !errors.Is(err, errNewer) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != `{"v":2,"future":true}` {
		t.Errorf("a newer page was rewritten: %s", data)
	}
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	must(t, b.Drop("alice"))
	must(t, os.Symlink("/etc/passwd", path))
	if _, err := b.Requests("alice"); !errors.Is(err, atomicfile.ErrNotRegular) {
		t.Error(err)
	}
}

// Killed between any two steps, a page is the old or the new one, whole.
func TestAPageIsOldOrNew(t *testing.T) {
	b, _ := newBook(t)
	b.ask(t, "gus", "gus")
	path := filepath.Join(b.Dir, "people", "alice.json")
	old, err := os.ReadFile(path)
	must(t, err)
	var seen []string
	restore := atomicfile.SetHook(func(atomicfile.Step) error {
		data, err := os.ReadFile(path)
		must(t, err)
		seen = append(seen, string(data))
		return nil
	})
	b.ask(t, "mia", "mia")
	restore()
	now, err := os.ReadFile(path)
	must(t, err)
	if len(seen) != len(atomicfile.Steps) {
		t.Error("steps:", len(seen))
	}
	for i, at := range seen {
		if at != string(old) && at != string(now) {
			t.Errorf("step %d finds neither", i)
		}
	}
	// A disk that is full leaves the old one, and says so.
	full := errors.New("no space left on device")
	restore = atomicfile.SetHook(func(s atomicfile.Step) error {
		if s == atomicfile.BeforeWrite {
			return full
		}
		return nil
	})
	defer restore()
	if _, err := b.NewCode("alice", time.Now()); !errors.Is(err, full) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != string(now) {
		t.Error("a failed write changed the page")
	}
}

// Whatever strangers write for a code, it is none.
func FuzzCode(f *testing.F) {
	plain, kept := newCode(time.Now())
	for _, s := range []string{"", plain[:7], plain + " ", "AAAAAAAA", "\x00", strings.Repeat("A", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if kept.is(s) != (s == plain) {
			t.Errorf("%q", s)
		}
	})
}

// Whatever lies in a page's place, reading it neither fails loudly nor keeps
// the profile from having one again.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"v":1,"code":{"salt":"AA==","hash":"AA==","expires":"2030-01-01T00:00:00Z"},"tries":{"a":3}}`))
	f.Add([]byte(`{"v":1,"requests":[{"id":"a","name":"b","at":"2030-01-01T00:00:00Z"}]}`))
	f.Add([]byte("null"))
	b := &Book{Dir: f.TempDir(), LetIn: func(context.Context, string, profile.Person) error { return nil }}
	must(f, os.MkdirAll(filepath.Join(b.Dir, folder), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(filepath.Join(b.Dir, folder, "alice.json"), data, 0o600))
		err := b.request("alice", channel.Request{User: "u"}, time.Now())
		if err != nil && !errors.Is(err, errNewer) {
			t.Fatal(err)
		}
		if err == nil {
			if list, err := b.Requests("alice"); err != nil || len(list) == 0 || len(list) > requestsKept {
				t.Fatal(len(list), err)
			}
		}
	})
}

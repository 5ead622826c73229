package profile

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// startWatcher runs a watcher until the test ends.
func startWatcher(t *testing.T, w *Watcher) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func newTestWatcher(roots ...Root) *Watcher {
	return NewWatcher(Options{Sources: Sources{Roots: roots}, Host: Host{AllowRoot: rootsRun}}, slog.New(slog.DiscardHandler))
}

// next returns the next update in words: "appeared x", "renamed a to b".
func next(t *testing.T, w *Watcher) (Update, []string) {
	t.Helper()
	select {
	case u, ok := <-w.Updates():
		if !ok {
			t.Fatal("no more updates")
		}
		return u, words(u)
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was told")
		panic("unreachable")
	}
}

func words(u Update) []string {
	var list []string
	for _, c := range u.Changes {
		s := string(c.Kind) + " " + c.Name
		if c.Kind == Renamed {
			s = "renamed " + c.From + " to " + c.Name
		}
		if c.Moved {
			s += " (moved)"
		}
		if c.Now.Err != nil {
			s += " with an error"
		}
		list = append(list, s)
	}
	return list
}

// expect reads updates until their words, in any number of updates, are want.
func expect(t *testing.T, w *Watcher, want ...string) {
	t.Helper()
	var got []string
	for len(got) < len(want) {
		_, more := next(t, w)
		got = append(got, more...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

// All that can happen to homes, seen by the real inotify.
func TestWatcherSeesHomesLive(t *testing.T) {
	dir := tempDir(t)
	at := func(name string) string { return filepath.Join(dir, "profiles", name) }
	w := newTestWatcher(Root{Dir: dir})
	startWatcher(t, w)
	u, got := next(t, w)
	if len(got) != 0 || u.Polling != "" {
		t.Fatalf("%+v", u)
	}
	makeHome(t, at("a")) // profiles/ is made with it
	expect(t, w, "appeared a")
	makeHome(t, at("b"))
	expect(t, w, "appeared b")

	replace(t, at("b/rocketchat/channel.yaml"), "agent: {kind: acp}\n")
	expect(t, w, "changed b")
	replace(t, at("b/rocketchat/channel.yaml"), "agent: {kind: echo}\n") // a second save, after the first took the file's place
	expect(t, w, "changed b")
	write(t, at("b/rocketchat/access.yaml"), "people: [{id: x, role: owner}]\n")
	expect(t, w, "changed b")
	must(t, os.Remove(at("b/rocketchat/access.yaml")))
	expect(t, w, "changed b")
	write(t, at("b/rocketchat/secrets.age"), "sealed")
	expect(t, w, "changed b")
	must(t, os.Chmod(at("b"), 0o777))
	expect(t, w, "changed b with an error")
	must(t, os.Chmod(at("b"), 0o755))
	expect(t, w, "changed b")

	must(t, os.Rename(at("b"), at("c")))
	expect(t, w, "renamed b to c")
	replace(t, at("c/rocketchat/access.yaml"), "people: []\n")
	expect(t, w, "changed c")

	must(t, os.Rename(at("a"), at("x"))) // swapped
	must(t, os.Rename(at("c"), at("a")))
	must(t, os.Rename(at("x"), at("c")))
	expect(t, w, "changed a (moved)", "changed c (moved)")

	must(t, os.RemoveAll(at("a/rocketchat")))
	expect(t, w, "gone a")
	makeHome(t, at("a"))
	expect(t, w, "appeared a")
	must(t, os.RemoveAll(at("a")))
	expect(t, w, "gone a")
	must(t, os.RemoveAll(dir+"/profiles"))
	expect(t, w, "gone c")
	makeHome(t, at("d"))
	expect(t, w, "appeared d")
	must(t, os.Symlink("d", at("link")))
	if u, _ := next(t, w); len(u.Unnamed) != 1 {
		t.Fatalf("%+v", u)
	}
}

// A home that is renamed away out of the root and back is gone and appears.
func TestWatcherSeesAHomeLeave(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir+"/root/profiles/a")
	w := newTestWatcher(Root{Dir: dir + "/root"})
	startWatcher(t, w)
	expect(t, w, "appeared a")
	must(t, os.Rename(dir+"/root/profiles/a", dir+"/a"))
	expect(t, w, "gone a")
	must(t, os.Rename(dir+"/a", dir+"/root/profiles/a"))
	expect(t, w, "appeared a")
	must(t, os.Rename(dir+"/root", dir+"/root2"))
	expect(t, w, "gone a")
	must(t, os.Rename(dir+"/root2", dir+"/root"))
	expect(t, w, "appeared a")
}

func TestChangesTellRenamesFromCoincidence(t *testing.T) {
	r := func(name string, ino uint64, owner int) Reading {
		x := Reading{Profile: Profile{Name: name, Home: "/" + name, Owner: owner}}
		x.ID.Ino = ino
		return x
	}
	set := func(list ...Reading) map[string]Reading {
		m := map[string]Reading{}
		for _, x := range list {
			m[x.Name] = x
		}
		return m
	}
	for _, c := range []struct {
		name      string
		told, now map[string]Reading
		want      []string
	}{
		{"rename", set(r("a", 1, 7)), set(r("b", 1, 7)), []string{"renamed a to b"}},
		{"another owner", set(r("a", 1, 7)), set(r("b", 1, 8)), []string{"gone a", "appeared b"}},
		{"another folder", set(r("a", 1, 7)), set(r("b", 2, 7)), []string{"gone a", "appeared b"}},
		{"the old name lives", set(r("a", 1, 7)), set(r("a", 2, 7), r("b", 1, 7)), []string{"changed a (moved)", "appeared b"}},
		{"unknown folders", set(r("a", 0, 7)), set(r("b", 0, 7)), []string{"gone a", "appeared b"}},
		{"two at once", set(r("a", 1, 7), r("b", 2, 7)), set(r("c", 2, 7), r("d", 1, 7)), []string{"renamed b to c", "renamed a to d"}},
		{"nothing", set(r("a", 1, 7)), set(r("a", 1, 7)), nil},
	} {
		if got := words(Update{Changes: changes(c.told, c.now)}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

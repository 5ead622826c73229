package profile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/internal/ownerfs/ownertest"
)

// As root, each home is read as its owner, and a root-owned one not at all
// unless the host says so.
func TestHomesOfSeveralOwners(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	for name, uid := range map[string]int{"alice": alice, "bob": bob, "root": 0, "nobody": 65534} {
		h := filepath.Join(dir, name, ".hermes")
		makeHome(t, h)
		makeHome(t, h+"/profiles/x")
		give(t, filepath.Join(dir, name), uid)
	}
	secret := filepath.Join(dir, "secret")
	write(t, secret, "agent: {kind: echo} # only root may read this\n")
	// Alice offers root's file, and bob's home as one of hers.
	at := dir + "/alice/.hermes"
	must(t, os.Remove(at+"/rocketchat/channel.yaml"))
	must(t, os.Link(secret, at+"/rocketchat/channel.yaml"))
	must(t, os.Symlink(secret, at+"/profiles/x/rocketchat/access.yaml"))
	must(t, os.Symlink(dir+"/bob/.hermes/profiles/x", at+"/profiles/stolen"))

	snap := scan(t, NewScanner(Options{Sources: Sources{Roots: []Root{
		{dir + "/alice/.hermes", "a"}, {dir + "/bob/.hermes", "b"}, {dir + "/root/.hermes", "r"}, {dir + "/nobody/.hermes", OwnerPrefix},
	}}, Host: Host{AllowRoot: func(home string) bool { return strings.HasSuffix(home, "/profiles/x") }}}))
	want := []string{
		"a=alice/.hermes", "a-x=alice/.hermes/profiles/x", "b=bob/.hermes", "b-x=bob/.hermes/profiles/x",
		"nobody=nobody/.hermes", "nobody-x=nobody/.hermes/profiles/x", "r=root/.hermes", "r-x=root/.hermes/profiles/x",
	}
	if got := names(dir, snap); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	for name, want := range map[string]error{
		"a": ownerfs.ErrForeign, "a-x": ownerfs.ErrLink, "b": nil, "b-x": nil, "nobody": nil, "r": ErrRootOwned, "r-x": nil,
	} {
		p, _ := snap.Profile(name)
		if !errors.Is(p.Err, want) {
			t.Errorf("%s: %v", name, p.Err)
		}
	}
	if len(snap.Unnamed) != 1 || snap.Unnamed[0].Home != at+"/profiles/stolen" {
		t.Errorf("%+v", snap.Unnamed)
	}
	if p, _ := snap.Profile("b"); p.Owner != bob {
		t.Error(p.Owner)
	}
}

// A pattern is followed with each folder's owner's rights, and never through a
// tenant's link.
func TestPatternsAndTenantsLinks(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	for name, uid := range map[string]int{"alice": alice, "bob": bob} {
		makeHome(t, filepath.Join(dir, name, "bots/one"))
		give(t, filepath.Join(dir, name), uid)
	}
	must(t, os.RemoveAll(dir+"/alice/bots"))
	must(t, os.Symlink(dir+"/bob/bots", dir+"/alice/bots"))
	must(t, os.Lchown(dir+"/alice/bots", alice, alice))
	s := NewScanner(Options{Sources: Sources{Roots: []Root{{dir + "/*/bots/*", "p"}}}})
	snap := scan(t, s)
	if got := names(dir, snap); !slices.Equal(got, []string{"p=bob/bots/one"}) {
		t.Error(got)
	}
	if len(snap.Problems) != 1 || !errors.Is(snap.Problems[0], ownerfs.ErrLink) {
		t.Error(snap.Problems)
	}
}

// An owner that the host has no name for can't begin one.
func TestAnOwnerWithoutAName(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	makeHome(t, dir)
	give(t, dir, alice)
	snap := scan(t, newScanner(Root{dir, OwnerPrefix}))
	if len(snap.Profiles) != 0 || len(snap.Unnamed) != 1 || !strings.Contains(snap.Unnamed[0].Text, "uid 65533, has no name") {
		t.Fatalf("%+v", snap)
	}
}

// WriteAccess writes as the owner, also when root does.
func TestWriteAccessAsTheOwner(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: echo}\n", AccessFile, "# mine\npeople: []\n")
	give(t, dir, alice)
	must(t, os.Chmod(dir+"/rocketchat/access.yaml", 0o640))
	a, err := WriteAccess(dir, LetIn(Person{"p", "P", Owner}))
	must(t, err)
	if len(a.People) != 1 {
		t.Fatal(a)
	}
	fi, err := os.Lstat(dir + "/rocketchat/access.yaml")
	must(t, err)
	if st := fi.Sys().(*syscall.Stat_t); st.Uid != alice || fi.Mode() != 0o640 {
		t.Error(st.Uid, fi.Mode())
	}
	if b, _ := os.ReadFile(dir + "/rocketchat/access.yaml"); string(b) != "# mine\npeople:\n  - {id: \"p\", name: \"P\", role: owner}\n" {
		t.Errorf("%s", b)
	}
}

// A home that is shut while it runs is not gone: it has that as its error.
func TestAHomeThatIsShut(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	makeHome(t, dir)
	give(t, dir, alice)
	s := newScanner(Root{Dir: dir})
	scan(t, s)
	must(t, os.Chmod(dir, 0))
	snap := scan(t, s)
	if len(snap.Profiles) != 1 || !errors.Is(snap.Profiles[0].Err, os.ErrPermission) {
		t.Fatalf("%+v", snap)
	}
	must(t, os.Chmod(dir, 0o700))
	if snap := scan(t, s); snap.Profiles[0].Err != nil {
		t.Fatal(snap.Profiles[0].Err)
	}
}

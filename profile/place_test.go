package profile

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rcsupervisor/internal/ownerfs/ownertest"
)

func TestPlace(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir+"/a/profiles/takes-part", SettingsFile, "agent: {kind: echo}\n")
	makeHome(t, dir+"/a/profiles/broken", SettingsFile, "agent: {kind: ech}\n")
	must(t, os.MkdirAll(dir+"/a/profiles/idle", 0o755))
	must(t, os.MkdirAll(dir+"/b", 0o755))
	must(t, os.MkdirAll(dir+"/named", 0o755))
	me, err := user.Current()
	must(t, err)
	roots := func(r ...Root) Sources { return Sources{Roots: r} }
	plain, prefixed := roots(Root{Dir: dir + "/a"}), roots(Root{Dir: dir + "/a", Prefix: "ann"})
	for _, c := range []struct {
		what string
		src  Sources
		name string
		want string // below dir; "+" before it where the folder is there; "!" and a word for an error
	}{
		{"a home", plain, "takes-part", "+a/profiles/takes-part"},
		{"a broken home", plain, "broken", "+a/profiles/broken"},
		{"a folder that doesn't take part", plain, "idle", "+a/profiles/idle"},
		{"a new one", plain, "new", "a/profiles/new"},
		{"the root itself", plain, "default", "+a"},
		{"reserved", plain, "gateway", "!Hermes"},
		{"no name", plain, "Upper", "!beginning with"},
		{"no name at all", plain, "", "!beginning with"},
		{"a path", plain, "../x", "!beginning with"},
		{"with a prefix, the root", prefixed, "ann", "+a"},
		{"with a prefix, a home", prefixed, "ann-takes-part", "+a/profiles/takes-part"},
		{"with a prefix, a new one", prefixed, "ann-new", "a/profiles/new"},
		{"with a prefix, another's", prefixed, "bob-new", "!no root"},
		{"with a prefix, without it", prefixed, "takes-part", "!no root"},
		{"with a prefix and nothing after it", prefixed, "ann-", "!no root"},
		{"with a prefix, reserved", prefixed, "ann-gateway", "!Hermes"},
		{"the first root that can", roots(Root{Dir: dir + "/a", Prefix: "ann"}, Root{Dir: dir + "/b", Prefix: "bob"}), "bob-new", "b/profiles/new"},
		{"a missing root", roots(Root{Dir: dir + "/none"}), "new", "none/profiles/new"},
		{"a missing root's own home", roots(Root{Dir: dir + "/none"}), "default", "none"},
		{"a missing root's own home with a prefix", roots(Root{Dir: dir + "/none", Prefix: "ann"}), "ann", "none"},
		{"a root that is there comes first", roots(Root{Dir: dir + "/none"}, Root{Dir: dir + "/b"}), "new", "b/profiles/new"},
		{"a pattern", roots(Root{Dir: dir + "/[ab]", Prefix: "ann"}), "ann-new", "a/profiles/new"},
		{"a pattern of nothing", roots(Root{Dir: dir + "/x*"}), "new", "!no root"},
		{"the owner's name", roots(Root{Dir: dir + "/a", Prefix: OwnerPrefix}), me.Username + "-new", "a/profiles/new"},
		{"another owner's name", roots(Root{Dir: dir + "/a", Prefix: OwnerPrefix}), "nobody-new", "!no root"},
		{"named by a person", Sources{Homes: []Home{{"x", dir + "/named"}}}, "x", "+named"},
		{"named, and missing", Sources{Homes: []Home{{"x", dir + "/later"}}}, "x", "later"},
		{"no roots", Sources{}, "x", "!no root"},
		{"an odd folder", roots(Root{Dir: escapePattern(dir + "/o*d")}), "x", "o*d/profiles/x"},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := NewScanner(Options{Sources: c.src, Host: Host{AllowRoot: rootsRun}})
			p, err := scan(t, s).Place(c.src, c.name, nil)
			if why, bad := strings.CutPrefix(c.want, "!"); bad {
				if !errors.Is(err, ErrNoPlace) || !strings.Contains(err.Error(), why) {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			want, exists := strings.CutPrefix(c.want, "+")
			if err != nil || p.Dir != filepath.Join(dir, want) || p.Exists != exists || exists && p.Owner != os.Geteuid() {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// Where a home was made by Place it is found under that name.
func TestPlaceIsWhereHomesAreFound(t *testing.T) {
	dir := tempDir(t)
	src := Sources{Roots: []Root{{Dir: dir + "/r"}, {Dir: dir + "/s", Prefix: "ann"}}}
	for _, name := range []string{"default", "x", "ann", "ann-y", "x-y_1"} {
		s := NewScanner(Options{Sources: src, Host: Host{AllowRoot: rootsRun}})
		p, err := scan(t, s).Place(src, name, nil)
		must(t, err)
		must(t, os.MkdirAll(p.Dir, 0o755))
		makeHome(t, p.Dir, SettingsFile, "agent: {kind: echo}\n")
		if r, ok := scan(t, s).Profile(name); !ok || r.Home != p.Dir {
			t.Errorf("%s made at %s is found at %s, %v", name, p.Dir, r.Home, ok)
		}
	}
}

// Of several roots that could hold a name, whoever may use only his own gets
// the one that is his.
func TestPlaceInOnesOwnRoot(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := tempDir(t)
	for name, uid := range map[string]int{"a": alice, "b": bob, "c": bob} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		must(t, os.Chown(filepath.Join(dir, name), uid, uid))
	}
	src := Sources{Roots: []Root{{Dir: dir + "/a", Prefix: "ann"}, {Dir: dir + "/b", Prefix: "ann-x"}, {Dir: dir + "/c"}}}
	snap := scan(t, NewScanner(Options{Sources: src}))
	his := func(uid int) func(int) bool { return func(owner int) bool { return owner == uid } }
	for _, c := range []struct {
		mine func(int) bool
		want string
	}{{nil, "/a/profiles/x-y"}, {his(alice), "/a/profiles/x-y"}, {his(bob), "/b/profiles/y"}} {
		if p, err := snap.Place(src, "ann-x-y", c.mine); err != nil || p.Dir != dir+c.want {
			t.Errorf("%+v, %v; want %s", p, err, c.want)
		}
	}
	if _, err := snap.Place(src, "other", his(alice)); !errors.Is(err, ErrNoPlace) {
		t.Error(err)
	}
	for mine, want := range map[int]string{alice: "ann", bob: "ann-x|", 0: ""} {
		if got := strings.Join(snap.Beginnings(his(mine)), "|"); got != want {
			t.Errorf("of %d names begin with %q, want %q", mine, got, want)
		}
	}
}

// A user without a home in a root of users' homes gets one below his own.
func TestPlaceOfAUserWithoutAHome(t *testing.T) {
	me, err := user.Current()
	must(t, err)
	home := filepath.Clean(me.HomeDir)
	info, err := os.Stat(home)
	hasHome := err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() // users without one get none
	const rest = "/.there-is-no-such-folder"
	each := filepath.Join(escapePattern(filepath.Dir(home)), "*")
	for _, c := range []struct {
		pattern, name, want string // want below the user's home; "" for nowhere
	}{
		{each + rest, me.Username, rest},
		{each + rest, me.Username + "-x", rest + "/profiles/x"},
		{each + rest, me.Username + "-x-y", rest + "/profiles/x-y"},
		{escapePattern(home) + rest, me.Username, rest},
		{each + rest, "no-such-user", ""},
		{each + rest, me.Username + "-gateway", ""},
		{each + rest, me.Username + "-", ""},
		{"/nowhere/*" + rest, me.Username, ""},
		{each + rest + "/*", me.Username, ""},
		{"/*", me.Username + "-", ""},
	} {
		src := Sources{Roots: []Root{{Dir: c.pattern, Prefix: OwnerPrefix}}}
		p, err := scan(t, NewScanner(Options{Sources: src})).Place(src, c.name, nil)
		if c.want == "" || !hasHome {
			if !errors.Is(err, ErrNoPlace) {
				t.Errorf("%s in %s: %+v, %v", c.name, c.pattern, p, err)
			}
		} else if err != nil || p.Dir != home+c.want || p.Exists {
			t.Errorf("%s in %s: %+v, %v", c.name, c.pattern, p, err)
		}
	}
}

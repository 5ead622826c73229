package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/internal/ownerfs"
)

func scan(t testing.TB, s *Scanner) *Snapshot {
	t.Helper()
	snap, err := s.Scan(t.Context())
	must(t, err)
	return snap
}

// names lists a snapshot's profiles as name=folder, relative to dir.
func names(dir string, snap *Snapshot) []string {
	var list []string
	for _, p := range snap.Profiles {
		rel, _ := filepath.Rel(dir, p.Home)
		list = append(list, p.Name+"="+rel)
	}
	return list
}

func newScanner(roots ...Root) *Scanner {
	return NewScanner(Options{Sources: Sources{Roots: roots}, Host: Host{AllowRoot: rootsRun}})
}

func TestScanFindsHomes(t *testing.T) {
	dir := tempDir(t)
	for _, h := range []string{"a", "a/profiles/x", "a/profiles/y-2", "b/.hermes", "b/.hermes/profiles/x", "c/.hermes", "elsewhere", "d/profiles/z"} {
		makeHome(t, filepath.Join(dir, h))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "a/profiles/no-part/rocketchat"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "a/profiles/empty"), 0o755))
	write(t, filepath.Join(dir, "a/profiles/file"), "")

	for _, c := range []struct {
		name    string
		sources Sources
		want    []string
	}{
		{"a root", Sources{Roots: []Root{{Dir: dir + "/a"}}}, []string{"default=a", "x=a/profiles/x", "y-2=a/profiles/y-2"}},
		{"a prefix", Sources{Roots: []Root{{dir + "/a", "ann"}}}, []string{"ann=a", "ann-x=a/profiles/x", "ann-y-2=a/profiles/y-2"}},
		{"a pattern", Sources{Roots: []Root{{dir + "/[bc]/.hermes", "p"}}}, []string{"p=b/.hermes", "p-x=b/.hermes/profiles/x"}},
		{"a root that takes no part itself", Sources{Roots: []Root{{Dir: dir + "/d"}}}, []string{"z=d/profiles/z"}},
		{
			"one by name, before its root",
			Sources{Roots: []Root{{Dir: dir + "/a"}}, Homes: []Home{{"other", dir + "/a/profiles/x"}, {"e", dir + "/elsewhere"}}},
			[]string{"default=a", "e=elsewhere", "other=a/profiles/x", "y-2=a/profiles/y-2"},
		},
		{"no root", Sources{Roots: []Root{{Dir: dir + "/none"}, {Dir: dir + "/none/*/x"}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			snap := scan(t, NewScanner(Options{Sources: c.sources, Host: Host{AllowRoot: rootsRun}}))
			if d := cmp.Diff(c.want, names(dir, snap)); d != "" {
				t.Error(d)
			}
			if len(snap.Problems) > 0 {
				t.Error(snap.Problems)
			}
			for _, p := range snap.Profiles {
				if p.Err != nil || p.Settings.Agent.Kind != "echo" || p.Owner != os.Geteuid() || p.Hashes.Settings == (Hash{}) {
					t.Errorf("%+v", p)
				}
				if got, ok := snap.Profile(p.Name); !ok || got.Home != p.Home {
					t.Error(p.Name)
				}
			}
			if _, ok := snap.Profile("none"); ok {
				t.Error("a profile that isn't there")
			}
		})
	}
}

func TestNamesThatAreNone(t *testing.T) {
	dir := tempDir(t)
	for _, h := range []string{"test", "gateway", "Upper", "-x", strings.Repeat("x", 64), "ok"} {
		makeHome(t, filepath.Join(dir, "profiles", h))
	}
	must(t, os.Symlink("ok", filepath.Join(dir, "profiles/link")))
	snap := scan(t, newScanner(Root{dir, "p"}))
	if d := cmp.Diff([]string{"p-ok=profiles/ok"}, names(dir, snap)); d != "" {
		t.Error(d)
	}
	var got []string
	for _, u := range snap.Unnamed {
		got = append(got, filepath.Base(u.Home)+": "+u.Text)
		if u.Try == "" {
			t.Error("nothing to try for", u.Home)
		}
	}
	want := []string{
		"-x: its folder's name can't be a profile's: a-z, 0-9, _ and -, 64 at most",
		"Upper: its folder's name can't be a profile's: a-z, 0-9, _ and -, 64 at most",
		"gateway: Hermes keeps the name gateway for itself",
		"link: is a symbolic link, which is not followed",
		"test: Hermes keeps the name test for itself",
		strings.Repeat("x", 64) + ": the name p-" + strings.Repeat("x", 64) + " is too long",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The name stays with the home that had it, whatever the order.
func TestACollisionGoesToWhoHadTheName(t *testing.T) {
	dir := tempDir(t)
	first, second := filepath.Join(dir, "a/profiles/x"), filepath.Join(dir, "b/profiles/x")
	makeHome(t, second)
	roots := []Root{{Dir: dir + "/a"}, {Dir: dir + "/b"}}
	s := newScanner(roots...)
	if got := names(dir, scan(t, s)); !slices.Equal(got, []string{"x=b/profiles/x"}) {
		t.Fatal(got)
	}
	makeHome(t, first) // earlier in the order, later in time
	snap := scan(t, s)
	if got := names(dir, snap); !slices.Equal(got, []string{"x=b/profiles/x"}) {
		t.Fatal(got)
	}
	if len(snap.Unnamed) != 1 || snap.Unnamed[0].Home != first || snap.Unnamed[0].Wanted != "x" || snap.Unnamed[0].Text != "the name x is taken by "+second {
		t.Fatalf("%+v", snap.Unnamed)
	}
	// A new supervisor knows it from the ledger.
	held := NewScanner(Options{Sources: Sources{Roots: roots}, Host: Host{AllowRoot: rootsRun}, Held: map[string]string{"x": second}})
	if got := names(dir, scan(t, held)); !slices.Equal(got, []string{"x=b/profiles/x"}) {
		t.Fatal(got)
	}
	// Without one the order decides, and a person's word before that.
	if got := names(dir, scan(t, newScanner(roots...))); !slices.Equal(got, []string{"x=a/profiles/x"}) {
		t.Fatal(got)
	}
	said := NewScanner(Options{Sources: Sources{Roots: roots, Homes: []Home{{"x", second}}}, Host: Host{AllowRoot: rootsRun}})
	if got := names(dir, scan(t, said)); !slices.Equal(got, []string{"x=b/profiles/x"}) {
		t.Fatal(got)
	}
	// When the holder goes the other has the name.
	must(t, os.RemoveAll(second))
	if got := names(dir, scan(t, s)); !slices.Equal(got, []string{"x=a/profiles/x"}) {
		t.Fatal(got)
	}
}

// What a person called a home and is none is said to be none.
func TestANamedHomeThatIsNone(t *testing.T) {
	dir := tempDir(t)
	s := NewScanner(Options{Sources: Sources{Homes: []Home{{"x", dir}, {"y", dir + "/none"}}}})
	snap := scan(t, s)
	if len(snap.Problems) != 2 || snap.Problems[0].Error() != "home x: "+dir+": has no rocketchat/channel.yaml" || !errors.Is(snap.Problems[1], fs.ErrNotExist) {
		t.Fatal(snap.Problems)
	}
}

// One folder under two paths, as a bind mount makes it, runs once.
func TestOneFolderUnderTwoPaths(t *testing.T) {
	s := newScanner()
	id := ownerfs.Info{ID: ownerfs.ID{Dev: 1, Ino: 2}}
	snap := &Snapshot{seen: []*sighting{
		{candidate: candidate{dir: "/a", base: "a"}, part: true, folder: id},
		{candidate: candidate{dir: "/b", base: "b"}, part: true, folder: id},
		{candidate: candidate{dir: "/c", base: "c"}, part: true}, // not known yet
		{candidate: candidate{dir: "/d", base: "d"}, part: true},
	}}
	s.names["/b"] = "b"
	s.assign(snap)
	if got := names("/", snap); !slices.Equal(got, []string{"b=b", "c=c", "d=d"}) {
		t.Fatal(got)
	}
	if len(snap.Unnamed) != 1 || snap.Unnamed[0].Text != "is the same folder as /b" {
		t.Fatalf("%+v", snap.Unnamed)
	}
}

// Each thing that can be wrong with a home has its own words and its command.
func TestRefusedHomes(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, home string)
		err   error
		text  string
		try   string
	}{
		{"broken settings", func(t *testing.T, h string) { write(t, h+"/rocketchat/channel.yaml", "agent: {kind: x}\n") }, nil, "channel.yaml:1: agent.kind: must be acp, exec or echo", ""},
		{"both files broken", func(t *testing.T, h string) {
			write(t, h+"/rocketchat/channel.yaml", "x: 1\n")
			write(t, h+"/rocketchat/access.yaml", "y: 1\n")
		}, nil, "access.yaml:1: y: unknown key", ""},
		{"a FIFO", func(t *testing.T, h string) {
			must(t, os.Remove(h+"/rocketchat/channel.yaml"))
			must(t, syscall.Mkfifo(h+"/rocketchat/channel.yaml", 0o600))
		}, ownerfs.ErrNotRegular, "it is a FIFO", ""},
		{"a FIFO for access.yaml", func(t *testing.T, h string) { must(t, syscall.Mkfifo(h+"/rocketchat/access.yaml", 0o600)) }, ownerfs.ErrNotRegular, "access.yaml: is no regular file: it is a FIFO", ""},
		{"a link", func(t *testing.T, h string) {
			must(t, os.Rename(h+"/rocketchat/channel.yaml", h+"/real"))
			must(t, os.Symlink("../real", h+"/rocketchat/channel.yaml"))
		}, ownerfs.ErrLink, "channel.yaml: is a symbolic link", ""},
		{"a hard link", func(t *testing.T, h string) { must(t, os.Link(h+"/rocketchat/channel.yaml", h+"/other")) }, ownerfs.ErrHardLink, "more than one name", "cp "},
		{"the folder a link", func(t *testing.T, h string) {
			must(t, os.Rename(h+"/rocketchat", h+"/real"))
			must(t, os.Symlink("real", h+"/rocketchat"))
		}, ownerfs.ErrLink, "rocketchat: is a symbolic link", ""},
		{"the folder a file", func(t *testing.T, h string) {
			must(t, os.RemoveAll(h+"/rocketchat"))
			write(t, h+"/rocketchat", "")
		}, ownerfs.ErrNotFolder, "it is a file", ""},
		{"home open to the group", func(t *testing.T, h string) { must(t, os.Chmod(h, 0o775)) }, ownerfs.ErrWritable, "others may write", "chmod go-w "},
		{"folder open to the world", func(t *testing.T, h string) { must(t, os.Chmod(h+"/rocketchat", 0o757)) }, ownerfs.ErrWritable, "rocketchat: others may write", "chmod go-w "},
		{"file open to the group", func(t *testing.T, h string) { must(t, os.Chmod(h+"/rocketchat/channel.yaml", 0o660)) }, ownerfs.ErrWritable, "channel.yaml: others may write", "chmod go-w "},
		{"too large", func(t *testing.T, h string) { write(t, h+"/rocketchat/secrets.age", strings.Repeat("x", MaxFile+1)) }, ownerfs.ErrTooLarge, "secrets.age: is too large: 1048577 bytes, at most 1048576", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			home := filepath.Join(dir, "profiles/x")
			makeHome(t, home)
			makeHome(t, filepath.Join(dir, "profiles/good"))
			c.spoil(t, home)
			snap := scan(t, newScanner(Root{Dir: dir}))
			if got := names(dir, snap); !slices.Equal(got, []string{"good=profiles/good", "x=profiles/x"}) {
				t.Fatal(got)
			}
			if snap.Profiles[0].Err != nil {
				t.Error("the other is held up:", snap.Profiles[0].Err)
			}
			f, ok := errors.AsType[*Fault](snap.Profiles[1].Err)
			if !ok || f.Passing || f.Home != home {
				t.Fatalf("%T: %+v", snap.Profiles[1].Err, f)
			}
			if c.err != nil && !errors.Is(f, c.err) || !strings.Contains(f.Error(), c.text) || !strings.HasPrefix(f.Try, c.try) {
				t.Errorf("%s\ntry: %s", f, f.Try)
			}
		})
	}
}

// A file of exactly the bound is read.
func TestTheLargestFile(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: echo}\n", SealedFile, strings.Repeat("x", MaxFile))
	snap := scan(t, newScanner(Root{Dir: dir}))
	if p := snap.Profiles[0]; p.Err != nil || len(p.Sealed) != MaxFile {
		t.Fatal(p.Err)
	}
}

// Name, owner, mode and content count, and nothing else does.
func TestHashes(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: echo}\n", AccessFile, "people: []\n", SealedFile, "sealed")
	s := newScanner(Root{Dir: dir})
	read := func() Profile { return scan(t, s).Profiles[0].Profile }
	before := read()
	if before.Hashes.Settings == before.Hashes.Access || before.Hashes.Sealed == (Hash{}) {
		t.Fatal("hashes")
	}
	replace(t, dir+"/rocketchat/access.yaml", "people: []\n") // another inode
	if got := read(); got.Hashes != before.Hashes {
		t.Error("another inode with the same content is a change")
	}
	must(t, os.Chmod(dir+"/rocketchat/access.yaml", 0o640))
	after := read()
	if after.Hashes.Access == before.Hashes.Access || after.Hashes.Settings != before.Hashes.Settings {
		t.Error("another mode is no change")
	}
	write(t, dir+"/rocketchat/channel.yaml", "agent: {kind: echo}\n#\n")
	if got := read(); got.Hashes.Settings == before.Hashes.Settings || !Diff(before, got).Empty() {
		t.Error("a comment")
	}
	must(t, os.Remove(dir+"/rocketchat/secrets.age"))
	if got := read(); got.Hashes.Sealed != (Hash{}) || got.Sealed != nil || Diff(before, got).Class != NewConnection {
		t.Error("a missing file")
	}
}

// What has not changed is not read again, and what changed within the clock's
// tick is.
func TestUnchangedHomesAreNotRead(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	c := candidate{dir: dir}
	allow := Host{AllowRoot: rootsRun}
	first := sight(c, nil, allow)
	if second := sight(c, first, allow); &second.profile.Lines == &first.profile.Lines || second.mark.same(first.mark) {
		t.Error("a file that changed just now was not read again")
	}
	old := *first
	old.mark.taken = old.mark.taken.Add(time.Minute) // as if it had been read a minute after its change
	old.profile.Owner = -1                           // to be known again
	if got := sight(c, &old, allow); got.profile.Owner != -1 {
		t.Error("an unchanged home was read again")
	}
	write(t, dir+"/other", "") // Hermes writes into the home all the time
	if got := sight(c, &old, allow); got.profile.Owner != -1 {
		t.Error("a file that is not ours had it read again")
	}
	old.err = &Fault{Passing: true, Err: fs.ErrInvalid}
	if got := sight(c, &old, allow); got.err != nil {
		t.Error("a passing fault was kept")
	}
	old.err = nil
	must(t, os.Chmod(dir+"/rocketchat/channel.yaml", 0o640))
	if got := sight(c, &old, allow); got.profile.Owner == -1 {
		t.Error("a changed mode was not seen")
	}
}

// A home that hangs has that as its error and holds nobody up; it is not
// asked again before it answers.
func TestAHangingHome(t *testing.T) {
	dir := tempDir(t)
	for _, h := range []string{"a", "hung", "z"} {
		makeHome(t, filepath.Join(dir, "profiles", h))
	}
	s := newScanner(Root{Dir: dir})
	scan(t, s)
	release := make(chan struct{})
	asked := make(chan string, 10)
	s.sight = func(c candidate, last *sighting, host Host) *sighting {
		if c.base == "hung" {
			asked <- c.base
			<-release
		}
		return sight(c, last, host)
	}
	s.readers.timeout = 50 * time.Millisecond
	for range 3 {
		snap := scan(t, s)
		if got := names(dir, snap); !slices.Equal(got, []string{"a=profiles/a", "hung=profiles/hung", "z=profiles/z"}) {
			t.Fatal(got)
		}
		f, ok := errors.AsType[*Fault](snap.Profiles[1].Err)
		if !ok || !f.Passing || !errors.Is(f, ErrSlow) || snap.Profiles[0].Err != nil || snap.Profiles[2].Err != nil {
			t.Fatal(snap.Profiles[1].Err)
		}
	}
	if len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
	close(release)
	for {
		snap := scan(t, s)
		if snap.Profiles[1].Err == nil {
			break
		}
	}
	for {
		s.readers.mu.Lock()
		n := len(s.readers.left)
		s.readers.mu.Unlock()
		if n == 0 {
			break
		}
	}
}

func TestTooManyHangingFolders(t *testing.T) {
	r := newReaders()
	for i := range maxLeft {
		r.left[fmt.Sprint(i)] = true
	}
	_, err := ask(t.Context(), r, "/x", func() int { t.Error("asked"); return 0 })
	if !isPassing(err) || !strings.Contains(err.Error(), "512 folders") {
		t.Fatal(err)
	}
}

// A root that is too wide is said to be so; what ran goes on.
func TestTooManyHomes(t *testing.T) {
	s := newScanner()
	snap := &Snapshot{}
	for i := range MaxHomes + 3 {
		snap.seen = append(snap.seen, &sighting{
			candidate: candidate{dir: fmt.Sprintf("/h/profiles/%05d", i), base: fmt.Sprintf("%05d", i)}, part: true,
			folder: ownerfs.Info{ID: ownerfs.ID{Ino: uint64(i + 1)}},
		})
	}
	last := snap.seen[MaxHomes+2].dir
	s.names[last] = fmt.Sprintf("%05d", MaxHomes+2)
	s.assign(snap)
	if len(snap.Profiles) != MaxHomes || len(snap.Problems) != 1 || !strings.Contains(snap.Problems[0].Error(), "5003 homes take part, and 5000 is the most") {
		t.Fatal(len(snap.Profiles), snap.Problems)
	}
	if snap.Profiles[MaxHomes-1].Home != last {
		t.Error("one that ran was dropped for one that did not")
	}
	all := make([]candidate, 2*MaxHomes+1)
	snap = &Snapshot{}
	if got := s.bounded(all, snap); len(got) != 2*MaxHomes || len(snap.Problems) != 1 {
		t.Error(len(got), snap.Problems)
	}
}

func TestParseRoot(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Root
	}{
		{"/a", Root{"/a", ""}},
		{"p=/a/../b", Root{"/b", "p"}},
		{"owner=/home/*/.hermes", Root{"/home/*/.hermes", "owner"}},
		{"/a=b/c", Root{"/a=b/c", ""}},
		{"P=/a", Root{"", ""}},
	} {
		got, err := ParseRoot(c.in)
		if c.in == "P=/a" { // no prefix: a relative folder of that name
			if err != nil || !strings.HasSuffix(got.Dir, "/P=/a") {
				t.Error(got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.in, got, err)
		}
	}
	for _, in := range []string{"", "p=", "/a/[", "p=/a/[x"} {
		if got, err := ParseRoot(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
	if h, err := ParseHome("x=/a/b"); err != nil || h != (Home{"x", "/a/b"}) {
		t.Error(h, err)
	}
	for _, in := range []string{"", "x", "x=", "X=/a", "=/a"} {
		if h, err := ParseHome(in); err == nil {
			t.Errorf("%q: %+v", in, h)
		}
	}
}

func TestDefaultRoots(t *testing.T) {
	for _, c := range []struct{ hermes, home, want string }{
		{"", "/home/a", "/home/a/.hermes"},
		{"/opt/data", "/home/a", "/opt/data"},
		{"/opt/data/profiles/x", "/home/a", "/opt/data"}, // as Hermes anchors it
		{"/opt/profiles", "/home/a", "/opt/profiles"},
		{"/o*t", "", `/o\*t`},
	} {
		if got := DefaultRoots(c.hermes, c.home); len(got) != 1 || got[0] != (Root{Dir: c.want}) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := DefaultRoots("", ""); got != nil {
		t.Error(got)
	}
}

// A folder whose name looks like a pattern means itself.
func TestEscapedRoot(t *testing.T) {
	dir := filepath.Join(tempDir(t), "we[i]rd*")
	makeHome(t, dir)
	if got := scan(t, newScanner(DefaultRoots(dir, "")...)).Profiles; len(got) != 1 || got[0].Home != dir {
		t.Fatal(got)
	}
}

func BenchmarkScan(b *testing.B) {
	dir := tempDir(b)
	for i := range 1000 {
		makeHome(b, fmt.Sprintf("%s/profiles/p%04d", dir, i))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			scan(b, newScanner(Root{Dir: dir}))
		}
	})
	b.Run("again", func(b *testing.B) {
		s := newScanner(Root{Dir: dir})
		time.Sleep(racy) // until the files' times can be told from later ones
		scan(b, s)
		for b.Loop() {
			scan(b, s)
		}
	})
	b.Run("baseline os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			for i := range 1000 {
				os.ReadFile(fmt.Sprintf("%s/profiles/p%04d/rocketchat/channel.yaml", dir, i))
			}
		}
	})
}

package ownerfs

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// These hold for every user; the tests of root's are in root_test.go.

func TestReadAndReplace(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	if d.Owner().UID != os.Geteuid() || d.Path() != dir {
		t.Fatalf("%+v, %s", d.Owner(), d.Path())
	}
	if _, _, err := d.ReadFile("a", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, d.ReplaceFile("a", []byte("hello"), 0o640, nil))
	data, i, err := d.ReadFile("a", 5)
	must(t, err)
	if string(data) != "hello" || i.Size != 5 || i.Mode.Perm() != 0o640 || i.Links != 1 || i.Owner != os.Geteuid() {
		t.Fatalf("%q, %+v", data, i)
	}
	st, err := d.Stat("a")
	must(t, err)
	if st != i {
		t.Fatalf("%+v and %+v", st, i)
	}
	if _, _, err := d.ReadFile("a", 4); !errors.Is(err, ErrTooLarge) || !strings.HasPrefix(err.Error(), dir+"/a: is too large") {
		t.Fatal(err)
	}
	kept := errors.New("no")
	if err := d.ReplaceFile("a", []byte("x"), 0o600, func([]byte) error { return kept }); !errors.Is(err, kept) {
		t.Fatal(err)
	}
	if data, _, _ := d.ReadFile("a", 5); string(data) != "hello" {
		t.Fatalf("%q", data)
	}
}

func TestRefusedFiles(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	me := os.Geteuid()

	put(t, at("plain"), me, 0o600, "x")
	must(t, os.Symlink("plain", at("link")))
	must(t, os.Symlink("/etc/passwd", at("outside")))
	must(t, os.Symlink("nowhere", at("dangling")))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	must(t, os.Mkdir(at("folder"), 0o755))
	put(t, at("one"), me, 0o600, "x")
	must(t, os.Link(at("one"), at("two")))
	put(t, at("open"), me, 0o622, "x")
	l, err := net.Listen("unix", at("socket"))
	must(t, err)
	defer l.Close()

	for name, want := range map[string]struct {
		err error
		try string
	}{
		"link":     {ErrLink, ""},
		"outside":  {ErrLink, ""},
		"dangling": {ErrLink, ""},
		"fifo":     {ErrNotRegular, ""},
		"folder":   {ErrNotRegular, ""},
		"socket":   {ErrNotRegular, ""},
		"one":      {ErrHardLink, "cp " + at("one") + " "},
		"open":     {ErrWritable, "chmod go-w " + at("open")},
		"absent":   {fs.ErrNotExist, ""},
	} {
		_, _, err := d.ReadFile(name, 100)
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, want.err) || e.Path != at(name) || !strings.HasPrefix(e.Try, want.try) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "../home/plain", "a\x00b"} {
		if _, _, err := d.ReadFile(name, 100); err == nil {
			t.Errorf("%q was read", name)
		}
		if err := d.ReplaceFile(name, nil, 0o600, nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := d.ReplaceFile("link", []byte("y"), 0o600, nil); err == nil {
		t.Error("a link was written")
	}
	if data, _ := os.ReadFile(at("plain")); string(data) != "x" {
		t.Errorf("%q", data)
	}
}

func TestReadFollowing(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	outside := filepath.Join(t.TempDir(), "f")
	put(t, outside, os.Geteuid(), 0o666, "hello")
	must(t, os.Symlink(outside, at("link")))
	must(t, os.Link(outside, at("hard")))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	must(t, os.Symlink("fifo", at("fifolink")))
	for _, name := range []string{"link", "hard"} {
		if data, err := d.ReadFollowing(name, 5); err != nil || string(data) != "hello" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if _, err := d.ReadFollowing(name, 4); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	}
	for _, name := range []string{"fifo", "fifolink"} {
		if _, err := d.ReadFollowing(name, 5); !errors.Is(err, ErrNotRegular) {
			t.Error(err)
		}
	}
	if _, err := d.ReadFollowing("none", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := d.ReadFollowing("../f", 5); err == nil {
		t.Error("a name with a folder")
	}
}

func TestRefusedFolders(t *testing.T) {
	dir := home(t, os.Geteuid())
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(at("ok"), 0o755))
	must(t, os.Symlink("ok", at("link")))
	must(t, os.Symlink("loop", at("loop")))
	put(t, at("file"), os.Geteuid(), 0o600, "x")
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	must(t, os.Mkdir(at("group"), 0o755))
	must(t, os.Chmod(at("group"), 0o775))
	must(t, os.Mkdir(at("world"), 0o755))
	must(t, os.Chmod(at("world"), 0o757))

	d := open(t, dir)
	for name, want := range map[string]error{
		"link": ErrLink, "loop": ErrLink, "file": ErrNotFolder, "fifo": ErrNotFolder,
		"group": ErrWritable, "world": ErrWritable, "absent": fs.ErrNotExist,
	} {
		if _, err := Open(at(name)); !errors.Is(err, want) {
			t.Errorf("open %s: %v", name, err)
		}
		if _, err := d.Sub(name); !errors.Is(err, want) {
			t.Errorf("sub %s: %v", name, err)
		}
	}
	sub, err := d.Sub("ok")
	must(t, err)
	defer sub.Close()
	if sub.Path() != at("ok") {
		t.Error(sub.Path())
	}
}

// A link that this user made on the way to a folder is his own affair; Resolve
// follows one at the end too.
func TestOwnLinksAreFollowedOnTheWay(t *testing.T) {
	dir := home(t, os.Geteuid())
	must(t, os.MkdirAll(filepath.Join(dir, "real/a"), 0o755))
	must(t, os.Symlink("real", filepath.Join(dir, "rel")))
	must(t, os.Symlink(filepath.Join(dir, "rel"), filepath.Join(dir, "abs")))
	must(t, os.Symlink("../home/abs/./a/../a", filepath.Join(dir, "end")))
	d := open(t, filepath.Join(dir, "abs/a"))
	want := filepath.Join(dir, "real/a")
	for _, p := range []string{"abs/a", "rel/a", "end"} {
		got, err := Resolve(filepath.Join(dir, p))
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	fi, err := os.Stat(want)
	must(t, err)
	if i, _ := infoOf(fi); i.ID != d.Info().ID {
		t.Error("another folder was opened")
	}
	must(t, os.Symlink("b", filepath.Join(dir, "c")))
	must(t, os.Symlink("c", filepath.Join(dir, "b")))
	if _, err := Resolve(filepath.Join(dir, "b")); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	must(t, os.Mkdir(filepath.Join(dir, "b"), 0o755))
	put(t, filepath.Join(dir, "a"), os.Geteuid(), 0o600, "")
	must(t, os.Symlink("b", filepath.Join(dir, "c")))
	got, err := d.List(3)
	must(t, err)
	want := []Entry{{"a", false, false}, {"b", true, false}, {"c", false, true}}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Fatal(got)
	}
	if _, err := d.List(2); !errors.Is(err, ErrTooMany) {
		t.Fatal(err)
	}
}

func TestMkdirHasItsMode(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	must(t, d.Mkdir("x", 0o750))
	i, err := d.Stat("x")
	must(t, err)
	if i.Mode != fs.ModeDir|0o750 {
		t.Fatal(i.Mode)
	}
	if err := d.Mkdir("x", 0o700); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// Whoever holds a folder that was removed gets errors, and no new folder.
func TestAVanishedFolderStaysGone(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	if gone, err := d.Gone(); gone || err != nil {
		t.Fatal(gone, err)
	}
	must(t, os.Remove(dir))
	if gone, err := d.Gone(); !gone || err != nil {
		t.Fatal(gone, err)
	}
	if err := d.ReplaceFile("a", []byte("x"), 0o600, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := d.Mkdir("a", 0o700); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder is back")
	}
}

// A folder that was moved away is written where it is now.
func TestAMovedFolderIsTheSame(t *testing.T) {
	dir := home(t, os.Geteuid())
	d := open(t, dir)
	must(t, os.Rename(dir, dir+"2"))
	must(t, os.Mkdir(dir, 0o755))
	must(t, d.ReplaceFile("a", []byte("x"), 0o600, nil))
	if _, err := os.Stat(dir + "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("written into the folder that took its place")
	}
}

func TestNamesAreSafeToPrint(t *testing.T) {
	e := &Error{Path: "/home/\x1b[31mx", Err: ErrLink}
	if strings.ContainsRune(e.Error(), 0x1b) {
		t.Fatal(e)
	}
	for in, want := range map[string]string{
		"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": `'""'`, "/$(x)": "'/$(x)'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	dir := b.TempDir()
	os.Chmod(dir, 0o755)
	os.WriteFile(dir+"/a", make([]byte, 2048), 0o600)
	run := func(b *testing.B) {
		d, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		for b.Loop() {
			if _, _, err := d.ReadFile("a", 4096); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("own folder", run)
	if os.Geteuid() == 0 {
		os.Chown(dir, alice, alice)
		os.Chown(dir+"/a", alice, alice)
		b.Run("as another user", run)
	}
	b.Run("baseline os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			os.ReadFile(dir + "/a")
		}
	})
}

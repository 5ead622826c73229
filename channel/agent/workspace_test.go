package agent

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "rocketchat"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWorkingDirectories(t *testing.T) {
	h := home(t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x, y := WorkDir(h, a), WorkDir(h, b)
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q: %q and %q", a, b, x, y)
		}
		if a != "" && filepath.Dir(x) != WorkDir(h, "") || len(filepath.Base(x)) > 80 || strings.HasPrefix(filepath.Base(x), "-") {
			t.Fatalf("%q", x)
		}
	})
	dir, err := MakeWorkDir(h, "room/thread")
	if err != nil || dir != WorkDir(h, "room/thread") {
		t.Fatal(dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeWorkDir(h, "room/thread"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "kept")); err != nil {
		t.Error("a conversation's files are gone")
	}
	for _, d := range []string{WorkDir(h, ""), dir} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", d, info, err)
		}
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := MakeWorkDir(gone, "x"); err == nil {
		t.Error("a home that vanished was made")
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("a home that vanished is there again")
	}
	if err := os.Symlink("/tmp", filepath.Join(home(t), "rocketchat", "state")); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderThatLeadsOut(t *testing.T) {
	h, elsewhere := home(t), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(h, "rocketchat", "state")); err != nil {
		t.Fatal(err)
	}
	if dir, err := MakeWorkDir(h, "x"); err == nil {
		t.Errorf("made %s", dir)
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

func TestWhatMayBeSent(t *testing.T) {
	h := home(t)
	dir, err := MakeWorkDir(h, "r/")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	secret := filepath.Join(h, "secrets.age")
	for path, content := range map[string]string{
		secret: "secret", filepath.Join(dir, "out.txt"): "sent", filepath.Join(dir, "hard.txt"): "twice",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "sub"), 0o700),
		os.Symlink(secret, filepath.Join(dir, "leads-out")),
		os.Symlink("out.txt", filepath.Join(dir, "stays-in")),
		os.Symlink(h, filepath.Join(dir, "folder-out")),
		os.Link(secret, filepath.Join(dir, "hard-out")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.WriteFile(filepath.Join(dir, "sub", "deep.txt"), []byte("sent"), 0o600),
		os.Symlink(dir, link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir, path string
		sent      bool
	}{
		{dir, "out.txt", true},
		{dir, "./out.txt", true},
		{dir, dir + "/out.txt", true},
		{dir, "sub/deep.txt", true},
		{dir, "sub/../out.txt", true},
		{dir, "stays-in", true},
		{link, dir + "/out.txt", true},
		{link, link + "/out.txt", true},
		{dir, "", false},
		{dir, ".", false},
		{dir, dir, false},
		{dir, "sub", false},
		{dir, "gone", false},
		{dir, "fifo", false},
		{dir, "leads-out", false},
		{dir, "folder-out/secrets.age", false},
		{dir, "hard-out", false},
		{dir, secret, false},
		{dir, "../../../../secrets.age", false},
		{dir, dir + "/../../../../secrets.age", false},
		{dir, "/etc/passwd", false},
		{dir, "out.txt\x00", false},
		{dir + "/gone", "out.txt", false},
		{"", "/etc/passwd", false},
		{"", "out.txt", false},
	} {
		f, err := OpenOut(FileOut{Path: c.path, Dir: c.dir})
		if (err == nil) != c.sent {
			t.Errorf("%q of %q: %v", c.path, c.dir, err)
		}
		if err == nil {
			if data, err := io.ReadAll(f); string(data) != "sent" || err != nil {
				t.Errorf("%q: %q %v", c.path, data, err)
			}
			f.Close()
		} else if c.dir == dir && !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", c.path, err)
		}
	}
}

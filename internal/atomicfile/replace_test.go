package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func write(t *testing.T, root *os.Root, name, data string) {
	t.Helper()
	if err := root.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, root *os.Root, name string) string {
	t.Helper()
	data, err := root.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, root *os.Root) []string {
	t.Helper()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestReplaceGivesContentAndModeWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o644} {
		t.Run(perm.String(), func(t *testing.T) {
			root := openRoot(t)
			write(t, root, "file", "old")
			var seen string
			err := Replace(root, "file", []byte("new"), perm, func(b []byte) error { seen = string(b); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := content(t, root, "file"); got != "new" || seen != "new" {
				t.Errorf("content %q, verified %q", got, seen)
			}
			fi, err := root.Stat("file")
			if err != nil {
				t.Fatal(err)
			}
			if fi.Mode() != perm {
				t.Errorf("mode = %v, want %v", fi.Mode(), perm)
			}
			if got := names(t, root); !slices.Equal(got, []string{"file"}) {
				t.Errorf("folder holds %q", got)
			}
		})
	}
}

func TestReplaceWritesEmptyAndLargeFiles(t *testing.T) {
	root := openRoot(t)
	for _, size := range []int{0, 1, 4096, 3 << 20} {
		want := strings.Repeat("x", size)
		if err := Replace(root, "file", []byte(want), 0o600, nil); err != nil {
			t.Fatal(err)
		}
		if got := content(t, root, "file"); got != want {
			t.Errorf("%d bytes read back as %d", size, len(got))
		}
	}
}

func TestAnErrorAtAnyStepKeepsTheOldFileAndNoTemporaryOne(t *testing.T) {
	boom := errors.New("no space left on device")
	for _, at := range Steps {
		t.Run(string(at), func(t *testing.T) {
			root := openRoot(t)
			write(t, root, "file", "old")
			restore := SetHook(func(s Step) error {
				if s == at {
					return boom
				}
				return nil
			})
			defer restore()
			err := Replace(root, "file", []byte("new"), 0o600, nil)
			if !errors.Is(err, boom) {
				t.Fatalf("err = %v, want it to wrap the step's", err)
			}
			want := "old"
			if at == BeforeSyncDir || at == Done {
				want = "new"
			}
			if durable := !errors.Is(err, ErrNotDurable); durable == (at == BeforeSyncDir) {
				t.Errorf("err = %v: durable = %v", err, durable)
			}
			if got := content(t, root, "file"); got != want {
				t.Errorf("content = %q, want %q", got, want)
			}
			if got := names(t, root); !slices.Equal(got, []string{"file"}) {
				t.Errorf("folder holds %q", got)
			}
		})
	}
}

func TestVerifyDecides(t *testing.T) {
	root := openRoot(t)
	write(t, root, "file", "old")
	no := errors.New("does not open")
	err := Replace(root, "file", []byte("new"), 0o600, func([]byte) error { return no })
	if !errors.Is(err, no) {
		t.Fatalf("err = %v", err)
	}
	if got := content(t, root, "file"); got != "old" {
		t.Errorf("content = %q", got)
	}
	if got := names(t, root); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestWhatTheDiskChangedIsNoticed(t *testing.T) {
	root := openRoot(t)
	write(t, root, "file", "old")
	restore := SetHook(func(s Step) error {
		if s != BeforeVerify {
			return nil
		}
		for _, name := range names(t, root) {
			if IsTemp(name) {
				return root.WriteFile(name, []byte("nEw"), 0o600)
			}
		}
		return errors.New("no temporary file in the folder")
	})
	defer restore()
	if err := Replace(root, "file", []byte("new"), 0o600, nil); !errors.Is(err, ErrDiffers) {
		t.Fatalf("err = %v, want ErrDiffers", err)
	}
	if got := content(t, root, "file"); got != "old" {
		t.Errorf("content = %q", got)
	}
}

func TestOnlyPlainNamesOfRegularFiles(t *testing.T) {
	root := openRoot(t)
	write(t, root, "target", "outside")
	if err := root.Symlink("target", "link"); err != nil {
		t.Fatal(err)
	}
	if err := root.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "folder", "fifo"} {
		if err := Replace(root, name, []byte("new"), 0o600, nil); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Replace(%q) = %v, want ErrNotRegular", name, err)
		}
		if _, err := Read(root, name, 100); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Read(%q) = %v, want ErrNotRegular", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "/etc/passwd", "a/", Prefix + "x" + Suffix} {
		if err := Replace(root, name, []byte("new"), 0o600, nil); err == nil {
			t.Errorf("Replace(%q) was allowed", name)
		}
	}
	if got := content(t, root, "target"); got != "outside" {
		t.Errorf("the link's target holds %q", got)
	}
	if got := names(t, root); !slices.Equal(got, []string{"fifo", "folder", "link", "target"}) {
		t.Errorf("folder holds %q", got)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	root := openRoot(t)
	if err := Create(root, "file", []byte("first"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	if err := Create(root, "file", []byte("second"), 0o600, nil); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("err = %v, want fs.ErrExist", err)
	}
	if got := content(t, root, "file"); got != "first" {
		t.Errorf("content = %q", got)
	}
	fi, err := root.Stat("file")
	if err != nil {
		t.Fatal(err)
	}
	if n := fi.Sys().(*syscall.Stat_t).Nlink; n != 1 {
		t.Errorf("%d links", n)
	}
	if got := names(t, root); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestOfManyCreatorsOneWins(t *testing.T) {
	root := openRoot(t)
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			err := Create(root, "file", fmt.Append(nil, "writer ", i), 0o600, nil)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d creators succeeded", won.Load())
	}
	if got := names(t, root); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestReadersSeeOneWholeVersionAndSweepsHurtNoWriter(t *testing.T) {
	root := openRoot(t)
	write(t, root, "file", strings.Repeat("0", 10_000))
	var writers, others sync.WaitGroup
	var finished atomic.Bool
	for i := range 4 {
		writers.Go(func() {
			for range 25 {
				if err := Replace(root, "file", []byte(strings.Repeat(fmt.Sprint(i), 10_000)), 0o600, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Go(func() {
		for !finished.Load() {
			if _, err := Sweep(root); err != nil {
				t.Error(err)
			}
		}
	})
	others.Go(func() {
		for !finished.Load() {
			data, err := Read(root, "file", 10_000)
			if err != nil {
				t.Error(err)
				return
			}
			if len(data) != 10_000 || strings.Trim(string(data), string(data[:1])) != "" {
				t.Errorf("a mixture of %d bytes was read", len(data))
			}
		}
	})
	writers.Wait()
	finished.Store(true)
	others.Wait()
	if got := names(t, root); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestReplacePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := ReplacePath(path, []byte("new"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if err := ReplacePath(filepath.Join(t.TempDir(), "gone", "file"), nil, 0o600, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that isn't there: %v", err)
	}
}

func TestReadIsBounded(t *testing.T) {
	root := openRoot(t)
	write(t, root, "file", "12345")
	if data, err := Read(root, "file", 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := Read(root, "file", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("err = %v, want ErrTooLarge", err)
	}
	if _, err := Read(root, "absent", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v, want fs.ErrNotExist", err)
	}
}

func TestMendQuotes(t *testing.T) {
	for folder, want := range map[string]string{"/a/b": "ls -la /a/b", "/a b": "ls -la '/a b'", "/it's": `ls -la '/it'\''s'`, "/$(x)": "ls -la '/$(x)'"} {
		if got := Mend(folder, syscall.EIO); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What can't be written is said without the name of a file that is gone, with
// what mends it.
func TestWriteErrors(t *testing.T) {
	for cause, try := range map[error]string{
		syscall.ENOSPC: "df -h ", syscall.EDQUOT: "df -h ", syscall.EROFS: "findmnt -T ", syscall.EACCES: "chmod u+rwx ", syscall.EBUSY: "mount the folder ", syscall.EIO: "ls -la ",
	} {
		for _, at := range Steps[:5] {
			root := openRoot(t)
			restore := SetHook(func(s Step) error {
				if s == at {
					return &fs.PathError{Op: "write", Path: Prefix + "x" + Suffix, Err: cause}
				}
				return nil
			})
			err := Replace(root, "file", []byte("x"), 0o600, nil)
			restore()
			e, ok := errors.AsType[*WriteError](err)
			if !ok || !errors.Is(err, cause) || err.Error() != "write file: "+cause.Error() || !strings.HasPrefix(e.Hint(), try) || !strings.Contains(e.Hint(), " "+root.Name()) {
				t.Errorf("at %s: %v, try: %s", at, err, e.Hint())
			}
		}
	}
}

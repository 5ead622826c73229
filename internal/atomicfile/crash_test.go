package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// runChild has a child replace or create root's file and die at the step.
func runChild(t *testing.T, root *os.Root, at Step, verb string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childDir+"="+root.Name(), childStep+"="+string(at), childVerb+"="+verb)
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, not by SIGKILL: %s", err, out)
	}
}

func TestKillBetweenAnyTwoSteps(t *testing.T) {
	const before = "old content"
	after := strings.Repeat("new", 50_000)
	for i, at := range Steps {
		t.Run("replace/"+string(at), func(t *testing.T) {
			root := openRoot(t)
			write(t, root, "file", before)
			runChild(t, root, at, "replace")
			want := before
			if i > 4 { // after the rename
				want = after
			}
			if got := content(t, root, "file"); got != want {
				t.Fatalf("%d bytes, want the %d of one whole version", len(got), len(want))
			}
			checkSwept(t, root, i > 0 && i <= 4)
			if err := Replace(root, "file", []byte("next"), 0o600, nil); err != nil {
				t.Errorf("the next writer: %v", err)
			}
		})
		t.Run("create/"+string(at), func(t *testing.T) {
			root := openRoot(t)
			runChild(t, root, at, "create")
			data, err := root.ReadFile("file")
			if i > 4 {
				if string(data) != after || err != nil {
					t.Fatalf("%d bytes, %v", len(data), err)
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("a file of %d bytes is there: %v", len(data), err)
			}
			checkSwept(t, root, i > 0 && i <= 4)
		})
	}
}

// checkSwept checks that there is a leftover exactly when there should be one,
// and that a sweep takes it and nothing else.
func checkSwept(t *testing.T, root *os.Root, leftover bool) {
	t.Helper()
	write(t, root, "bystander", "stays")
	want := 0
	if leftover {
		want = 1
	}
	if n, err := Sweep(root); n != want || err != nil {
		t.Errorf("Sweep = %d, %v; want %d", n, err, want)
	}
	for _, name := range names(t, root) {
		if name != "file" && name != "bystander" {
			t.Errorf("left over: %q", name)
		}
	}
	if got := content(t, root, "bystander"); got != "stays" {
		t.Errorf("the bystander holds %q", got)
	}
}

// What a killed writer left is gone with the next file that is written beside
// it, whatever its name.
func TestTheNextWriterSweeps(t *testing.T) {
	for verb, act := range map[string]func(*os.Root, string, []byte, fs.FileMode, Verify) error{"replace": Replace, "create": Create} {
		root := openRoot(t)
		runChild(t, root, BeforeRename, verb)
		if left := names(t, root); len(left) != 1 || !IsTemp(left[0]) {
			t.Fatalf("the killed writer left %q", left)
		}
		if err := act(root, "another", []byte("x"), 0o600, nil); err != nil {
			t.Fatal(err)
		}
		if got := names(t, root); len(got) != 1 || got[0] != "another" {
			t.Errorf("%s: there is %q", verb, got)
		}
	}
}

// A folder that somebody filled costs a writer no more than a bound.
func TestSweepOfAFullFolder(t *testing.T) {
	root := openRoot(t)
	for i := range 700 {
		write(t, root, fmt.Sprint(i), "")
		if i%100 == 0 {
			write(t, root, fmt.Sprint(Prefix, i, Suffix), "")
		}
	}
	if n, err := Sweep(root); n != 7 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if got := names(t, root); len(got) != 700 {
		t.Errorf("%d are left", len(got))
	}
}

func TestSweepLeavesALivingWriterAlone(t *testing.T) {
	root := openRoot(t)
	write(t, root, "file", "old")
	restore := SetHook(func(s Step) error {
		if s != BeforeRename {
			return nil
		}
		if n, err := Sweep(root); n != 0 || err != nil {
			t.Errorf("Sweep = %d, %v", n, err)
		}
		return nil
	})
	defer restore()
	if err := Replace(root, "file", []byte("new"), 0o600, nil); err != nil {
		t.Fatal(err)
	}
	if got := content(t, root, "file"); got != "new" {
		t.Errorf("content = %q", got)
	}
}

func TestSweepFollowsNoLink(t *testing.T) {
	root := openRoot(t)
	write(t, root, "precious", "stays")
	if err := root.Symlink("precious", Prefix+"x"+Suffix); err != nil {
		t.Fatal(err)
	}
	if err := root.Mkdir(Prefix+"y"+Suffix, 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := Sweep(root); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if got := content(t, root, "precious"); got != "stays" {
		t.Errorf("content = %q", got)
	}
}

func BenchmarkReplace(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	data := []byte(strings.Repeat("x", 2048))
	b.Run("whole or not at all", func(b *testing.B) {
		for b.Loop() {
			if err := Replace(root, "file", data, 0o600, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline os.WriteFile", func(b *testing.B) {
		for b.Loop() {
			if err := root.WriteFile("plain", data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package atomicfile

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// Whoever owns the folder may swap the name for a link at any moment. What the
// link points to is neither written nor read.
func TestALinkSwappedInMeanwhileIsNeverFollowed(t *testing.T) {
	root := openRoot(t)
	write(t, root, "precious", "precious")
	write(t, root, "file", "file")
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			_ = root.Symlink("precious", "link")
			_ = root.Rename("link", "file")
			_ = root.WriteFile("plain", []byte("file"), 0o600)
			_ = root.Rename("plain", "file")
		}
	})
	read, refused := 0, 0
	for range 3000 {
		data, err := Read(root, "file", 100)
		switch {
		case err != nil:
			refused++
		case string(data) == "precious":
			t.Fatal("the link was followed")
		default:
			read++
		}
	}
	for range 100 {
		_ = Replace(root, "file", []byte("file"), 0o600, nil) // refused or done, by chance
	}
	done.Store(true)
	wg.Wait()
	if got := content(t, root, "precious"); got != "precious" {
		t.Errorf("the link's target holds %q", got)
	}
	if fi, err := root.Lstat("precious"); err != nil || fi.Mode() != os.FileMode(0o600) {
		t.Error(fi, err)
	}
	if read == 0 || refused == 0 {
		t.Logf("read %d times, refused %d: there was no race to speak of", read, refused)
	}
}

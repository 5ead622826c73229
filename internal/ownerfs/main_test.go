package ownerfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"rcsupervisor/internal/ownerfs/ownertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alice, bob = ownertest.Alice, ownertest.Bob

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// home makes a folder of uid's that is 0755, whatever the umask.
func home(t *testing.T, uid int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chown(dir, uid, uid))
	return dir
}

func put(t *testing.T, path string, uid int, mode os.FileMode, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
	must(t, os.Chown(path, uid, uid))
	must(t, os.Chmod(path, mode))
}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	fi, err := os.Lstat(path)
	must(t, err)
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

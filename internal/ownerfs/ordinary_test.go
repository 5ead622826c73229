package ownerfs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// bobsHome names another user's folder to the tests when they run as alice.
const bobsHome = "OWNERFS_TEST_BOBS_HOME"

// asOrdinaryUser runs tests of this binary again as uid.
func asOrdinaryUser(t *testing.T, uid uint32, tests, foreign string) bool {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	// The binary lies where only root may go.
	dir, err := os.MkdirTemp("", "ownerfs")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o711))
	in, err := os.Open(exe)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, "t"), os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	for p := foreign; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}

	cmd := exec.Command(out.Name(), "-test.run", "^("+tests+")$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "CI=true", bobsHome+"="+foreign)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	return err == nil
}

func TestForeignHome(t *testing.T) {
	foreign := os.Getenv(bobsHome)
	if foreign == "" {
		foreign = "/" // root's, and no tenant's
		if os.Geteuid() == 0 {
			return // root enters everybody's: see the tests of root's
		}
	}
	_, err := Open(foreign)
	if !errors.Is(err, ErrForeign) {
		t.Fatal(err)
	}
	if err := As(Owner{0, 0}, func() error { return nil }); !errors.Is(err, ErrCredentials) {
		t.Fatal(err)
	}
}

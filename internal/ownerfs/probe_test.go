package ownerfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"rcsupervisor/internal/ownerfs/ownertest"
)

func TestProbe(t *testing.T) {
	dir := home(t, os.Geteuid())
	must(t, os.Mkdir(dir+"/rc", 0o755))
	put(t, dir+"/rc/a", os.Geteuid(), 0o600, "xyz")
	must(t, os.Symlink("a", dir+"/rc/link"))
	must(t, os.Symlink("rc", dir+"/other"))
	must(t, os.Chmod(dir, 0o777)) // told, not refused
	folder, found, err := Probe(dir, "rc", "rc/a", "rc/link", "rc/none", "none/a", "other/a", "rc/a/b")
	must(t, err)
	if folder.Owner != os.Geteuid() || folder.Mode.Perm() != 0o777 || len(found) != 3 {
		t.Fatalf("%+v %+v", folder, found)
	}
	if found["rc/a"].Size != 3 || !found["rc"].Mode.IsDir() || found["rc/link"].Mode&fs.ModeSymlink == 0 {
		t.Fatalf("%+v", found)
	}
	if _, _, err := Probe(dir+"/other", "a"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	if _, _, err := Probe(dir+"/none", "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestEntries(t *testing.T) {
	dir := home(t, os.Geteuid())
	must(t, os.Mkdir(dir+"/b", 0o755))
	must(t, os.Symlink("b", dir+"/c"))
	must(t, os.Chmod(dir, 0o777))
	list, _, err := Entries(dir, 2)
	must(t, err)
	if len(list) != 2 || !list[0].Dir || !list[1].Link {
		t.Fatal(list)
	}
	if _, _, err := Entries(dir, 1); !errors.Is(err, ErrTooMany) {
		t.Fatal(err)
	}
	if _, _, err := Entries(filepath.Join(dir, "b/x"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// Root looks into a tenant's folder with the tenant's rights.
func TestProbeAsTheOwner(t *testing.T) {
	ownertest.NeedRoot(t)
	dir := home(t, alice)
	must(t, os.Mkdir(dir+"/roots", 0o700))
	put(t, dir+"/roots/a", 0, 0o600, rootsSecret)
	if _, _, err := Probe(dir, "roots/a"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	must(t, os.Chmod(dir, 0o300))
	if _, _, err := Entries(dir, 10); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

package profile

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"rcsupervisor/internal/ownerfs/ownertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alice, bob = ownertest.Alice, ownertest.Bob

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tempDir is a folder that others may enter, without links in its path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// makeHome makes a home that takes part, with files by name below rocketchat/.
// It belongs to whoever runs the test.
func makeHome(t testing.TB, dir string, files ...string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, Folder), 0o755))
	if len(files) == 0 {
		files = []string{SettingsFile, "agent: {kind: echo}\n"}
	}
	for i := 0; i < len(files); i += 2 {
		write(t, filepath.Join(dir, Folder, files[i]), files[i+1])
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

// replace writes as editors do: a new file in the old one's place.
func replace(t testing.TB, path, content string) {
	t.Helper()
	write(t, path+".new", content)
	must(t, os.Rename(path+".new", path))
}

// give makes all of a home uid's.
func give(t testing.TB, dir string, uid int) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	}))
}

// rootsRun lets homes of root run, as the tests' own are when root runs them.
func rootsRun(string) bool { return true }

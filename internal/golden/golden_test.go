package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// A recorder is a test that only takes note of failing.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	compare := func(got string, anew bool) bool {
		r := &recorder{TB: t}
		*update = anew
		defer func() { *update = false }()
		Compare(r, "x.golden", got)
		return !r.failed
	}
	if !compare("one\n", true) || !compare("one\n", false) || compare("two\n", false) || compare("", false) {
		t.Error("it does not tell what is as it was from what isn't")
	}
	if data, err := os.ReadFile(filepath.Join("testdata", "x.golden")); err != nil || string(data) != "one\n" {
		t.Errorf("a comparison changed the file: %q, %v", data, err)
	}
	if !compare("two\n", true) || !compare("two\n", false) {
		t.Error("the file is not written anew")
	}
}

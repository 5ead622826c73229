package atomicfile

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// The test binary run again as a writer that is killed at one step.
const (
	childDir  = "ATOMICFILE_CHILD_DIR"
	childStep = "ATOMICFILE_CHILD_STEP"
	childVerb = "ATOMICFILE_CHILD_VERB"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir, Step(os.Getenv(childStep)), os.Getenv(childVerb))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child replaces or creates the file and kills itself, as nothing but the
// kernel can, right before the step. Nothing of it runs afterwards.
func child(dir string, at Step, verb string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	SetHook(func(s Step) error {
		if s == at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	})
	act := Replace
	if verb == "create" {
		act = Create
	}
	if err := act(root, "file", []byte(strings.Repeat("new", 50_000)), 0o640, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

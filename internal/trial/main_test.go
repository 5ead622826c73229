package trial

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/internal/worker"
)

// childEnv names what a test binary that a trial started does instead.
const childEnv = "TRIAL_CHILD"

var children = map[string]func() error{"channel": channelChild, "supervisor": supervisorChild}

func TestMain(m *testing.M) {
	if worker.IsWorker(os.Args) {
		os.Exit(workerChild())
	}
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// patience is when a trial in which nothing comes about any more is given up.
// It bounds no speed: a trial that does what it should needs a fraction of it.
const patience = 40 * time.Second

// patiently is a context that ends with the test, or with its patience.
func patiently(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, fmt.Errorf("nothing came of it in %v", d))
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// number reads a size from the environment.
func number(t testing.TB, name string, other int) int {
	text, set := os.LookupEnv(name)
	if !set {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is %q and should be a number", name, text)
	}
	return n
}

// quickDir is a folder in memory where there is one. What a killed process has
// written stays there as it does on a disk; what is synced is another's test.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "trial")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

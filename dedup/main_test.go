package dedup

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv names what a test binary that was started by a test does instead.
const childEnv = "DEDUP_TEST_CHILD"

var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const bot = "https://chat.example.org bot1"

// noon is a day on which most tests play.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

func id(n int) ID {
	return ID{Message: fmt.Sprintf("message%010d", n), At: at(time.Duration(n) * time.Millisecond)}
}

func question(n int) Question {
	return Question{ID: id(n), Room: "room", Thread: "thread", Asker: "asker", Claimed: at(time.Second)}
}

func statePath(t testing.TB) string { return filepath.Join(t.TempDir(), "dedup.db") }

// quickPath is in memory where there is such a folder, for tests that open
// hundreds of files and don't care what is synced.
func quickPath(t testing.TB) string {
	folder, err := os.MkdirTemp("/dev/shm", "dedup")
	if err != nil {
		return statePath(t)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "dedup.db")
}

func openAt(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return noon }, Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openNew(t testing.TB) *DB { return openAt(t, statePath(t)) }

// mustClaim claims, and fails the test unless it is as fresh as wanted.
func mustClaim(t testing.TB, s Store, q Question, want bool) {
	t.Helper()
	fresh, err := s.Claim(t.Context(), q)
	if err != nil || fresh != want {
		t.Fatalf("Claim(%q) = %v, %v; want fresh %v", q.ID.Message, fresh, err, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openQuestions collects what a start has to finish.
func openQuestions(t testing.TB, s Store) []Question {
	t.Helper()
	var all []Question
	for q, err := range s.Open(t.Context()) {
		must(t, err)
		all = append(all, q)
	}
	return all
}

// logTo writes what is logged, one line each, without times.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

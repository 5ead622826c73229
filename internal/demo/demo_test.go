package demo

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The script plays against real homes, seals, stores and sockets; every step
// must come out as expected, and nothing may be left behind.
func TestScript(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out bytes.Buffer
	err := Script(t.Context(), Options{Out: io.MultiWriter(&out, t.Output())})
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !regexp.MustCompile(`(?m)^demo: (\d+) steps, (\d+) as expected\n\z`).MatchString(out.String()) {
		t.Errorf("the last line is not the count:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("a line has more than 80 columns: %s", line)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A writer that more than one goroutine writes to.
type writer struct {
	mu  sync.Mutex
	buf bytes.Buffer
	saw chan struct{} // closed when all of want were written
	all []string
}

func (w *writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(b)
	for _, s := range w.all {
		if !strings.Contains(w.buf.String(), s) {
			return n, err
		}
	}
	select {
	case <-w.saw:
	default:
		close(w.saw)
	}
	return n, err
}

func TestPlayEndsWithItsContextAndLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &writer{saw: make(chan struct{}), all: []string{"#me=olivia", "ada      online", "babbage  online", "curie    online"}}
	done := make(chan error, 1)
	go func() { done <- Play(ctx, Options{Out: out}) }()
	select {
	case <-out.saw:
	case <-ctx.Done():
		t.Error("the bots are not online")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if t.Failed() {
		t.Log(out.buf.String())
	}
}

package agent

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slow reader gives out lines with pauses between.
type slow struct {
	lines []string
	pause time.Duration
}

func (s *slow) Read(b []byte) (int, error) {
	if len(s.lines) == 0 {
		return strings.NewReader("").Read(b)
	}
	time.Sleep(s.pause)
	n := copy(b, s.lines[0])
	if s.lines[0] = s.lines[0][n:]; s.lines[0] == "" {
		s.lines = s.lines[1:]
	}
	return n, nil
}

func read(level slog.Level, quiet bool, s *slow) string {
	var b strings.Builder
	c := Complaints{Log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level}))}
	if quiet {
		c.Quiet()
	}
	c.Read(s)
	return b.String()
}

func TestStandardError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := []string{"one\n", "\n", "  \t\n", "two\x1b[31m \xff\n", strings.Repeat("x", 5000) + "\n", "the last"}
		got := read(slog.LevelInfo, false, &slow{lines: lines})
		if strings.Count(got, "\n") != 4 || !strings.Contains(got, "line=one") || strings.Contains(got, "\x1b") || strings.Contains(got, strings.Repeat("x", maxErrLine+1)) || !strings.Contains(got, "the last") {
			t.Errorf("%s", got)
		}
		if got := read(slog.LevelInfo, true, &slow{lines: []string{"what somebody wrote\n"}}); got != "" {
			t.Errorf("below debug: %s", got)
		}
		if got := read(slog.LevelDebug, true, &slow{lines: []string{"what somebody wrote\n"}}); !strings.Contains(got, "somebody") {
			t.Errorf("at debug: %s", got)
		}
	})
}

func TestAFloodOfStandardError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := func(n int) (all []string) {
			for i := range n {
				all = append(all, fmt.Sprintf("line %d\n", i))
			}
			return all
		}
		got := read(slog.LevelInfo, false, &slow{lines: lines(10_000)})
		if n := strings.Count(got, "msg=agent"); n != errBurst || !strings.Contains(got, "dropped=9900") {
			t.Errorf("%d lines, %s", n, got[len(got)-100:])
		}
		// A steady trickle is kept whole, and what was dropped before is said.
		got = read(slog.LevelInfo, false, &slow{lines: append([]string{strings.Repeat("flood\n", 300)}, lines(300)...), pause: errEvery})
		if n := strings.Count(got, "msg=agent"); n < 399 || !strings.Contains(got, "dropped=") {
			t.Errorf("%d lines", n)
		}
	})
}

package agent

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of what an agent says on its standard error.
const (
	maxErrLine = 1000 // bytes of one line in the log
	errBurst   = 100  // lines at once
	errEvery   = 200 * time.Millisecond
)

// A Complaints reads an agent's standard error into the log, bounded: long
// lines are cut, and of a flood the number is logged. What an agent writes may
// hold what people wrote, so it is logged at debug, save before the first
// question: [Complaints.Quiet] marks that.
type Complaints struct {
	Log *slog.Logger

	mu    sync.Mutex
	quiet bool
}

// Quiet marks that a question is about to be given.
func (c *Complaints) Quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = true
}

// Read reads to the end of r.
func (c *Complaints) Read(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxErrLine)
	tokens, at := errBurst, time.Now()
	dropped := 0
	for {
		line, err := readLine(lines)
		if line != "" {
			now := time.Now()
			if more := int(now.Sub(at) / errEvery); more > 0 {
				tokens, at = min(errBurst, tokens+more), now
			}
			if tokens == 0 {
				dropped++
			} else {
				tokens--
				c.log(line, dropped)
				dropped = 0
			}
		}
		if err != nil {
			if dropped > 0 {
				c.Log.Info("the agent wrote more on its standard error than is kept", "dropped", dropped)
			}
			return
		}
	}
}

func (c *Complaints) log(line string, dropped int) {
	c.mu.Lock()
	level := slog.LevelInfo
	if c.quiet {
		level = slog.LevelDebug
	}
	c.mu.Unlock()
	attrs := []slog.Attr{slog.String("line", line)}
	if dropped > 0 {
		attrs = append(attrs, slog.Int("dropped", dropped))
	}
	c.Log.LogAttrs(context.Background(), level, "agent", attrs...)
}

// readLine returns the beginning of the next line as plain text, and reads all
// of it.
func readLine(r *bufio.Reader) (string, error) {
	part, more, err := r.ReadLine()
	line := strings.ToValidUTF8(string(part), "\ufffd")
	for more && err == nil {
		_, more, err = r.ReadLine()
	}
	line = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, line)
	return strings.TrimSpace(line), err
}

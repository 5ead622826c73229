package supervisor

import (
	"log/slog"
	"sync"
	"time"

	"rcsupervisor/channel"
)

// Bounds of a profile's log.
const (
	ringLines = 500
	ringBytes = 48 << 10
	lineBytes = 4 << 10 // of one line's texts; what is beyond is cut

	// A run may write so many lines at once, and so many a second on average.
	// What is beyond is dropped, and counted.
	burstLines  = 400
	steadyLines = 50
)

// A Line of a profile's log. Number rises by one with each, from 1.
type Line struct {
	Number uint64            `json:"number"`
	Time   time.Time         `json:"time"`
	Level  string            `json:"level"`
	Text   string            `json:"text"`
	Attrs  map[string]string `json:"attrs,omitempty"`
}

// A ring is the newest lines of one profile's log. Any goroutine may use it.
type ring struct {
	mu      sync.Mutex
	lines   []Line // oldest first
	bytes   int
	last    uint64
	tokens  float64
	filled  time.Time
	dropped int
	more    chan struct{} // closed when there is another line, or none any more
}

func newRing() *ring { return &ring{tokens: burstLines, more: make(chan struct{})} }

// add keeps a line, and reports false when it was dropped because too many
// came. The first line after dropped ones says how many they were.
func (r *ring) add(rec channel.Record) (line Line, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.allowed(rec.Time) {
		r.dropped++
		return Line{}, false
	}
	if r.dropped > 0 {
		r.keep(channel.Record{Time: rec.Time, Level: int(slog.LevelWarn), Message: "log lines were dropped", Attrs: map[string]string{"lines": itoa(r.dropped)}})
		r.dropped = 0
	}
	return r.keep(rec), true
}

// allowed takes a place for one line.
func (r *ring) allowed(now time.Time) bool {
	if d := now.Sub(r.filled); d > 0 && !r.filled.IsZero() {
		r.tokens = min(burstLines, r.tokens+d.Seconds()*steadyLines)
	}
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

func (r *ring) keep(rec channel.Record) Line {
	r.last++
	line := Line{Number: r.last, Time: rec.Time.UTC(), Level: slog.Level(rec.Level).String(), Text: rec.Message, Attrs: rec.Attrs}
	line.cut()
	r.lines = append(r.lines, line)
	r.bytes += line.size()
	for len(r.lines) > ringLines || r.bytes > ringBytes && len(r.lines) > 1 {
		r.bytes -= r.lines[0].size()
		r.lines[0] = Line{}
		r.lines = r.lines[1:]
	}
	close(r.more)
	r.more = make(chan struct{})
	return line
}

// end wakes whoever waits for more: there is none.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.more)
	r.more = make(chan struct{})
}

// after returns the lines with numbers over n, and what is closed when there
// are more. A number that no line has had yet is that of another ring, whose
// profile had the name before: then it is all lines.
func (r *ring) after(n uint64) (lines []Line, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.last {
		n = 0
	}
	from := len(r.lines)
	for from > 0 && r.lines[from-1].Number > n {
		from--
	}
	return append([]Line(nil), r.lines[from:]...), r.more
}

func (l *Line) size() int {
	n := 64 + len(l.Text)
	for k, v := range l.Attrs {
		n += 32 + len(k) + len(v)
	}
	return n
}

// cut bounds the line's texts, whatever a worker sent.
func (l *Line) cut() {
	left := lineBytes
	l.Text = clip(l.Text, &left)
	attrs := l.Attrs
	l.Attrs = nil
	for k, v := range attrs {
		if left <= 0 {
			break
		}
		if l.Attrs == nil {
			l.Attrs = make(map[string]string, len(attrs))
		}
		k = clip(k, &left)
		l.Attrs[k] = clip(v, &left)
	}
}

// Lines returns the lines of a profile's log with numbers over n, oldest first,
// and what is closed when there are more. ok is false when there is no such
// profile for the viewer.
func (s *Supervisor) Lines(v Viewer, name string, n uint64) (lines []Line, more <-chan struct{}, ok bool) {
	k := s.keeper(name)
	if k == nil || !v.Sees(k.view.Load().owner) {
		return nil, nil, false
	}
	lines, more = k.ring.after(n)
	return lines, more, true
}

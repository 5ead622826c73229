package redact

import (
	"io"
	"sync"
)

// A Writer takes secrets out of what is written through it, also those that
// come in several pieces. What may be the beginning of a secret is held back
// until the next write shows whether it is one; everything else is passed on
// at once, in one write for each write.
type Writer struct {
	r   *Redactor
	out io.Writer

	mu      sync.Mutex // guards all below, and the order of writes
	held    []byte
	covered int // of held: belongs to a secret whose mark was passed on
	spans   []span
	buf     []byte
}

// Writer returns a Writer before out. It may be used by many goroutines; each
// of their writes is taken as one piece of a single text. At its end call
// [Writer.Flush].
func (r *Redactor) Writer(out io.Writer) *Writer { return &Writer{r: r, out: out} }

// Write takes p in as a whole. An error is that of the writer behind, which
// has then lost what this and earlier writes held.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	if err := w.pass(unfinished(w.r, w.held)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what is held back: no more will come. What is written
// afterwards is another text.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.held))
}

// pass writes out held up to the position until, and keeps the rest.
func (w *Writer) pass(until int) error {
	w.spans = w.spans[:0]
	if w.covered > 0 {
		w.spans = append(w.spans, span{0, w.covered})
	}
	w.spans = find(w.r, w.held, w.spans)
	w.buf = w.buf[:0]
	at, covered := 0, 0
	for _, s := range w.spans {
		begun := s.from == 0 && w.covered > 0 // its mark was passed on before
		if s.from >= until && !begun {
			break
		}
		w.buf = append(w.buf, w.held[at:s.from]...)
		if !begun {
			w.buf = append(w.buf, Mark...)
		}
		at = min(s.to, until)
		covered = max(0, s.to-until)
	}
	w.buf = append(w.buf, w.held[at:until]...)
	w.held = append(w.held[:0], w.held[until:]...)
	w.covered = covered
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.out.Write(w.buf)
	return err
}

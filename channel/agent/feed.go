package agent

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of one turn's events.
const (
	feedRoom = 128 // events that nobody has read yet
	feedKeep = 8   // of them kept for what must not be lost
)

// MaxText bounds an answer, in bytes. Of a longer one the beginning is kept, and
// [SayCut] ends it.
const (
	MaxText = 1 << 20
	SayCut  = "\n\n(The answer went on; I stopped reading here.)"
)

// A Feed carries the events of one turn to whoever reads them. Putting never
// blocks, however slow the reader is: text is joined, and progress that nobody
// has seen is replaced by newer. Its methods may be called from any goroutine.
type Feed struct {
	events chan Event

	mu      sync.Mutex
	text    strings.Builder // not yet in events
	size    int             // bytes of text put so far
	cut     bool            // more came than a turn may say
	said    bool            // anything of the agent's that a reader sees was put
	pending *Progress
	done    bool
}

// NewFeed returns an empty feed.
func NewFeed() *Feed { return &Feed{events: make(chan Event, feedRoom)} }

// Events is closed after the Done.
func (f *Feed) Events() <-chan Event { return f.events }

// Put adds an event other than Done. It reports false for one that was not
// taken: after the Done, and when so much was not read that only the end has
// room. Text beyond a mebibyte is dropped, and the answer says so at its end.
func (f *Feed) Put(e Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return false
	}
	switch e := e.(type) {
	case Text:
		f.add(e.Chunk)
		f.flush(feedKeep)
	case Progress:
		f.pending = &e
		f.flush(feedKeep)
	default:
		if _, ours := e.(Notice); !ours {
			f.said = true
		}
		if len(f.events) >= feedRoom-feedKeep/2 {
			return false
		}
		f.flush(0)
		f.events <- e
	}
	return true
}

// End is the Done. Only the first counts.
func (f *Feed) End(d Done) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return
	}
	f.done, f.pending = true, nil
	if f.cut {
		f.text.WriteString(SayCut)
	}
	f.flush(0)
	f.events <- d
	close(f.events)
}

// Size returns how many bytes of text were put, and Said whether anything was
// of the agent's that a reader sees: text, a file, a request.
func (f *Feed) Size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size
}

// Said is explained at Size.
func (f *Feed) Said() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said
}

func (f *Feed) add(chunk string) {
	if chunk == "" {
		return
	}
	f.said = true
	if over := f.size + len(chunk) - MaxText; over > 0 {
		f.cut = true
		keep := max(len(chunk)-over, 0)
		for keep > 0 && !utf8.RuneStart(chunk[keep]) {
			keep--
		}
		chunk = chunk[:keep]
	}
	f.size += len(chunk)
	f.text.WriteString(chunk)
}

// flush moves what waits into the channel while more than keep places are free.
// We alone put into it, so that what is free stays so.
func (f *Feed) flush(keep int) {
	if f.text.Len() > 0 && len(f.events) < feedRoom-keep {
		f.events <- Text{Chunk: f.text.String()}
		f.text.Reset()
	}
	if f.pending != nil && f.text.Len() == 0 && len(f.events) < feedRoom-max(keep, 1) {
		f.events <- *f.pending
		f.pending = nil
	}
}

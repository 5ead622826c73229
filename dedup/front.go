package dedup

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// flushAfter is how long a moved cursor may wait for a step to be written with.
const flushAfter = 5 * time.Second

// A front is what [DB] and [Memory] have in common: what callers see of a
// book. They differ in what a step has to pass before it counts.
type front struct {
	// do takes a step to its end. Set once, before the first call.
	do func(context.Context, *step) error
	// readable says whether the book can be trusted to be complete.
	readable func() error
	// moved is called, with mu held, when a cursor moved.
	moved func()

	mu     sync.Mutex // guards what follows; never held over a commit
	book   *book
	closed bool
}

// Claim: see [Store]. A question that is known costs no disk access.
func (f *front) Claim(ctx context.Context, q Question) (bool, error) {
	f.mu.Lock()
	dup := !f.closed && f.book.known(markOf(q.ID.Message))
	f.mu.Unlock()
	if dup {
		return false, nil
	}
	s := newStep(claim, q)
	if err := f.run(ctx, s); err != nil {
		return false, err // and s may not be ours to read
	}
	return s.fresh, nil
}

// Give: see [Store].
func (f *front) Give(ctx context.Context, id ID) error {
	return f.run(ctx, newStep(give, Question{ID: id}))
}

// Answer: see [Store].
func (f *front) Answer(ctx context.Context, id ID, parts []Part) error {
	s := newStep(answer, Question{ID: id})
	s.parts = slices.Clone(parts) // it may outlast the call
	return f.run(ctx, s)
}

// Upload: see [Store].
func (f *front) Upload(ctx context.Context, id ID, index int, file string) error {
	s := newStep(upload, Question{ID: id})
	s.index, s.file = index, file
	return f.run(ctx, s)
}

// Settle: see [Store]. How the part ended is not kept: nothing asks for it
// once the part is settled.
func (f *front) Settle(ctx context.Context, id ID, index int, _ Outcome) error {
	s := newStep(settle, Question{ID: id})
	s.index = index
	return f.run(ctx, s)
}

func (f *front) run(ctx context.Context, s *step) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.do(ctx, s)
}

// Known: see [Store].
func (f *front) Known(id ID) (State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.book.state(markOf(id.Message))
}

// Open: see [Store].
func (f *front) Open(ctx context.Context) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		marks, err := f.list()
		if err != nil {
			yield(Question{}, err)
			return
		}
		for _, m := range marks {
			if err := ctx.Err(); err != nil {
				yield(Question{}, err)
				return
			}
			f.mu.Lock()
			q, ok := f.book.question(m)
			f.mu.Unlock()
			if ok && !yield(q, nil) {
				return
			}
		}
	}
}

func (f *front) list() ([]mark, error) {
	if err := f.readable(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	return f.book.oldest(), nil
}

// Cursor: see [Store].
func (f *front) Cursor(room string) (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ts, ok := f.book.rooms[room]
	return ts, ok
}

// Advance: see [Store]. On a closed store it does nothing.
func (f *front) Advance(room string, ts time.Time) {
	f.mu.Lock()
	_, known := f.book.rooms[room]
	moved := !f.closed && f.book.advance(room, ts)
	if moved {
		f.moved()
	}
	f.mu.Unlock()
	if moved && !known && own(room) {
		// If that fails it is written with the next step that doesn't.
		_ = f.do(context.Background(), newStep(flush, Question{}))
	}
}

package dedup

import (
	"context"
	"errors"
	"maps"
	"time"
)

// Memory is a [Store] without a file: the same states, orders, bounds and
// errors as [DB]'s, from the same code, for tests and for trying things out.
// What it can't do is the reason there is a DB: its steps outlive nothing but
// [Memory.Reopen].
type Memory struct {
	front
	// guarded by front.mu
	fault   error
	written map[string]time.Time // cursors as a file would hold them
	waiting time.Time            // since when a cursor has not been written
}

var (
	_ Store  = (*Memory)(nil)
	_ Mender = (*Memory)(nil)
)

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return newMemory(newBook()) }

func newMemory(b *book) *Memory {
	m := &Memory{written: maps.Clone(b.rooms)}
	m.front = front{
		book: b, do: m.take,
		readable: func() error { return nil },
		moved: func() {
			if m.waiting.IsZero() {
				m.waiting = time.Now()
			}
		},
	}
	return m
}

// take is a transaction of one step. Cursors are written with it, as in a DB.
func (m *Memory) take(_ context.Context, s *step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	d := newDraft(m.book, time.Now())
	d.take(s)
	if s.err != nil {
		return s.err
	}
	if !d.empty() {
		if m.fault != nil {
			return m.fault
		}
		m.keep(d)
	}
	m.book.merge(d)
	return nil
}

// keep writes all cursors.
func (m *Memory) keep(d *draft) {
	d.cursors()
	m.written, m.waiting = maps.Clone(m.book.rooms), time.Time{}
}

// ripen writes the cursors that a DB would have written by now. The caller
// holds mu.
func (m *Memory) ripen() {
	if !m.waiting.IsZero() && m.fault == nil && time.Since(m.waiting) >= flushAfter {
		m.written, m.waiting = maps.Clone(m.book.rooms), time.Time{}
	}
}

// Advance: see [Store].
func (m *Memory) Advance(room string, ts time.Time) {
	m.mu.Lock()
	m.ripen()
	m.mu.Unlock()
	m.front.Advance(room, ts)
}

// Fail makes every step that has to be written fail with err, as a full disk
// would, until Fail(nil), or until Repair if it is an ErrDamaged. What is known
// stays known.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

// Trouble returns what Fail was given.
func (m *Memory) Trouble() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault
}

// Repair: see [Mender].
func (m *Memory) Repair(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case m.closed:
		return ErrClosed
	case errors.Is(m.fault, ErrDamaged):
		m.fault = nil
	}
	return m.fault
}

// Quarantined returns "": there is no file.
func (m *Memory) Quarantined() string { return "" }

// Reopen returns a Memory as a process finds it that starts after this one was
// killed: each step is there; cursors moved in the last 5 s with no step after
// them are where they were. m is closed by it.
func (m *Memory) Reopen() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.ripen()
	}
	m.closed = true
	b := newBook()
	b.slots, b.open, b.rooms = m.book.slots, m.book.open, m.written
	return newMemory(b)
}

// Close: see [Store]. Reopen after it finds the cursors too.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if len(m.book.moved) > 0 && m.fault != nil {
		return m.fault
	}
	m.written = m.book.rooms
	return nil
}

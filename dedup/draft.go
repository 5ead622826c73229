package dedup

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// A kind of step. The zero kind is none.
type kind uint8

const (
	claim kind = iota + 1
	give
	answer
	upload
	settle
	flush // write cursors
)

// A step is one call that changes something, waiting for its commit.
type step struct {
	kind  kind
	q     Question // claim; of the others the ID
	parts []Part   // answer
	index int      // upload, settle
	file  string   // upload

	mark mark
	// What came of it. Written by whoever takes the step, before done.
	fresh   bool
	changed bool // something would be, or was, written
	err     error

	fate atomic.Uint32 // told or left, whichever comes first
	done chan struct{} // closed once told
}

const (
	told = 1 // the caller is told what came of the step
	left = 2 // he has gone
)

func newStep(k kind, q Question) *step {
	return &step{kind: k, q: q, mark: markOf(q.ID.Message), done: make(chan struct{})}
}

// A draft is what the steps of one transaction make of a book. The book is not
// touched before the transaction is on disk.
type draft struct {
	book *book
	now  time.Time

	open    map[mark]*entry   // nil: done
	marks   map[mark]day      // newly known, and in which slot
	slots   []day             // as they will be
	drop    map[day]struct{}  // slots that go
	touched map[mark]struct{} // marks that are no longer left
	// rooms holds the cursors to write; zero for one that is gone.
	rooms map[string]time.Time
}

func newDraft(b *book, now time.Time) *draft {
	return &draft{
		book: b, now: now, slots: b.days(),
		open:    make(map[mark]*entry),
		marks:   make(map[mark]day),
		drop:    make(map[day]struct{}),
		touched: make(map[mark]struct{}),
		rooms:   make(map[string]time.Time),
	}
}

// empty reports that there is nothing to write.
func (d *draft) empty() bool { return len(d.open)+len(d.marks)+len(d.rooms) == 0 }

// cursors takes the book's unwritten cursors into the draft.
func (d *draft) cursors() {
	for room := range d.book.moved {
		d.rooms[room] = d.book.rooms[room]
	}
}

// take takes one step. A step that can't be taken changes nothing of the draft
// and is no other's concern.
func (d *draft) take(s *step) {
	switch s.kind {
	case claim:
		d.claim(s)
	case give:
		s.err = d.give(s)
	case answer:
		s.err = d.answer(s)
	case upload:
		s.err = d.upload(s)
	case settle:
		s.err = d.settle(s)
	case flush:
		d.cursors()
	}
}

// put is the only place where a step changes a question.
func (d *draft) put(s *step, e *entry) {
	d.open[s.mark] = e
	d.touched[s.mark] = struct{}{}
	s.changed = true
}

// again reports whether this step has happened already without anyone being
// told. If so, this caller is the one.
func (d *draft) again(s *step) bool {
	if _, moved := d.touched[s.mark]; moved || d.book.left[s.mark] != s.kind {
		return false
	}
	d.touched[s.mark] = struct{}{}
	s.changed = true
	return true
}

func (d *draft) entry(m mark) *entry {
	if e, ok := d.open[m]; ok {
		return e
	}
	return d.book.open[m]
}

func (d *draft) known(m mark) bool {
	if d.entry(m) != nil {
		return true
	}
	if _, ok := d.marks[m]; ok {
		return true
	}
	for slot, marks := range d.book.slots {
		if _, gone := d.drop[slot]; gone {
			continue
		}
		if _, ok := marks[m]; ok {
			return true
		}
	}
	return false
}

func (d *draft) claim(s *step) {
	if d.known(s.mark) {
		s.fresh = d.again(s)
		return
	}
	q := s.q
	q.State, q.Parts = Claimed, nil
	q.ID.At = q.ID.At.Round(0).UTC()
	if q.Claimed.IsZero() {
		q.Claimed = d.now
	}
	q.Claimed = q.Claimed.Round(0).UTC()
	d.marks[s.mark] = d.slot(dayOf(q.ID.At))
	d.put(s, &entry{Question: q})
	s.fresh = true
}

// slot returns the slot for a record of day at, and lets go what is too old.
func (d *draft) slot(at day) day {
	slot, drop := place(d.slots, at, dayOf(d.now))
	for _, old := range drop {
		d.drop[old] = struct{}{}
		maps.DeleteFunc(d.marks, func(_ mark, in day) bool { return in == old })
	}
	d.slots = slices.DeleteFunc(d.slots, func(s day) bool { return slices.Contains(drop, s) })
	if !slices.Contains(d.slots, slot) {
		d.slots = append(d.slots, slot)
		slices.Sort(d.slots)
	}
	return slot
}

func (d *draft) give(s *step) error {
	e := d.entry(s.mark)
	switch {
	case d.again(s):
		return nil
	case e == nil:
		return d.missing(s)
	case e.State != Claimed:
		return fmt.Errorf("%w: give a question that is %s", ErrOrder, e.State)
	}
	given := *e
	given.State = Given
	d.put(s, &given)
	return nil
}

func (d *draft) answer(s *step) error {
	e := d.entry(s.mark)
	switch {
	case d.again(s):
		return nil
	case e == nil:
		return d.missing(s)
	case e.State != Claimed && e.State != Given:
		return fmt.Errorf("%w: answer a question that is %s", ErrOrder, e.State)
	case len(s.parts) == 0:
		d.put(s, nil)
		return nil
	}
	answered := *e
	answered.State, answered.total = Answered, len(s.parts)
	answered.Parts = slices.Clone(s.parts)
	for i := range answered.Parts {
		p := &answered.Parts[i]
		p.Question, p.Index = e.ID, i
		if p.Owed.IsZero() {
			p.Owed = d.now
		}
		p.Owed = p.Owed.Round(0).UTC()
	}
	d.put(s, &answered)
	return nil
}

func (d *draft) upload(s *step) error {
	e, i, err := d.part(s)
	if err != nil {
		return err
	}
	if i < 0 {
		return fmt.Errorf("%w: upload for a part that is settled", ErrOrder)
	}
	uploaded := *e
	uploaded.Parts = slices.Clone(e.Parts)
	uploaded.Parts[i].Upload = s.file
	d.put(s, &uploaded)
	return nil
}

func (d *draft) settle(s *step) error {
	e, i, err := d.part(s)
	if err != nil || i < 0 {
		return err
	}
	if len(e.Parts) == 1 {
		d.put(s, nil)
		return nil
	}
	settled := *e
	settled.Parts = slices.Delete(slices.Clone(e.Parts), i, i+1)
	d.put(s, &settled)
	return nil
}

// part finds the part a step is of. Its place is -1 when it is settled; the
// entry is nil when the whole question is.
func (d *draft) part(s *step) (*entry, int, error) {
	e := d.entry(s.mark)
	switch {
	case e == nil && d.known(s.mark):
		return nil, -1, nil
	case e == nil:
		return nil, 0, ErrUnknown
	case e.State != Answered:
		return nil, 0, fmt.Errorf("%w: a part of a question that is %s", ErrOrder, e.State)
	case s.index < 0 || s.index >= e.total:
		return nil, 0, fmt.Errorf("%w: it has no part %d", ErrUnknown, s.index)
	}
	return e, slices.IndexFunc(e.Parts, func(p Part) bool { return p.Index == s.index }), nil
}

// missing says why a question isn't open.
func (d *draft) missing(s *step) error {
	if d.known(s.mark) {
		return fmt.Errorf("%w: the question is %s", ErrOrder, Done)
	}
	return ErrUnknown
}

// check refuses what no store could hold, before it is queued.
func (s *step) check() error {
	q := s.q
	switch {
	case q.ID.Message == "":
		return fmt.Errorf("%w: a question without a message id", ErrUnknown)
	case len(q.ID.Message)+len(q.Room)+len(q.Thread)+len(q.Asker) > maxQuestion:
		return fmt.Errorf("%w: its ids are over %d bytes", ErrTooLarge, maxQuestion)
	case len(s.parts) > maxParts:
		return fmt.Errorf("%w: %d parts", ErrTooLarge, len(s.parts))
	case len(s.file) > maxQuestion:
		return fmt.Errorf("%w: a file id of %d bytes", ErrTooLarge, len(s.file))
	}
	size := 0
	for _, p := range s.parts {
		size += len(p.Text) + len(p.Step) + len(p.Room) + len(p.Thread) + len(p.File) + len(p.Upload)
	}
	if size > maxAnswer {
		return fmt.Errorf("%w: an answer of %d bytes", ErrTooLarge, size)
	}
	return nil
}

package dedup

import (
	"context"
	"slices"
	"time"
)

// maxSteps bounds one transaction, so that the first in it doesn't wait for
// the thousandth.
const maxSteps = 512

// queue puts a step to those that wait for the next transaction, and waits.
func (db *DB) queue(ctx context.Context, s *step) error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	db.lane.Put(s)
	db.mu.Unlock()
	select {
	case <-s.done:
	case <-ctx.Done():
		if s.fate.CompareAndSwap(0, left) {
			return ctx.Err()
		}
		<-s.done
	}
	return s.err
}

// commitAll is the lane's: everything that waits.
func (db *DB) commitAll(steps []*step) {
	for some := range slices.Chunk(steps, maxSteps) {
		db.commit(some)
	}
}

// commit takes some steps in one transaction.
func (db *DB) commit(steps []*step) {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	// Who has gone before his step began is not answered, and it isn't taken.
	steps = slices.DeleteFunc(steps, func(s *step) bool { return s.fate.Load() == left })
	if len(steps) == 0 {
		return
	}
	if err := db.ready(); err != nil {
		db.refuse(steps, err)
		return
	}
	db.mu.Lock()
	d := newDraft(db.book, db.options.Now())
	for _, s := range steps {
		d.take(s)
	}
	d.cursors()
	db.mu.Unlock()
	if !d.empty() {
		if err := db.disk.commit(db.options.Bot, d); err != nil {
			db.doubt(steps)
			db.refuse(steps, db.lost(err))
			return
		}
	}
	db.tell(steps, d)
}

// tell makes a committed draft known and answers those who wait, with no
// moment between the two: a caller either hears that his step happened, or it
// is left for whoever takes it again.
func (db *DB) tell(steps []*step, d *draft) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.book.merge(d)
	if len(d.touched)+len(d.rooms) > 0 {
		db.trouble, db.complained = nil, false
	}
	waits := make([]bool, len(steps))
	for i, s := range steps {
		waits[i] = s.fate.CompareAndSwap(0, told)
		if !waits[i] && s.changed && s.kind <= answer {
			db.book.left[s.mark] = s.kind
		}
	}
	for i, s := range steps {
		if !waits[i] {
			continue
		}
		// Two claimed the same, and the one whose it was has gone.
		if s.kind == claim && s.err == nil && !s.fresh && db.book.left[s.mark] == claim {
			delete(db.book.left, s.mark)
			s.fresh = true
		}
		close(s.done)
	}
}

// refuse answers all steps with err. Even a step that was out of order is
// told so: what it was out of order with may be in the same transaction.
func (db *DB) refuse(steps []*step, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.trouble = err
	for _, s := range steps {
		if s.kind == flush && !db.closed {
			if !db.complained {
				db.complained = true
				db.options.Log.Warn("cursors can't be written", "file", db.path, "err", err)
			}
			db.arm()
		}
		if s.fate.CompareAndSwap(0, told) {
			s.fresh, s.err = false, err
			close(s.done)
		}
	}
}

// doubt notes what would be so if the transaction that failed happened after
// all. The next reload sees.
func (db *DB) doubt(steps []*step) {
	db.disk.failed()
	for _, s := range steps {
		if s.err == nil && s.changed && s.kind <= answer {
			db.disk.doubts = append(db.disk.doubts, s)
		}
	}
}

// arm sees to it that cursors are written in time. The caller holds mu.
func (db *DB) arm() {
	if db.timer != nil {
		return
	}
	db.work.Add(1)
	db.timer = time.AfterFunc(flushAfter, func() {
		defer db.work.Done()
		db.mu.Lock()
		defer db.mu.Unlock()
		db.timer = nil
		if !db.closed && len(db.book.moved) > 0 {
			db.lane.Put(newStep(flush, Question{}))
		}
	})
}

package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"rcsupervisor/dedup"
)

// records is the channel's store with an eye on it: each step that fails for
// the disk's sake is trouble, which is said, and ended where it can be. While
// it lasts nothing is taken in.
type records struct {
	dedup.Store
	life *life

	mu        sync.Mutex
	trouble   error
	since     time.Time
	repairing bool
}

// repairEvery is how often a damaged store is tried to be mended.
const repairEvery = 5 * time.Second

func newRecords(s dedup.Store, l *life) *records {
	r := &records{Store: s, life: l}
	if m, ok := s.(dedup.Mender); ok {
		r.noted(m.Trouble())
	}
	return r
}

// Claim, Give, Answer, Upload and Settle are the store's own, noted.
func (r *records) Claim(ctx context.Context, q dedup.Question) (bool, error) {
	fresh, err := r.Store.Claim(ctx, q)
	return fresh, r.noted(err)
}

func (r *records) Give(ctx context.Context, id dedup.ID) error {
	return r.noted(r.Store.Give(ctx, id))
}

func (r *records) Answer(ctx context.Context, id dedup.ID, parts []dedup.Part) error {
	return r.noted(r.Store.Answer(ctx, id, parts))
}

func (r *records) Upload(ctx context.Context, id dedup.ID, index int, file string) error {
	return r.noted(r.Store.Upload(ctx, id, index, file))
}

func (r *records) Settle(ctx context.Context, id dedup.ID, index int, o dedup.Outcome) error {
	return r.noted(r.Store.Settle(ctx, id, index, o))
}

// noted takes note of how a step went, and passes its error on.
func (r *records) noted(err error) error {
	if err != nil && !theDisks(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil && r.trouble == nil:
		r.since = time.Now()
		r.life.log.Error("the store of questions can't be written to; nothing is taken in", "err", err)
		r.life.touched()
	case err == nil && r.trouble != nil:
		r.life.log.Info("the store of questions can be written to again", "after", time.Since(r.since).Round(time.Second))
		r.life.touched()
	}
	r.trouble = err
	if errors.Is(err, dedup.ErrDamaged) && !r.repairing && r.life.ctx.Err() == nil {
		r.repairing = true
		r.life.work.Go(r.life.guarded(r.repair))
	}
	return err
}

// theDisks reports whether an error is the disk's, and not the step's own or
// its caller's.
func theDisks(err error) bool {
	for _, own := range []error{
		dedup.ErrUnknown, dedup.ErrOrder, dedup.ErrTooLarge, dedup.ErrClosed, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, own) {
			return false
		}
	}
	return true
}

// repair mends a damaged store: what is there is moved aside, and all that is
// known is written anew.
func (r *records) repair() {
	mender, ok := r.Store.(dedup.Mender)
	for ok {
		err := mender.Repair(r.life.ctx)
		if err == nil || r.life.ctx.Err() != nil {
			break
		}
		r.life.log.Warn("the store of questions can't be mended yet", "err", err)
		if !pause(r.life.ctx, repairEvery) {
			break
		}
	}
	r.mu.Lock()
	r.repairing = false
	r.mu.Unlock()
	if ok {
		_ = r.noted(mender.Trouble())
	}
}

// troubled returns what the last step failed with, nil if it did not.
func (r *records) troubled() error {
	if m, ok := r.Store.(dedup.Mender); ok {
		if err := m.Trouble(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

// quarantined returns where a damaged store was moved to.
func (r *records) quarantined() string {
	if m, ok := r.Store.(dedup.Mender); ok {
		return m.Quarantined()
	}
	return ""
}

// pause waits for d and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

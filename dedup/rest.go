package dedup

import "time"

// A mapped file and bbolt's lists of its pages are some 35 kB, which is much
// for a bot that is spoken to once a day. So a store that took no step for
// restAfter takes its file from bbolt and keeps the lock alone. The next step
// proves the file as a start does, so that nothing that happened to it meanwhile
// reaches bbolt, and a file of more than restBytes, which takes milliseconds to
// prove, is never taken: it is no quiet bot's. Nor is one that is spoken to more
// often than restAfter: a thousand that prove their files with each message take
// twice as long from it to the agent.
const (
	restAfter = 30 * time.Second
	restBytes = 1 << 20
)

// wake makes a file that may be at rest ready for a step, and puts its next rest
// off. The caller holds disk.mu.
func (db *DB) wake() error {
	f := db.disk.file
	if f.bolt == nil {
		if _, err := db.prove(f.f); err != nil {
			return err
		}
		if err := f.wake(); err != nil {
			return err
		}
	}
	db.stir()
	return nil
}

// stir puts off the file's rest. The caller holds disk.mu.
func (db *DB) stir() {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.closed:
	case db.nap != nil && db.nap.Stop():
		db.nap.Reset(restAfter)
	default:
		db.work.Add(1)
		db.nap = time.AfterFunc(restAfter, db.rest)
	}
}

// rest takes a small file from bbolt. One that turns out not to be ours any more
// is opened and proven again before the next step, as any that was let go of.
func (db *DB) rest() {
	defer db.work.Done()
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	if db.disk.file == nil || db.disk.file.left.size > restBytes || db.disk.file.rest() == nil {
		return
	}
	_ = db.disk.close()
	db.disk.condition = stale
}

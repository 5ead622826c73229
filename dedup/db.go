package dedup

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/lane"
)

// Options say whose records a file holds, and its bounds.
type Options struct {
	// Bot is the server and the bot's user id, joined in any one way. Each
	// bot's records are its own: another's in the same file are neither seen
	// nor touched, and go when they are over 72 h old. Needed.
	Bot string
	// Log gets what no caller is told: a file moved aside, cursors that can't
	// be written. Nil discards it.
	Log *slog.Logger
	// Now is our clock, time.Now if nil.
	Now func() time.Time
	// Timeout is how long another process's lock is waited for; 0 is 1 s.
	Timeout time.Duration
	// MaxBytes bounds the file; steps that would need more fail with ErrFull.
	// 0 is 64 MiB, enough for a million messages in 72 h.
	MaxBytes int64
}

// A DB is a [Store] in a file.
//
// Every step is one entry of a transaction that is synced before the step
// returns; steps that wait for a running transaction share the next. Only one
// goroutine at a time touches the file, and it exists only while a step waits.
// A store that took no step for ten seconds has only the file's lock; the next
// step proves the file and maps it again.
//
// A DB is in one of three conditions, told by [DB.Trouble]:
//
//   - usable.
//   - it can't be written to (ErrReadOnly: disk full, read-only, an I/O error).
//     Steps fail; what is known stays known, and can be read. Each further step
//     tries again, on a file that was proven again. If the file could not be
//     read so far, [Store.Open] yields the trouble alone: ask again after it.
//   - damaged (ErrDamaged): somebody wrote to the file, truncated, moved,
//     removed or replaced it, or bbolt found it broken. Steps fail until
//     [DB.Repair].
type DB struct {
	front
	path    string
	options Options
	lane    lane.Lane[*step]
	work    sync.WaitGroup // the lane's goroutine, and the timers'

	// guarded by front.mu
	timer       *time.Timer // set while a cursor waits to be written
	nap         *time.Timer // runs while bbolt has the file
	complete    bool        // the book holds what the file held
	trouble     error
	quarantined string
	complained  bool // about cursors

	disk disk
}

var (
	_ Store  = (*DB)(nil)
	_ Mender = (*DB)(nil)
)

// Open opens the state file at path, or begins one; its folder has to exist.
//
// A damaged file is moved aside as path.corrupt-<time>, the newest three of
// which are kept, and another begun, which [DB.Quarantined] tells. A file that
// can't be read or written just now is no error: the DB is then in trouble
// from the start (see [DB.Trouble]), and tries again with each step.
//
// The errors are ErrLocked, ErrNewer (nothing was touched), and what only a
// person can mend: no folder, not a regular file, no Bot.
func Open(path string, o Options) (*DB, error) {
	if o.Bot == "" || len(o.Bot) > 1024 {
		return nil, errors.New("open a state file: Options.Bot must have 1 to 1024 bytes")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	db := &DB{path: filepath.Clean(path), options: o}
	db.front = front{book: newBook(), do: db.queue, readable: db.readable, moved: db.arm}
	db.disk.write = (*file).commit
	db.lane.Do, db.lane.Group, db.lane.Turn = db.commitAll, &db.work, turn
	if err := db.begin(); err != nil {
		return nil, err
	}
	return db, nil
}

// begin opens the file for the first time.
func (db *DB) begin() error {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	f, err := openLocked(db.path, os.O_RDWR, db.options.Timeout)
	switch {
	case err == nil:
		return db.adopt(f)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(db.path)); err != nil {
			return fmt.Errorf("begin a state file: %w", err)
		}
		db.whole(newBook(), nil)
		db.disk.condition = absent
		return db.atFirst(db.make())
	case errors.Is(err, ErrLocked), irregular(err):
		return fmt.Errorf("open a state file: %w", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		db.peek()
	}
	db.disk.condition = stale
	_ = db.lost(err)
	return nil
}

// adopt takes on a file that was found, whose lock f holds.
func (db *DB) adopt(f *os.File) error {
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600)
	}
	sweep(db.path)
	l, err := loadFile(f, db.options.Bot)
	switch {
	case errors.Is(err, ErrNewer):
		f.Close()
		return fmt.Errorf("open %s: %w", db.path, err)
	case errors.Is(err, ErrDamaged):
		db.whole(salvageFile(f, db.options.Bot), nil)
		return db.atFirst(db.setAside(f, err))
	case err != nil:
		f.Close()
		db.disk.condition = stale
		_ = db.lost(err)
		return nil
	case l.doubtful:
		db.whole(l.book, nil)
		return db.atFirst(db.setAside(f, damaged("one of its first two pages is bad")))
	}
	db.whole(l.book, l.others)
	if db.wasteful(l) {
		if err := create(db.path, db.options.Bot, everything(l.book), true); err == nil {
			f.Close()
			db.disk.condition, db.disk.txid = stale, 0
			return db.atFirst(db.reload())
		}
	}
	o, err := openBolt(f, db.options.MaxBytes)
	if err != nil {
		_ = db.lost(err)
		if db.disk.condition != broken {
			db.disk.condition = stale
			return nil
		}
		return db.atFirst(db.repair())
	}
	db.use(o, l.meta.txid)
	return nil
}

// atFirst says what an error of the disk means while opening: a lock that
// another process holds is the caller's, everything else is trouble that the
// next step tries to end.
func (db *DB) atFirst(err error) error {
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("open a state file: %w", err)
	}
	return nil
}

// peek reads a file that can't be opened for writing, so that what it knows is
// known.
func (db *DB) peek() {
	f, err := openLocked(db.path, os.O_RDONLY, db.options.Timeout)
	if err != nil {
		return
	}
	defer f.Close()
	if l, err := loadFile(f, db.options.Bot); err == nil {
		db.whole(l.book, l.others)
		db.disk.txid = l.meta.txid
	}
}

// whole makes b the book, complete as of the file.
func (db *DB) whole(b *book, others map[string]day) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.book, db.complete = b, true
	db.disk.others = others
}

// wasteful says that most of a file is empty and it is worth making anew. One
// that holds other bots' records is left alone; they go in three days.
func (db *DB) wasteful(l loaded) bool {
	pages := int(l.meta.pages)
	return pages*l.meta.pageSize >= 1<<20 && l.free > pages/4*3 && len(l.others) == 0
}

func (db *DB) readable() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.complete {
		return db.trouble
	}
	return nil
}

// Trouble: see [Mender].
func (db *DB) Trouble() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.trouble
}

// Quarantined: see [Mender].
func (db *DB) Quarantined() string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.quarantined
}

func (db *DB) troubled(err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.trouble = err
}

// halt takes no more steps in, and stops the timers. The caller holds mu.
func (db *DB) halt() {
	db.closed = true
	for _, t := range []*time.Timer{db.timer, db.nap} {
		if t != nil && t.Stop() {
			db.work.Done()
		}
	}
}

// Close writes the cursors that wait, after all steps that were begun, and
// gives the file back. Steps after it fail with ErrClosed.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.halt()
	var last *step
	if len(db.book.moved) > 0 {
		last = newStep(flush, Question{})
		db.lane.Put(last)
	}
	db.mu.Unlock()
	db.work.Wait()

	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	var err error
	if last != nil {
		err = last.err
	}
	return errors.Join(err, db.disk.close())
}

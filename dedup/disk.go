package dedup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// A condition of the file, as far as this process is concerned.
type condition uint8

const (
	absent condition = iota // to be made from the book
	usable                  // open, and ours
	stale                   // to be opened and proven again before it is used
	broken                  // until Repair
)

// A disk is the file side of a DB. Whoever holds mu may touch the file; it is
// taken before front.mu, and held over a commit.
type disk struct {
	mu        sync.Mutex
	condition condition
	file      *file                                       // while usable
	write     func(*file, string, *draft, []string) error // (*file).commit; tests make it fail
	txid      uint64
	others    map[string]day // other bots' newest days
	// unsure says that the last transaction failed and may yet be in the file,
	// and doubts what it would have done.
	unsure bool
	doubts []*step
}

func (d *disk) close() error {
	if d.file == nil {
		return nil
	}
	f := d.file
	d.file = nil
	return f.close()
}

// commit writes a draft, and with a new day lets other bots' old records go.
func (d *disk) commit(bot string, what *draft) error {
	var gone []string
	for other, last := range d.others {
		if len(what.marks) > 0 && last+keepDays < min(what.slots[len(what.slots)-1], dayOf(what.now)) {
			gone = append(gone, other)
		}
	}
	if err := d.write(d.file, bot, what, gone); err != nil {
		return err
	}
	d.txid = d.file.txid
	for _, other := range gone {
		delete(d.others, other)
	}
	return nil
}

// failed lets go of the file after a transaction that failed.
func (d *disk) failed() {
	d.condition, d.unsure = stale, true
	_ = d.close() // what could be lost here is proven at the next step
}

// ready makes the file usable, or says why it isn't. The caller holds disk.mu.
func (db *DB) ready() error {
	switch db.disk.condition {
	case usable:
		err := db.disk.file.check()
		if err == nil {
			err = db.wake()
		}
		if err == nil {
			return nil
		}
		_ = db.disk.close()
		db.disk.condition = stale
		if !errors.Is(err, errTouched) {
			return db.lost(err)
		}
	case absent:
		return db.make()
	case broken:
		return db.Trouble()
	}
	return db.reload()
}

// lost notes what an error of the disk means, and passes it on with the file's
// name. A damaged file is left alone until Repair.
func (db *DB) lost(err error) error {
	err = fmt.Errorf("%s: %w", db.path, diskError(err))
	if errors.Is(err, ErrDamaged) {
		_ = db.disk.close()
		db.disk.condition = broken
	}
	db.troubled(err)
	return err
}

// make makes the file from the book and opens it.
func (db *DB) make() error {
	db.mu.Lock()
	nothing, d := db.book.empty(), everything(db.book)
	db.mu.Unlock()
	err := create(db.path, db.options.Bot, d, false)
	switch {
	case errors.Is(err, fs.ErrExist) && nothing:
		// Somebody brought one while we couldn't; ours to read.
	case errors.Is(err, fs.ErrExist):
		return db.lost(damaged("another file was put in its place"))
	case err != nil:
		return db.lost(err)
	}
	db.disk.condition, db.disk.txid = stale, 0
	return db.reload()
}

// reload opens the file again and proves it. What was written after an error
// may be in the kernel's memory and not on the disk, so it is read from there.
func (db *DB) reload() error {
	f, err := openLocked(db.path, os.O_RDWR, db.options.Timeout)
	if errors.Is(err, fs.ErrNotExist) {
		return db.lost(damaged("it was moved or removed"))
	}
	if err != nil {
		return db.lost(err)
	}
	l, err := db.prove(f)
	if err != nil {
		f.Close()
		return db.lost(err)
	}
	o, err := openBolt(f, db.options.MaxBytes)
	if err != nil {
		return db.lost(err)
	}
	db.renew(l)
	db.use(o, l.meta.txid)
	return nil
}

func (db *DB) prove(f *os.File) (loaded, error) {
	if db.disk.unsure {
		if err := f.Sync(); err != nil {
			return loaded{}, err
		}
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
	l, err := loadFile(f, db.options.Bot)
	switch at := db.disk.txid; {
	case err != nil:
		return l, err
	case l.doubtful:
		return l, damaged("one of its first two pages is bad")
	case at == 0, l.meta.txid == at, db.disk.unsure && l.meta.txid == at+1:
		return l, nil
	}
	return l, damaged("another program wrote to it")
}

// use takes on an open file.
func (db *DB) use(o *file, txid uint64) {
	o.txid = txid
	db.disk.file, db.disk.condition, db.disk.txid = o, usable, txid
	db.disk.unsure, db.disk.doubts = false, nil
	db.stir()
}

// renew makes the book what the file says, and remembers whose steps happened
// although they were told they hadn't.
func (db *DB) renew(l loaded) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.complete && l.meta.txid == db.disk.txid {
		return
	}
	old := db.book
	db.book, db.complete, db.disk.others = l.book, true, l.others
	db.book.left = old.left
	for _, s := range db.disk.doubts {
		delete(old.left, s.mark)
		if state, ok := db.book.state(s.mark); ok && reached(s, state) {
			db.book.left[s.mark] = s.kind
		}
	}
	for room := range old.moved {
		if ts, ok := old.rooms[room]; ok {
			db.book.advance(room, ts)
		}
	}
}

// reached says whether a question in this state has had step s as its last.
func reached(s *step, state State) bool {
	switch s.kind {
	case claim:
		return state == Claimed
	case give:
		return state == Given
	case answer:
		return state == Answered || state == Done && len(s.parts) == 0
	}
	return false
}

// Repair ends damage: what is at the path is moved aside, and a file is
// begun that holds all that this process knows, so that nothing is forgotten.
// Where the damage lies deeper (the folder is gone, the disk is full) it says
// so, and may be called again. On a store that isn't damaged it tries what the
// next step would.
func (db *DB) Repair(ctx context.Context) error {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	db.mu.Lock()
	closed := db.closed
	db.mu.Unlock()
	if closed {
		return ErrClosed
	}
	err := db.ready()
	if db.disk.condition == broken {
		err = db.repair()
	}
	if err == nil {
		db.troubled(nil)
	}
	return err
}

// repair moves a broken file aside and makes another. The caller holds disk.mu.
func (db *DB) repair() error {
	_ = db.disk.close()
	f, err := openLocked(db.path, os.O_RDWR, db.options.Timeout)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(db.path)); err != nil {
			return fmt.Errorf("begin a state file: %w: %w", ErrReadOnly, err)
		}
		db.disk.condition = absent
		return db.make()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", db.path, diskError(err))
	}
	return db.setAside(f, db.Trouble())
}

// setAside moves a damaged file, whose lock f holds, out of the way and makes
// another from the book.
func (db *DB) setAside(f *os.File, why error) error {
	defer f.Close()
	db.disk.condition = broken
	db.troubled(why)
	name, err := moveAside(db.path, db.options.Now())
	if err != nil {
		return fmt.Errorf("%w: and it can't be moved aside: %w", why, err)
	}
	db.options.Log.Error("a damaged state file was moved aside", "file", db.path, "to", name, "err", why)
	db.mu.Lock()
	db.quarantined, db.trouble = name, nil
	db.mu.Unlock()
	db.disk.condition = absent
	return db.make()
}

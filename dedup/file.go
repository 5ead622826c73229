package dedup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// maxFile bounds what is read as a state file at all.
const maxFile = 1 << 30

// A file is an open, proven state file that this process holds the lock of.
// Whoever holds DB.disk may use it; it is never used by two goroutines at once,
// so that bbolt's own locks are never waited for.
type file struct {
	path string
	f    *os.File // holds the lock
	max  int      // bytes it may have
	bolt *bolt.DB // nil at rest
	left stamp    // what the file looked like when we last let go of it
	txid uint64
	// stuck says that bbolt panicked where it holds its locks, and can't even
	// be closed.
	stuck bool
}

// A stamp tells whether a file is the same, and whether somebody wrote to it.
type stamp struct {
	dev, ino uint64
	size     int64
	mtime    unix.Timespec
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim}
}

// errTouched: the file was written to by somebody else, or seems so.
var errTouched = errors.New("the state file was touched")

// openLocked opens the regular file at path and takes its lock, waiting for it
// up to timeout. It is never created here.
func openLocked(path string, flags int, timeout time.Duration) (*os.File, error) {
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		err = lock(f, timeout)
		if err == nil {
			return f, nil
		}
		f.Close()
		if !errors.Is(err, errReplaced) || tries == 3 {
			return nil, err
		}
	}
}

// errReplaced: who held the lock has put another file in this one's place.
var errReplaced = fmt.Errorf("%w: it was just replaced", ErrLocked)

var errIrregular = errors.New("not a regular file")

// irregular says that something else than a file lies at the path.
func irregular(err error) bool {
	return errors.Is(err, errIrregular) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENXIO)
}

func lock(f *os.File, timeout time.Duration) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", f.Name(), errIrregular)
	}
	for until := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s: %w", f.Name(), ErrLocked)
		}
	}
	var held, there unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &held); err != nil {
		return err
	}
	if err := unix.Lstat(f.Name(), &there); err != nil || held.Ino != there.Ino || held.Dev != there.Dev {
		return fmt.Errorf("%s: %w", f.Name(), errReplaced)
	}
	return nil
}

// A loaded is what was read from a file.
type loaded struct {
	book   *book
	others map[string]day
	meta   meta
	// doubtful says that one of the file's two beginnings is bad: the last
	// transaction may be missing.
	doubtful bool
	free     int // pages that hold nothing
}

// loadFile is load for a file whose lock the caller holds.
func loadFile(f *os.File, bot string) (loaded, error) {
	info, err := f.Stat()
	if err != nil {
		return loaded{}, err
	}
	return load(f, info.Size(), bot)
}

// load proves what is in a file, and reads it.
func load(r io.ReaderAt, size int64, bot string) (loaded, error) {
	if size > maxFile {
		return loaded{}, damaged("%d bytes are more than it can have", size)
	}
	m, both, err := readMeta(r, size)
	if err != nil {
		return loaded{}, err
	}
	l := newLoader(bot)
	free, err := walk(r, m, l)
	if err != nil {
		return loaded{}, err
	}
	b, err := l.finish()
	return loaded{book: b, others: l.others, meta: m, doubtful: !both, free: free}, err
}

// openBolt hands a proven, locked file to bbolt. f is closed if that fails.
func openBolt(f *os.File, maxBytes int64) (*file, error) {
	o := &file{path: f.Name(), f: f, max: int(maxBytes)}
	err := o.wake()
	if err == nil {
		err = o.look()
	}
	if err != nil {
		_ = o.close()
		return nil, err
	}
	return o, nil
}

// wake gives the file to bbolt, unless it has it. What bbolt gets is a
// descriptor of its own for the same open file, which the lock belongs to.
func (o *file) wake() error {
	if o.bolt != nil {
		return nil
	}
	fd, err := unix.FcntlInt(o.f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "dup", Path: o.path, Err: err}
	}
	f := os.NewFile(uintptr(fd), o.path)
	o.stuck = true
	err = guarded(func() (err error) {
		o.bolt, err = bolt.Open(o.path, 0o600, &bolt.Options{
			Timeout:      time.Second,
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			MaxSize:      o.max,
			OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		return err
	})
	if err != nil {
		f.Close() // if bbolt hasn't
		return err
	}
	o.stuck = false
	return nil
}

// rest takes the file from bbolt. bbolt gives the lock back as it closes, so it
// is taken anew; whoever was quicker has it, and then the file is not ours to
// use.
func (o *file) rest() error {
	if o.bolt == nil || o.stuck {
		return nil
	}
	o.stuck = true
	if err := guarded(o.bolt.Close); err != nil {
		return err
	}
	o.bolt, o.stuck = nil, false
	return unix.Flock(int(o.f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// look takes the stamp of the file as it is now.
func (o *file) look() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(o.f.Fd()), &st); err != nil {
		return err
	}
	o.left = stampOf(&st)
	return nil
}

// check says whether the file is still the one at its path, as we left it. It
// costs one system call, and is asked before each commit: what somebody else
// wrote must not be built on, and a file that was moved away must not be
// written to while another is begun in its place.
func (o *file) check() error {
	var st unix.Stat_t
	err := unix.Lstat(o.path, &st)
	now := stampOf(&st)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return damaged("it was moved or removed")
	case err != nil:
		return &fs.PathError{Op: "stat", Path: o.path, Err: err}
	case now.dev != o.left.dev || now.ino != o.left.ino:
		return damaged("another file was put in its place")
	case now != o.left:
		return errTouched
	}
	return nil
}

// commit writes a draft. On any error the file has to be closed and proven
// again before it is used: a transaction that failed at its last sync may be
// there or not.
func (o *file) commit(bot string, d *draft, gone []string) error {
	err := guarded(func() (err error) {
		o.stuck = true
		tx, err := o.bolt.Begin(true)
		if err != nil {
			o.stuck = false
			return err
		}
		// After a commit this does nothing; after a panic it frees the locks.
		defer func() {
			_ = tx.Rollback()
			o.stuck = false
		}()
		if err := write(tx, bot, d, gone); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err != nil {
		return err
	}
	o.txid++
	return o.look()
}

// close gives the file and its lock back. When bbolt is stuck its mapping
// stays until the process ends; nothing reads it, but it would keep the lock.
func (o *file) close() error {
	var err error
	if o.bolt != nil && !o.stuck {
		o.stuck = true
		err = guarded(o.bolt.Close)
	}
	_ = unix.Flock(int(o.f.Fd()), unix.LOCK_UN)
	return errors.Join(err, o.f.Close())
}

// guarded runs what touches mapped pages. A fault in them (the file was
// truncated, the disk can't be read) and whatever bbolt panics with become an
// error; otherwise either ends the process, and with it all its profiles.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damaged("%v", p)
		}
	}()
	return f()
}

// diskError says what an error of the disk means to a caller.
func diskError(err error) error {
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrLocked), errors.Is(err, ErrNewer):
		return err
	case errors.Is(err, bolterrors.ErrMaxSizeReached):
		return fmt.Errorf("%w: %w", ErrReadOnly, ErrFull)
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrLocked
	}
	return fmt.Errorf("%w: %w", ErrReadOnly, err)
}

// syncFolder makes the names in a file's folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	// Some file systems can't, and then need not.
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

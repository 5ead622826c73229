package dedup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// newInfix marks a file that is being made. One is left behind when the
// process ends in the middle; whoever has the lock of the real file may remove
// it.
const newInfix = ".new-"

// create makes a state file at path that holds what a draft holds. It is made beside it,
// closed, and renamed: a file whose first pages were cut short by a power loss
// is never found at path. With replace it takes the place of the file that is
// there, whose lock the caller holds; otherwise that there is one is an error
// (fs.ErrExist).
func create(path, bot string, d *draft, replace bool) error {
	temp := path + newInfix + rand.Text()[:8]
	defer os.Remove(temp)
	if err := fill(temp, bot, d); err != nil {
		return err
	}
	var err error
	if replace {
		err = os.Rename(temp, path)
	} else {
		err = renameNew(temp, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(path)
}

// fill writes a draft into a new file. The only sync is the last.
func fill(temp, bot string, d *draft) error {
	return guarded(func() error {
		db, err := bolt.Open(temp, 0o600, &bolt.Options{
			Timeout:      time.Second,
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			NoSync:       true,
			OpenFile: func(name string, _ int, mode os.FileMode) (*os.File, error) {
				return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
			},
		})
		if err != nil {
			return err
		}
		defer db.Close()
		if err := db.Update(func(tx *bolt.Tx) error { return write(tx, bot, d, nil) }); err != nil {
			return err
		}
		return db.Sync()
	})
}

// everything is a book as a draft over nothing.
func everything(b *book) *draft {
	d := newDraft(newBook(), time.Time{})
	for slot, marks := range b.slots {
		for m := range marks {
			d.marks[m] = slot
		}
	}
	maps.Copy(d.open, b.open)
	maps.Copy(d.rooms, b.rooms)
	return d
}

// renameNew renames without taking anything's place.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { // a file system that can't
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: unix.EEXIST}
		}
		return os.Rename(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// sweep removes files that were being made when a process ended. The caller
// holds the lock of path.
func sweep(path string) {
	for _, name := range beside(path, newInfix) {
		os.Remove(name)
	}
}

// beside lists regular files whose name is path's and infix and more, in the
// order of their names.
func beside(path, infix string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), filepath.Base(path)+infix) {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found
}

// A damaged file is kept for whoever wants to know why, the newest three.
const (
	corruptInfix = ".corrupt-"
	keepCorrupt  = 3
)

// moveAside renames a damaged file, whose lock the caller holds, and returns
// its new name.
func moveAside(path string, now time.Time) (string, error) {
	base := path + corruptInfix + now.UTC().Format("20060102T150405Z")
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		err := renameNew(path, name)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		if err != nil {
			return "", err
		}
		old := slices.DeleteFunc(beside(path, corruptInfix), func(n string) bool { return n == name })
		for len(old) >= keepCorrupt {
			os.Remove(old[0])
			old = old[1:]
		}
		return name, syncFolder(path)
	}
}

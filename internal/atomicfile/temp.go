package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Prefix and Suffix are how the names of temporary files begin and end; a
// watcher of a folder ignores them by [IsTemp].
const (
	Prefix = ".rcsupervisor-"
	Suffix = ".tmp"
)

// IsTemp reports whether name is that of one of our temporary files.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, Prefix) && strings.HasSuffix(name, Suffix)
}

// createTemp makes a new temporary file and locks it. The lock says that its
// writer lives; the kernel drops it with the writer, so a sweep needs neither
// process ids nor ages to tell a leftover from work in progress.
func createTemp(root *os.Root) (string, *os.File, error) {
	const attempts = 100
	for range attempts {
		name := Prefix + rand.Text() + Suffix
		var f *os.File
		err := step(BeforeCreate, func() (err error) {
			f, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if held(f) {
			return name, f, nil
		}
		// A sweep was quicker between the creation and the lock, and removes it.
		f.Close()
	}
	return "", nil, errors.New("no temporary file could be kept")
}

// held locks f and reports whether it is still in its folder.
func held(f *os.File) bool {
	if !lock(f) {
		return false
	}
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 0
}

func lock(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err == nil
		}
	}
}

// maxSwept bounds how many names of a folder a sweep looks at: the folder may
// be a tenant's, who may fill it.
const maxSwept = 10_000

// Sweep removes the temporary files that killed writers left in root and
// returns how many they were. Those of living writers, in this or any other
// process, stay. It may run at any time; every writer begins with one.
func Sweep(root *os.Root) (int, error) {
	names, err := tempNames(root)
	if err != nil {
		return 0, err
	}
	var removed int
	var errs []error
	for _, name := range names {
		ok, err := sweepOne(root, name)
		if ok {
			removed++
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// tempNames are the names of temporary files among the first of a folder.
func tempNames(root *os.Root) (temps []string, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for seen := 0; seen < maxSwept; {
		names, err := d.Readdirnames(512)
		for _, name := range names {
			if IsTemp(name) {
				temps = append(temps, name)
			}
		}
		if seen += len(names); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return temps, err
		}
	}
	return temps, nil
}

func sweepOne(root *os.Root, name string) (bool, error) {
	f, err := Open(root, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRegular) {
		return false, nil // another sweep was here, or it isn't ours
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !lock(f) {
		return false, nil
	}
	err = root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its writer finished between our open and our lock
	}
	return err == nil, err
}

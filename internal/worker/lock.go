package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// LockFile is the file in a home's state folder that whoever runs the home, or
// changes its files without a supervisor, holds locked. What it holds means
// nothing: a lock ends with its holder, a file would not.
const LockFile = "lock"

// What keeps a home from being locked.
var (
	ErrBusy = errors.New("in use by another process")
	ErrHome = errors.New("can't be used as a home")
)

// A HomeLock keeps a home for this process until it is closed, or the process
// ends.
type HomeLock struct{ file *os.File }

// Close gives the home back at once. A child that is being started holds the
// descriptor for a moment too, so closing it alone would leave the home busy
// until that child is another program.
func (l *HomeLock) Close() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}

// Lock takes a home's lock as the home's owner, or fails with [ErrBusy] at
// once. The state folder is made if it is missing; the home and its
// rocketchat/ are not.
func Lock(home string) (*HomeLock, error) {
	dir, err := ownerfs.Open(home)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHome, err)
	}
	defer dir.Close()
	ours, err := dir.Sub(profile.Folder)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHome, err)
	}
	defer ours.Close()
	state, err := ours.Sub(profile.StateFolder)
	if errors.Is(err, fs.ErrNotExist) {
		if err := ours.Mkdir(profile.StateFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the state folder: %w", err)
		}
		state, err = ours.Sub(profile.StateFolder)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHome, err)
	}
	defer state.Close()
	var file *os.File
	err = state.Do(func(root *os.Root) (err error) {
		file, err = root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Join(state.Path(), LockFile), err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, fmt.Errorf("%w: %s is no regular file", ErrHome, filepath.Join(state.Path(), LockFile))
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		file.Close()
		return nil, fmt.Errorf("%s is %w", home, ErrBusy)
	case err != nil:
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", filepath.Join(state.Path(), LockFile), err)
	}
	return &HomeLock{file}, nil
}

// isPassing reports whether an error of the disk or of the system's tables may
// be gone at the next try, though no file of the profile changes.
func isPassing(err error) bool {
	for _, e := range []error{unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EROFS, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ESTALE, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

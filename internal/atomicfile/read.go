package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrTooLarge is returned by [Read] for a file beyond its bound.
var ErrTooLarge = errors.New("file is too large")

// Read returns the whole of name in root, at most limit bytes. Links, FIFOs and
// devices are refused with [ErrNotRegular], without waiting for a writer.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w (at most %d bytes)", name, ErrTooLarge, limit)
	}
	return data, nil
}

// Open opens name in root for reading if it is a regular file and no link;
// anything else is [ErrNotRegular]. It never waits for a writer. Beside
// writers that replace the file it gives one whole version of it, however
// often they do.
//
// [os.Root] follows links inside the root whatever the flags, so the folder is
// asked itself: one look at the name, by the kernel, with nothing to compare.
func Open(root *os.Root, name string) (*os.File, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() { // a device may act on being opened
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	fd, err := openNoFollow(int(d.Fd()), name)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func openNoFollow(dir int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrTooLarge is returned by [Read] for a file beyond its bound.
var ErrTooLarge = errors.New("file is too large")

// Read returns the whole of name in root, at most limit bytes. Links, FIFOs and
// devices are refused with [ErrNotRegular], without waiting for a writer.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	if err := plainName(name); err != nil {
		return nil, err
	}
	f, err := openRegular(root, name)
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

// openRegular opens name for reading if it is a regular file and no link.
// [os.Root] follows links inside the root whatever the flags, so the file that
// was opened is compared with the name itself.
func openRegular(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if os.SameFile(before, opened) {
		return f, nil
	}
	// A replacement between the two looks is a newer version of the file, and
	// as good; a link or a FIFO is not.
	now, err := root.Lstat(name)
	if err == nil && opened.Mode().IsRegular() && os.SameFile(now, opened) {
		return f, nil
	}
	f.Close()
	return nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
}

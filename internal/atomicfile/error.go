package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A WriteError is a file that could not be written. The file that was there is
// as it was, unless it is [ErrNotDurable].
type WriteError struct {
	Path string
	Err  error // without the temporary file's name, which nobody can do anything with
}

func (e *WriteError) Error() string { return "write " + filepath.Base(e.Path) + ": " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// Hint returns what mends it.
func (e *WriteError) Hint() string { return Mend(filepath.Dir(e.Path), e.Err) }

// writeError is an error about name in root, nil for none.
func writeError(root *os.Root, name string, err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{Path: filepath.Join(root.Name(), name), Err: bare(err)}
}

// bare is err without the path that the system was asked for.
func bare(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	if e, ok := err.(*os.LinkError); ok {
		return e.Err
	}
	return err
}

// Mend is what helps where a folder can't be written to, or what to look at
// where that can't be said.
func Mend(folder string, err error) string {
	if strings.ContainsAny(folder, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
		folder = "'" + strings.ReplaceAll(folder, "'", `'\''`) + "'"
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "df -h " + folder + ", and free some of it"
	case errors.Is(err, syscall.EROFS):
		return "findmnt -T " + folder + ", and mount it to be written to"
	case errors.Is(err, syscall.EBUSY): // a mount can't be replaced
		return "mount the folder " + folder + " instead of a file in it"
	case errors.Is(err, fs.ErrPermission):
		return "chmod u+rwx " + folder
	}
	return "ls -la " + folder
}

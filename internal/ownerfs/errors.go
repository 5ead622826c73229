package ownerfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"rcsupervisor/internal/atomicfile"
)

// What can be wrong with a folder or a file in it. Errors of this package
// match these, [fs.ErrNotExist] or [fs.ErrPermission] by [errors.Is].
var (
	ErrForeign     = errors.New("belongs to another user")
	ErrWritable    = errors.New("others may write to it")
	ErrLink        = errors.New("is a symbolic link")
	ErrHardLink    = errors.New("has more than one name (hard links)")
	ErrNotRegular  = errors.New("is no regular file")
	ErrNotFolder   = errors.New("is no folder")
	ErrTooLarge    = errors.New("is too large")
	ErrTooMany     = errors.New("holds too many entries")
	ErrChanging    = errors.New("changed while it was looked at")
	ErrCredentials = errors.New("this process can't act as another user")
)

// An Error says what is wrong with which file, and what mends it.
type Error struct {
	Path   string // absolute
	Err    error
	Detail string // "" or what was found, such as "a FIFO"
	Try    string // "" or a command
}

func (e *Error) Error() string {
	s := show(e.Path) + ": " + e.Err.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// wrap names path in place of what a lower layer called it.
func wrap(path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	try := ""
	if we, ok := err.(*atomicfile.WriteError); ok {
		err, try = we.Err, atomicfile.Mend(filepath.Dir(path), we.Err)
	}
	for {
		if pe, ok := err.(*fs.PathError); ok {
			err = pe.Err
			continue
		}
		return &Error{Path: path, Err: err, Try: try}
	}
}

// show is a path for a terminal. Its owner chose the names in it.
func show(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 }) || path == "" {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// Quote makes path one word of a shell command.
func Quote(path string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+:,@", c)
	}
	if path != "" && !strings.ContainsFunc(path, func(c rune) bool { return !plain(c) }) {
		return path
	}
	return "'" + strings.ReplaceAll(show(path), "'", `'\''`) + "'"
}

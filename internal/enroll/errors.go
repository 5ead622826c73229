package enroll

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"rcsupervisor/internal/atomicfile"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// What a caller decides on.
var (
	ErrNoProfile = errors.New("no such profile")
	ErrNotYours  = errors.New("belongs to another user")
	ErrInUse     = errors.New("in use by another process")
	ErrUnlikely  = errors.New("can't be done as it was asked") // a mistake in what was asked: usage
)

// An Error says what can't be done and what mends it. It never holds a secret.
type Error struct {
	Text string
	Try  string // a command, or what to do
	Err  error  // what lies beneath; nil for none
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what mends it.
func (e *Error) Hint() string { return e.Try }

// noProfile is the error of a name that no home has.
func noProfile(name string) error {
	return &Error{Text: "no such profile: " + name, Try: "rcsupervisor status", Err: ErrNoProfile}
}

// unlikely is a mistake in what was asked.
func unlikely(try, format string, args ...any) error {
	return &Error{Text: fmt.Sprintf(format, args...), Try: try, Err: ErrUnlikely}
}

// A FieldError says which of the fields that were given is wrong, and how to
// make it right.
type FieldError struct {
	Field string // server, user id, token
	Text  string
	Try   string
	err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }
func (e *FieldError) Unwrap() error { return e.err }

// Hint returns what mends it.
func (e *FieldError) Hint() string { return e.Try }

func asField(err error) (*FieldError, bool) { return errors.AsType[*FieldError](err) }

// Hint is what an error itself says mends it, "" for nothing.
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	if f, ok := errors.AsType[*profile.Fault](err); ok && f.Try != "" {
		return f.Try
	}
	if f, ok := errors.AsType[*profile.FileError](err); ok {
		return "edit " + ownerfs.Quote(f.File)
	}
	if e, ok := errors.AsType[*ownerfs.Error](err); ok {
		if e.Try == "" {
			return "ls -ld " + ownerfs.Quote(e.Path)
		}
		return e.Try
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && unwritable(e) {
		return atomicfile.Mend(filepath.Dir(e.Path), err)
	}
	return ""
}

// unwritable tells what could not be made or written from what could not be
// read.
func unwritable(e *fs.PathError) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if errors.Is(e, full) {
			return true
		}
	}
	return strings.HasPrefix(e.Op, "mkdir") && errors.Is(e, fs.ErrPermission)
}

package sealed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"rcsupervisor/internal/atomicfile"
)

// maxKeyFile bounds identity and recipients files. Thirty-two hybrid
// recipients with comments take two thirds of it.
const maxKeyFile = 128 << 10

// trust says what a key file must be like.
type trust struct {
	kind    error // of the errors
	what    string
	denied  fs.FileMode // permission bits the file must not have
	fixMode string      // what chmod is told
}

var (
	privateFile = trust{kind: ErrIdentity, what: "identity", denied: 0o077, fixMode: "600"}
	// systemd lets a unit's user read a credential by an ACL, whose mask shows
	// as the group's permission; the folder is the unit's alone.
	credentialFile = trust{kind: ErrIdentity, what: "credential", denied: 0o037, fixMode: "400"}
	publicFile     = trust{kind: ErrRecipients, what: "recipients", denied: 0o022, fixMode: "644"}
)

// read returns the file, after looking at the file that was opened: regular,
// no link, owned by us or by root, closed to others as t says, in a folder
// that others can't write to. Higher folders aren't looked at: whoever moves
// them can only offer us another private file of our own.
func (t trust) read(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, t.openError(path, err)
	}
	defer root.Close()
	if err := t.checkFolder(root, path); err != nil {
		return nil, err
	}
	f, err := t.open(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, t.openError(path, err)
	}
	if len(data) > maxKeyFile {
		return nil, t.refuse(path, "name an identity or recipients file", "has more than %d bytes", maxKeyFile)
	}
	return data, nil
}

func (t trust) refuse(path, try, format string, args ...any) error {
	return &Error{Kind: t.kind, Text: fmt.Sprintf("%s %s ", t.what, path) + fmt.Sprintf(format, args...), Try: try}
}

func (t trust) checkFolder(root *os.Root, path string) error {
	fi, err := root.Stat(".")
	switch {
	case err != nil:
		return t.openError(path, err)
	case fi.Mode()&0o022 != 0:
		return t.refuse(path, "chmod go-w "+filepath.Dir(path), "lies in a folder that others can write to (mode %04o)", fi.Mode().Perm())
	case !ours(fi):
		return t.refuse(path, "move it into a folder of your own", "lies in a folder of another user (uid %d)", uid(fi))
	}
	return nil
}

// open opens the file if it is one to be trusted.
func (t trust) open(root *os.Root, path string) (*os.File, error) {
	name := filepath.Base(path)
	f, err := atomicfile.Open(root, name)
	if errors.Is(err, atomicfile.ErrNotRegular) {
		if fi, statErr := root.Lstat(name); statErr == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return nil, t.refuse(path, "name the file it points to", "is a symbolic link")
		}
		return nil, t.refuse(path, "name a regular file", "is no regular file")
	}
	if err != nil {
		return nil, t.openError(path, err)
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
		err = t.openError(path, err)
	case !ours(fi):
		err = t.refuse(path, fmt.Sprintf("chown %d %s", os.Geteuid(), path), "belongs to another user (uid %d)", uid(fi))
	case fi.Mode()&t.denied != 0:
		err = t.refuse(path, "chmod "+t.fixMode+" "+path, "is open to others (mode %04o)", fi.Mode().Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openError keeps [fs.ErrNotExist] and its kin visible.
func (t trust) openError(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return &Error{Kind: t.kind, Text: t.what + " " + path, Try: "rcsupervisor init, or name another file with --identity", Err: err}
}

func uid(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// ours reports files of this process's user or of root, who could read and
// write all of the user's anyway.
func ours(fi fs.FileInfo) bool {
	u := uid(fi)
	return u == 0 || u == os.Geteuid()
}

// looksLikeKey reports a secret key where the name of a file was expected.
func looksLikeKey(path string) bool {
	return strings.Contains(strings.ToUpper(path), "AGE-SECRET-KEY-")
}

package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is returned for a name that is there but is no regular file:
// a link, a folder, a device. Replacing a link would quietly cut it.
var ErrNotRegular = errors.New("not a regular file")

// ErrDiffers is returned when what was read back is not what was written.
var ErrDiffers = errors.New("what was read back is not what was written")

// ErrNotDurable is returned when the new file is in place, whole, but the
// folder could not be synced: a power cut may still bring the old one back.
var ErrNotDurable = errors.New("replaced, but the folder could not be synced")

// Verify is shown what was read back from the temporary file, before it takes
// the old file's place. An error of it keeps the old file. It must not keep
// the slice.
type Verify func(written []byte) error

// Replace makes name in root hold data with mode perm, whole or not at all.
// name is a plain name without a folder. verify may be nil; that the bytes
// read back are the bytes written is checked in any case.
//
// On an error the old file is as it was and the temporary file is gone, with
// the one exception of [ErrNotDurable].
func Replace(root *os.Root, name string, data []byte, perm fs.FileMode, verify Verify) error {
	return put(root, name, data, perm, verify, root.Rename)
}

// Create is [Replace] for a name that must not exist yet. When it does, the
// error is [fs.ErrExist] and nothing has changed, also when two processes
// create it at once.
func Create(root *os.Root, name string, data []byte, perm fs.FileMode, verify Verify) error {
	return put(root, name, data, perm, verify, func(temp, name string) error {
		return renameNew(root, temp, name)
	})
}

// renameNew renames within root and fails with [fs.ErrExist] where name is
// taken. File systems that can't do that in one act get a second link, whose
// first one is removed; a crash between the two is for [Sweep].
func renameNew(root *os.Root, temp, name string) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = unix.Renameat2(int(d.Fd()), temp, int(d.Fd()), name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		if err := root.Link(temp, name); err != nil {
			return err
		}
		return root.Remove(temp)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: temp, New: name, Err: err}
	}
	return nil
}

// ReplacePath is [Replace] for the last element of path, inside the folder
// that the rest of it names.
func ReplacePath(path string, data []byte, perm fs.FileMode, verify Verify) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, filepath.Base(path), data, perm, verify)
}

// put writes data to a temporary file and has place move it to name.
func put(root *os.Root, name string, data []byte, perm fs.FileMode, verify Verify, place func(temp, name string) error) error {
	if err := replaceable(root, name); err != nil {
		return err
	}
	// What killed writers left here may be as secret as what they wrote. That it
	// can't be removed keeps nobody from writing.
	_, _ = Sweep(root)
	temp, f, err := createTemp(root)
	if err != nil {
		return writeError(root, name, err)
	}
	// The lock that createTemp took lasts until here: a sweep sees that the
	// temporary file has a writer.
	defer f.Close()
	if err = fill(f, data, perm, verify); err == nil {
		err = step(BeforeRename, func() error { return place(temp, name) })
	}
	if err != nil {
		if rm := root.Remove(temp); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
		return writeError(root, name, err)
	}
	if err := step(BeforeSyncDir, func() error { return syncDir(root) }); err != nil {
		return writeError(root, name, fmt.Errorf("%w: %w", ErrNotDurable, err))
	}
	return step(Done, nil)
}

// fill writes, syncs and checks the temporary file.
func fill(f *os.File, data []byte, perm fs.FileMode, verify Verify) error {
	err := step(BeforeWrite, func() error {
		// The mode given to open was cut by the umask.
		if err := f.Chmod(perm); err != nil {
			return err
		}
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := step(BeforeSync, f.Sync); err != nil {
		return err
	}
	return step(BeforeVerify, func() error {
		written, err := io.ReadAll(io.NewSectionReader(f, 0, int64(len(data))+1))
		if err != nil {
			return err
		}
		if !bytes.Equal(written, data) {
			return ErrDiffers
		}
		if verify == nil {
			return nil
		}
		return verify(written)
	})
}

// replaceable refuses names with a folder in them, names of our own temporary
// files, and whatever is there but no regular file.
func replaceable(root *os.Root, name string) error {
	if err := plainName(name); err != nil {
		return err
	}
	if IsTemp(name) {
		return fmt.Errorf("%q is the name of a temporary file", name)
	}
	fi, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	return nil
}

func plainName(name string) error {
	if name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("%q is not a plain file name", name)
	}
	return nil
}

// syncDir makes a rename durable. Some network file systems have no sync for
// folders and say so; there is nothing more to do about it then.
func syncDir(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

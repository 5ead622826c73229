package ownerfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"rcsupervisor/internal/atomicfile"
)

// A Dir is a folder that was entered as its owner. It stays the same folder
// when its path is moved or taken by another. Its methods may be called from
// any goroutine; names are those of entries, without a folder.
type Dir struct {
	path  string
	owner Owner
	info  Info
	root  *os.Root
}

// Open enters the folder at path as its owner: for an ordinary user himself,
// for root whoever owns it. It refuses a link, and a folder that others may
// write to.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	fd, _, err := walk(abs, false)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), abs)
	defer f.Close()
	return enter(f, abs, nil)
}

// enter makes a Dir of a descriptor. within is the owner it must have, nil for
// any that is allowed at all.
func enter(f *os.File, path string, within *Owner) (*Dir, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, wrap(path, err)
	}
	info, err := infoOf(fi)
	if err != nil {
		return nil, wrap(path, err)
	}
	if err := checkFolder(path, info); err != nil {
		return nil, err
	}
	owner := OwnerOf(info.Owner)
	switch {
	case within != nil && owner.UID != within.UID:
		return nil, foreign(path, info.Owner, within.UID)
	case !owner.self() && os.Geteuid() != 0:
		return nil, foreign(path, info.Owner, os.Geteuid())
	}
	// Through /proc the very folder that was looked at is opened, with the
	// owner's rights, and without his rights on the way to it.
	var root *os.Root
	err = As(owner, func() (err error) {
		root, err = os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
		return err
	})
	if err != nil {
		return nil, wrap(path, err)
	}
	return &Dir{path: path, owner: owner, info: info, root: root}, nil
}

func foreign(path string, is, want int) error {
	return &Error{
		Path: path, Err: ErrForeign, Detail: fmt.Sprintf("uid %d, not %d", is, want),
		Try: fmt.Sprintf("chown -R %d %s", want, Quote(path)),
	}
}

// Close leaves the folder.
func (d *Dir) Close() error { return d.root.Close() }

// Path is where the folder was when it was opened, absolute.
func (d *Dir) Path() string { return d.path }

// Owner is whom the folder was entered as.
func (d *Dir) Owner() Owner { return d.owner }

// Info is what was seen of the folder when it was opened.
func (d *Dir) Info() Info { return d.info }

// Do calls f with the folder and its owner's rights; see [As].
func (d *Dir) Do(f func(*os.Root) error) error {
	return As(d.owner, func() error { return f(d.root) })
}

// in is Do for one name, with its errors named.
func (d *Dir) in(name string, f func(*os.Root) error) error {
	if name == "." || name == ".." || strings.ContainsRune(name, '/') || name == "" || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q is not a plain name", name)
	}
	return wrap(filepath.Join(d.path, name), d.Do(f))
}

// Sub enters a folder in this one. It must have the same owner.
func (d *Dir) Sub(name string) (*Dir, error) {
	path := filepath.Join(d.path, name)
	var f *os.File
	err := d.in(name, func(root *os.Root) (err error) {
		info, err := lstat(root, name)
		if err != nil {
			return err
		}
		if err := checkFolder(path, info); err != nil {
			return err
		}
		// The flags keep a FIFO that took its place from being waited for.
		f, err = root.OpenFile(name, syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		return sameAs(f, info)
	})
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return nil, wrap(path, err)
	}
	return enter(f, path, &d.owner)
}

func sameAs(f *os.File, i Info) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := infoOf(fi)
	if err != nil {
		return err
	}
	if now.ID != i.ID {
		return ErrChanging
	}
	return nil
}

func lstat(root *os.Root, name string) (Info, error) {
	fi, err := root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi)
}

// Stat tells what name is, links not followed.
func (d *Dir) Stat(name string) (i Info, err error) {
	err = d.in(name, func(root *os.Root) (err error) {
		i, err = lstat(root, name)
		return err
	})
	return i, err
}

// ReadFile returns the whole of a regular file of the owner, at most limit
// bytes, and what was seen of it before it was read.
func (d *Dir) ReadFile(name string, limit int64) (data []byte, i Info, err error) {
	path := filepath.Join(d.path, name)
	err = d.in(name, func(root *os.Root) (err error) {
		// A file that is replaced between the look and the opening is looked at
		// again; one that changes each time is not what people write.
		const looks = 5
		for range looks {
			data, i, err = readOnce(root, name, path, d.owner, limit)
			if !errors.Is(err, ErrChanging) {
				return err
			}
		}
		return err
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Try == "" && errors.Is(err, fs.ErrPermission) {
		e.Try = "chmod u+r " + Quote(path)
	}
	if err != nil {
		return nil, Info{}, err
	}
	return data, i, nil
}

// ReadFollowing is ReadFile for a file that is somebody else's business: links
// are followed, and it may be anybody's whom the folder's owner may read. That
// is safe, for it is read with his rights alone; still it must be a regular
// file in the end, and it is never waited for.
func (d *Dir) ReadFollowing(name string, limit int64) (data []byte, err error) {
	path := filepath.Join(d.path, name)
	err = d.in(name, func(root *os.Root) error {
		dir, err := root.OpenFile(".", syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer dir.Close()
		f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/"+name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		if !fi.Mode().IsRegular() {
			return &Error{Path: path, Err: ErrNotRegular, Detail: "it is " + kind(fi.Mode())}
		}
		data, err = readAll(f, path, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &Error{Path: path, Err: ErrTooLarge, Detail: fmt.Sprintf("more than %d bytes", limit)}
	}
	return data, err
}

func readOnce(root *os.Root, name, path string, owner Owner, limit int64) ([]byte, Info, error) {
	i, err := lstat(root, name)
	if err != nil {
		return nil, i, err
	}
	if err := checkFile(path, i, owner, limit); err != nil {
		return nil, i, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, i, err
	}
	defer f.Close()
	// An os.Root follows links inside itself: what was opened is compared with
	// what stands at the name.
	if err := sameAs(f, i); err != nil {
		return nil, i, err
	}
	data, err := readAll(f, path, limit)
	return data, i, err
}

// ReplaceFile makes name hold data, whole or not at all: see
// [atomicfile.Replace]. The file is the owner's.
func (d *Dir) ReplaceFile(name string, data []byte, perm fs.FileMode, verify atomicfile.Verify) error {
	return d.in(name, func(root *os.Root) error {
		return atomicfile.Replace(root, name, data, perm, verify)
	})
}

// Mkdir makes a folder of the owner's with exactly this mode.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	err := d.in(name, func(root *os.Root) error {
		if err := root.Mkdir(name, perm.Perm()&0o700); err != nil {
			return err
		}
		return root.Chmod(name, perm.Perm())
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Try == "" {
		e.Try = atomicfile.Mend(d.path, err)
	}
	return err
}

// An Entry is a name in a folder.
type Entry struct {
	Name string
	Dir  bool // a folder, and no link to one
	Link bool // a symbolic link
}

// List returns the entries by name. More than limit is [ErrTooMany]: a folder
// with so many is not what it was taken for.
func (d *Dir) List(limit int) ([]Entry, error) {
	var list []Entry
	err := d.Do(func(root *os.Root) error {
		f, err := root.OpenFile(".", syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		list, err = readEntries(f, d.path, limit)
		return err
	})
	return list, wrap(d.path, err)
}

// Gone reports whether the folder has been removed since it was opened.
func (d *Dir) Gone() (bool, error) {
	var gone bool
	err := d.Do(func(root *os.Root) error {
		f, err := root.OpenFile(".", syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return err
		}
		gone = st.Nlink == 0
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return gone, wrap(d.path, err)
}

package ownerfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Probe looks at a folder and at names in it without opening any of them for
// reading, and with the rights of the folder's owner where this process may
// have them. It enters what [Open] refuses too, so that what is wrong with a
// folder can be told from its not being there.
//
// A name may lie in a folder below ("a/b"); links are not followed. found has
// what is there, by name.
func Probe(path string, names ...string) (folder Info, found map[string]Info, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Info{}, nil, err
	}
	f, folder, err := look(abs)
	if err != nil {
		return Info{}, nil, err
	}
	defer f.Close()
	found = make(map[string]Info, len(names))
	err = As(reader(folder.Owner), func() error {
		for _, name := range names {
			i, err := statBelow(int(f.Fd()), name)
			switch {
			case err == nil:
				found[name] = i
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP):
				return err
			}
		}
		return nil
	})
	return folder, found, wrap(abs, err)
}

// Entries lists a folder that need not be a home: it may be anybody's, and
// others may write to it. It is read with the rights of its owner where this
// process may have them. More than limit entries are [ErrTooMany].
func Entries(path string, limit int) (list []Entry, folder Info, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, Info{}, err
	}
	f, folder, err := look(abs)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	err = As(reader(folder.Owner), func() error {
		d, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer d.Close()
		list, err = readEntries(d, abs, limit)
		return err
	})
	return list, folder, wrap(abs, err)
}

// readEntries reads a folder's entries in the order of their names.
func readEntries(d *os.File, path string, limit int) ([]Entry, error) {
	entries, err := d.ReadDir(limit + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(entries) > limit {
		return nil, &Error{Path: path, Err: ErrTooMany, Detail: "more than " + strconv.Itoa(limit)}
	}
	list := make([]Entry, 0, len(entries))
	for _, e := range entries {
		list = append(list, Entry{Name: e.Name(), Dir: e.IsDir(), Link: e.Type()&fs.ModeSymlink != 0})
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// look finds the folder at path, links at the end not followed.
func look(path string) (*os.File, Info, error) {
	fd, _, err := walk(path, false)
	if err != nil {
		return nil, Info{}, err
	}
	f := os.NewFile(uintptr(fd), path)
	fi, err := f.Stat()
	if err == nil {
		var i Info
		if i, err = infoOf(fi); err == nil {
			e := checkFolder(path, i)
			if e == nil || errors.Is(e, ErrWritable) {
				return f, i, nil
			}
			err = e
		}
	}
	f.Close()
	return nil, Info{}, wrap(path, err)
}

// reader is whom a folder of uid's is looked at as.
func reader(uid int) Owner {
	if os.Geteuid() == 0 {
		return OwnerOf(uid)
	}
	return OwnerOf(os.Geteuid())
}

// statBelow is lstat of a name whose folders are no links either.
func statBelow(dir int, name string) (Info, error) {
	head, rest, more := strings.Cut(name, "/")
	fd, err := openat(dir, head)
	if err != nil {
		return Info{}, err
	}
	f := os.NewFile(uintptr(fd), head)
	defer f.Close()
	if more {
		return statBelow(fd, rest)
	}
	fi, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi)
}

// AsFolderOwner calls f with the rights of the owner of a folder where this
// process may have them, and else with its own; see [As].
func AsFolderOwner(uid int, f func() error) error { return As(reader(uid), f) }

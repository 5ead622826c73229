package enroll

import (
	"errors"
	"io/fs"
	"path/filepath"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// openHome enters a home as its owner.
func openHome(home string) (*ownerfs.Dir, error) { return ownerfs.Open(home) }

// ours enters what is ours in a home that is there.
func ours(home string) (*ownerfs.Dir, error) {
	dir, err := ownerfs.Open(home)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Sub(profile.Folder)
}

// open enters what is ours in a home, and makes what of it is missing, as the
// owner of the nearest folder that exists.
func open(home string) (*ownerfs.Dir, error) {
	dir, err := ensure(home, 0o755)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	ours, err := sub(dir, profile.Folder, 0o700)
	if err != nil {
		return nil, err
	}
	state, err := sub(ours, profile.StateFolder, 0o700)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, state.Close()
}

// ensure enters a folder by its path, made with all above it where missing.
func ensure(path string, perm fs.FileMode) (*ownerfs.Dir, error) {
	dir, err := ownerfs.Open(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return dir, err
	}
	above, err := ensure(filepath.Dir(path), perm)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	return sub(above, filepath.Base(path), perm)
}

// sub enters a folder of dir, made where missing.
func sub(dir *ownerfs.Dir, name string, perm fs.FileMode) (*ownerfs.Dir, error) {
	d, err := dir.Sub(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := dir.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return dir.Sub(name)
}

// maker is whose a home would be that is yet to be made: the owner's of the
// nearest folder that is there.
func maker(home string) (uid int, err error) {
	for {
		info, _, err := ownerfs.Probe(home)
		if err == nil {
			return info.Owner, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(home) == home {
			return 0, err
		}
		home = filepath.Dir(home)
	}
}

// A folder is an owner's folder as sealed wants it.
type folder struct{ dir *ownerfs.Dir }

var _ sealed.Folder = folder{}

func (f folder) ReadFile(name string, limit int64) ([]byte, error) {
	data, _, err := f.dir.ReadFile(name, limit)
	return data, err
}

func (f folder) ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error {
	return f.dir.ReplaceFile(name, data, perm, verify)
}

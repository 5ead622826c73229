package enroll

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// place is where the home of a name is or would be, and whose it is. Whoever
// isn't an operator is told of his own folders alone: what is another's, and
// what is nobody's, is no profile to him.
func (d *Desk) place(ctx context.Context, by Caller, name string) (profile.Place, int, error) {
	snap, err := d.Scan(ctx)
	if err != nil {
		return profile.Place{}, 0, err
	}
	var mine func(owner int) bool
	if !by.Operator {
		mine = func(owner int) bool { return owner == by.UID }
	}
	p, err := snap.Place(d.Sources, name, mine)
	if err != nil {
		return p, 0, noPlace(by, name, snap.Beginnings(mine), err)
	}
	owner := p.Owner
	if !p.Exists {
		if owner, err = maker(p.Dir); err != nil {
			return p, 0, err
		}
	}
	if err := by.may(name, owner); err != nil {
		return p, 0, noPlace(by, name, snap.Beginnings(mine), err)
	}
	return p, owner, d.wasHis(by, name)
}

// noPlace says where the caller's names can be instead.
func noPlace(by Caller, name string, beginnings []string, why error) error {
	example := "rcsupervisor add NAME --server URL"
	if i := slices.Index(beginnings, ""); i < 0 && len(beginnings) > 0 {
		example = "rcsupervisor add " + beginnings[0] + "-NAME --server URL"
	}
	switch {
	case by.Operator || !profile.ValidName(name):
		return unlikely(example, "%s", why.Error())
	case len(beginnings) == 0:
		return &Error{Text: "no such profile: " + name + ", and no folder here that could hold one is yours", Try: "sudo rcsupervisor add " + name + " --server URL", Err: ErrNoProfile}
	}
	return &Error{Text: "no such profile: " + name + ", and no folder of yours can hold it", Try: example, Err: ErrNoProfile}
}

// wasHis fails for a name that was another user's. What is remembered of it, to
// which bot it is bound and that it was suspended, is not for its folder's new
// owner to replace.
func (d *Desk) wasHis(by Caller, name string) error {
	e, known, err := d.Names.Entry(name)
	if err != nil || by.Operator || !known || e.Owner == by.UID {
		return err
	}
	return &Error{Text: "the profile " + name + " was another user's before", Try: "sudo rcsupervisor adopt " + name, Err: ErrNotYours}
}

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

package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"rcsupervisor/internal/ownerfs"
)

// WriteAccess applies edits to a home's access.yaml, as the home's owner, and
// returns what it says then. The file is replaced whole, after what was
// written was read back and says what it should; its mode stays. Without the
// file one is made; a home or its rocketchat/ that is gone is not.
//
// Two writers at once lose one's edit: the supervisor is the only one while it
// runs, and the home's lock keeps others out while it doesn't.
func WriteAccess(home string, edits ...Edit) (Access, error) {
	dir, err := ownerfs.Open(home)
	if err != nil {
		return Access{}, err
	}
	defer dir.Close()
	ours, err := dir.Sub(Folder)
	if err != nil {
		return Access{}, err
	}
	defer ours.Close()

	path := filepath.Join(ours.Path(), AccessFile)
	perm := fs.FileMode(0o600)
	old, info, err := ours.ReadFile(AccessFile, MaxFile)
	switch {
	case err == nil:
		perm = info.Mode.Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return Access{}, err
	}
	data, want, err := EditAccess(path, old, edits...)
	if err != nil {
		return Access{}, err
	}
	if len(data) > MaxFile {
		return Access{}, fmt.Errorf("%s: would be longer than %d bytes", path, MaxFile)
	}
	return want, ours.ReplaceFile(AccessFile, data, perm, func(written []byte) error {
		got, err := ParseAccess(path, written)
		if err == nil && !accessKeys.equal(&got, &want) {
			err = errors.New("what was written does not say what it should")
		}
		return err
	})
}

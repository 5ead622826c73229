package supervisor

import (
	"io/fs"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Tenant is one home on disk: its name, and where it lies.
type Tenant struct {
	Name string
	Path string
}

// Folder enters what is ours in the home, as the home's owner.
func (t Tenant) Folder() (*ownerfs.Dir, error) {
	home, err := ownerfs.Open(t.Path)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	return home.Sub(profile.Folder)
}

// Sealed is a home's folder as sealed wants it.
func Sealed(dir *ownerfs.Dir) sealed.Folder { return sealedFolder{dir} }

type sealedFolder struct{ dir *ownerfs.Dir }

func (f sealedFolder) ReadFile(name string, limit int64) ([]byte, error) {
	data, _, err := f.dir.ReadFile(name, limit)
	return data, err
}

func (f sealedFolder) ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error {
	return f.dir.ReplaceFile(name, data, perm, verify)
}

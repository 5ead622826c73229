package sealed

import (
	"io/fs"
	"os"

	"rcsupervisor/internal/atomicfile"
)

// FileName is the name of the sealed envelope in a profile's folder.
const FileName = "secrets.age"

// A Folder is where an envelope lies. A tenant's is read and written with the
// tenant's own rights; [DirFolder] is for one of our own.
type Folder interface {
	// ReadFile returns the whole of a regular file of at most limit bytes. A
	// file that isn't there is [fs.ErrNotExist].
	ReadFile(name string, limit int64) ([]byte, error)
	// ReplaceFile puts data in the file's place, whole or not at all, after
	// verify has agreed to what was read back from the disk.
	ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error
}

// DirFolder is the folder of root, with this process's own rights.
func DirFolder(root *os.Root) Folder { return dirFolder{root} }

type dirFolder struct{ root *os.Root }

func (d dirFolder) ReadFile(name string, limit int64) ([]byte, error) {
	return atomicfile.Read(d.root, name, limit)
}

func (d dirFolder) ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error {
	return atomicfile.Replace(d.root, name, data, perm, verify)
}

package hostfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"rcsupervisor/profile"
)

// A File is a host file as it was read. The zero File is that of a host that
// says nothing.
type File struct {
	Roots     []profile.Root    // where homes are looked for, unless flags say otherwise
	Isolation string            // process or shared; "" when it isn't said
	Defaults  *profile.Settings // what a channel.yaml leaves out; nil for the program's own
	Servers   []string          // the only servers, in canonical form; nil for any
	AllowRoot []string          // homes, or patterns of homes, that may belong to root
	Agents    Agents
	Ceilings  profile.Ceilings // of every profile's limits
}

// Agents bound the agents of all profiles together. A zero says nothing.
type Agents struct {
	Max      int      // that live at one time
	Starting int      // that start at one time
	Kinds    []string // the only kinds; nil for any
}

// Host is what the file says to whoever reads a home.
func (f File) Host() profile.Host {
	return profile.Host{AllowRoot: f.allowsRoot, Defaults: f.Defaults}
}

// allowsRoot reports whether a home may belong to root.
func (f File) allowsRoot(home string) bool {
	return slices.ContainsFunc(f.AllowRoot, func(pattern string) bool {
		ok, err := filepath.Match(pattern, home)
		return err == nil && ok
	})
}

// AllowsServer reports whether bots of a server, in canonical form, may run.
func (f File) AllowsServer(server string) bool {
	return f.Servers == nil || slices.Contains(f.Servers, server)
}

// AllowsKind reports whether agents of a kind may run.
func (f File) AllowsKind(kind string) bool {
	return f.Agents.Kinds == nil || slices.Contains(f.Agents.Kinds, kind)
}

// Read reads the host file at path, through links: whoever may name it may
// also say where it lies. It must be a regular file of root's or of this
// process's user that nobody else may write to. What is wrong inside it is a
// [*profile.FileError].
func Read(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return File{}, fmt.Errorf("host file: %w", err)
	}
	defer f.Close()
	if err := trusted(f); err != nil {
		return File{}, fmt.Errorf("host file %s %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, profile.MaxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("host file: %w", err)
	}
	return Parse(path, data)
}

// trusted fails for what somebody else may have written.
func trusted(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("is no regular file")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to uid %d; it must be root's or yours", st.Uid)
	case st.Mode&0o022 != 0:
		return errors.New("may be written by others: chmod go-w it")
	}
	return nil
}

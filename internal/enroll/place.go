package enroll

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// Place returns where the home of a name is, by the rules under which homes
// are found: the first of those that exist, else the place in the first root
// that could hold it, which is then yet to be made.
func Place(src profile.Sources, name string) (path string, exists bool, err error) {
	if !profile.ValidName(name) {
		return "", false, fmt.Errorf("%q can't be a profile's name: a-z, 0-9, _ and -, 64 at most, beginning with a letter or digit", name)
	}
	for _, h := range src.Homes {
		if h.Name == name {
			return h.Dir, isDir(h.Dir), nil
		}
	}
	first := ""
	for _, r := range src.Roots {
		for _, dir := range expand(r.Dir) {
			below, fits := within(r.Prefix, dir, name)
			if !fits {
				continue
			}
			path := filepath.Join(dir, below)
			if isDir(path) {
				return path, true, nil
			}
			if first == "" {
				first = path
			}
		}
	}
	if first == "" {
		return "", false, fmt.Errorf("no root can hold a profile of the name %s", name)
	}
	if profile.ReservedName(name) && name != "default" {
		return "", false, fmt.Errorf("%s is a name Hermes keeps for itself", name)
	}
	return first, false, nil
}

// within is where a root's folder keeps the home of a name: "" is the folder
// itself.
func within(prefix, dir, name string) (below string, fits bool) {
	if prefix == profile.OwnerPrefix {
		if prefix = ownerName(dir); prefix == "" {
			return "", false
		}
	}
	if prefix == "" {
		if name == "default" {
			return "", true
		}
		return filepath.Join("profiles", name), true
	}
	if name == prefix {
		return "", true
	}
	rest, ok := strings.CutPrefix(name, prefix+"-")
	return filepath.Join("profiles", rest), ok && rest != ""
}

func ownerName(dir string) string {
	fi, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	u, err := user.LookupId(strconv.Itoa(int(st.Uid)))
	if err != nil {
		return ""
	}
	return u.Username
}

// expand returns the folders a root's pattern means; one without any match
// means itself, if it is no pattern.
func expand(pattern string) []string {
	if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
		return found
	}
	if strings.ContainsAny(pattern, `*?[\`) {
		return nil
	}
	return []string{pattern}
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
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

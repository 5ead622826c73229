package profile

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// OwnerPrefix as a root's prefix stands for the user name of a home's owner.
const OwnerPrefix = "owner"

// A Root is where homes are found: its own folder, and those below its
// profiles/. Without a prefix they are called default and by their folder's
// name; with prefix alice, alice and alice-<name>.
type Root struct {
	Dir    string // absolute; may be a pattern such as /home/*/.hermes
	Prefix string
}

// A Home is one that a person named himself.
type Home struct {
	Name string
	Dir  string // absolute
}

// Sources are all places where homes are looked for.
type Sources struct {
	Roots []Root
	Homes []Home
}

// ParseRoot reads [prefix=]DIR. What stands before the first = is a prefix if
// it can be one, and else belongs to the folder's name.
func ParseRoot(arg string) (Root, error) {
	prefix, dir, ok := strings.Cut(arg, "=")
	if !ok || !ValidName(prefix) {
		prefix, dir = "", arg
	}
	r := Root{Dir: dir, Prefix: prefix}
	if dir == "" {
		return r, errors.New("a root needs a folder: [prefix=]DIR")
	}
	return r.check()
}

func (r Root) check() (Root, error) {
	if r.Prefix != "" && !ValidName(r.Prefix) {
		return r, fmt.Errorf("the prefix of root %s can't begin a name", r.Dir)
	}
	if _, err := filepath.Match(r.Dir, ""); err != nil {
		return r, fmt.Errorf("root %s: the pattern is not well formed", r.Dir)
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return r, err
	}
	r.Dir = dir
	return r, nil
}

// ParseHome reads name=DIR.
func ParseHome(arg string) (Home, error) {
	name, dir, ok := strings.Cut(arg, "=")
	if !ok || dir == "" {
		return Home{}, errors.New("a home is given as name=DIR")
	}
	if !ValidName(name) {
		return Home{}, fmt.Errorf("the name of home %s must be of a-z, 0-9, _ and -, 64 at most, and begin with a letter or digit", dir)
	}
	dir, err := filepath.Abs(dir)
	return Home{Name: name, Dir: dir}, err
}

// DefaultRoots is where homes are looked for when nobody says: $HERMES_HOME,
// else ~/.hermes. As for Hermes, a HERMES_HOME that is itself one of a root's
// profiles stands for that root. home is the user's home folder.
func DefaultRoots(hermesHome, home string) []Root {
	dir := hermesHome
	if dir == "" {
		if home == "" {
			return nil
		}
		dir = filepath.Join(home, ".hermes")
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if parent := filepath.Dir(dir); filepath.Base(parent) == "profiles" {
		dir = filepath.Dir(parent)
	}
	return []Root{{Dir: escapePattern(dir)}}
}

// escapePattern makes a folder's name mean itself where patterns are allowed.
func escapePattern(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func isPattern(dir string) bool { return strings.ContainsAny(dir, `*?[\`) }

// A candidate is a folder that would be a profile if it took part.
type candidate struct {
	dir  string
	base string // the folder's name below profiles/, "" for a root's own home
	// name it was given by a person, or "" where it follows from the rest
	name   string
	prefix string
}

// wanted is the candidate's name, or what keeps it from having one.
func (c candidate) wanted(owner int) (name, fault string) {
	if c.name != "" {
		return c.name, ""
	}
	if c.base != "" && !ValidName(c.base) {
		return "", "its folder's name can't be a profile's: a-z, 0-9, _ and -, 64 at most"
	}
	if c.base != "" && ReservedName(c.base) {
		return "", "Hermes keeps the name " + c.base + " for itself"
	}
	prefix := c.prefix
	if prefix == OwnerPrefix {
		u, err := user.LookupId(strconv.Itoa(owner))
		if err != nil {
			return "", fmt.Sprintf("its owner, uid %d, has no name to begin with", owner)
		}
		if prefix = u.Username; !ValidName(prefix) {
			return "", "its owner's name can't begin a profile's"
		}
	}
	parts := slices.DeleteFunc([]string{prefix, c.base}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return DefaultName, ""
	}
	if name = strings.Join(parts, "-"); !ValidName(name) {
		return "", "the name " + name + " is too long"
	}
	return name, ""
}

package profile

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rcsupervisor/internal/ownerfs"
)

// A Place is where the home of a name is, or would be.
type Place struct {
	Dir    string // absolute
	Exists bool   // the folder is there; it need not take part yet
	Owner  int    // uid, of a folder that is there
}

// ErrNoPlace is returned for a name that no home can have here.
var ErrNoPlace = errors.New("can't be a profile's name here")

// Place returns where the home of a name is, by the rules under which the
// snapshot's homes were found: a home that has the name, else a folder that
// would have it if it took part, else the place for it in the first root that
// could hold it, which is then yet to be made. Of the roots that are there only
// those of an owner that mine agrees to are considered; nil agrees to all.
func (s *Snapshot) Place(src Sources, name string, mine func(owner int) bool) (Place, error) {
	if !ValidName(name) {
		return Place{}, fmt.Errorf("%.64q %w: a-z, 0-9, _ and -, 64 at most, beginning with a letter or digit", name, ErrNoPlace)
	}
	if r, ok := s.Profile(name); ok {
		return Place{Dir: r.Home, Exists: true, Owner: r.Owner}, nil
	}
	for _, x := range s.seen {
		if wanted, fault := x.wanted(x.folder.Owner); x.exists() && !x.part && fault == "" && wanted == name {
			return Place{Dir: x.dir, Exists: true, Owner: x.folder.Owner}, nil
		}
	}
	for _, h := range src.Homes {
		if h.Name == name {
			return Place{Dir: h.Dir}, nil
		}
	}
	return s.newPlace(src, name, mine)
}

func (x *sighting) exists() bool { return x.folder.ID != ownerfs.ID{} }

// newPlace is where a home would be made. Roots whose folder is there come
// before those whose isn't.
func (s *Snapshot) newPlace(src Sources, name string, mine func(owner int) bool) (Place, error) {
	reserved := false
	consider := func(root, prefix string) (string, bool) {
		below, fits := prefixed(prefix, name)
		if fits && ReservedName(below) {
			reserved = true
			return "", false
		}
		return filepath.Join(root, "profiles", below), fits
	}
	considered := map[string]bool{}
	for _, x := range s.seen {
		if x.base == "" && x.exists() {
			considered[x.dir] = true
		}
		prefix, ok := x.begins(mine)
		if !ok {
			continue
		}
		if dir, fits := consider(x.dir, prefix); fits {
			return Place{Dir: dir}, nil
		}
	}
	for _, r := range src.Roots {
		if r.Prefix == OwnerPrefix {
			if dir, ok := usersPlace(r.Dir, name); ok {
				return Place{Dir: dir}, nil
			}
			continue
		}
		dir, literal := unescapePattern(r.Dir)
		if !literal || considered[dir] {
			continue
		}
		if name == r.Prefix || r.Prefix == "" && name == DefaultName {
			return Place{Dir: dir}, nil
		}
		if dir, fits := consider(dir, r.Prefix); fits {
			return Place{Dir: dir}, nil
		}
	}
	if reserved {
		return Place{}, fmt.Errorf("%s %w: Hermes keeps it for itself", name, ErrNoPlace)
	}
	return Place{}, fmt.Errorf("%s %w: no root can hold it", name, ErrNoPlace)
}

// begins is what the names of homes in a root begin with, "" for nothing; ok
// is false for what is no root that is there and mine agrees to.
func (x *sighting) begins(mine func(owner int) bool) (prefix string, ok bool) {
	if x.base != "" || x.name != "" || !x.exists() || mine != nil && !mine(x.folder.Owner) {
		return "", false
	}
	prefix, fault := x.wanted(x.folder.Owner)
	if x.prefix == "" {
		prefix = ""
	}
	return prefix, fault == ""
}

// Beginnings returns what names can begin with in the roots that are there and
// mine agrees to, in their order: "alice" stands for alice and alice-<name>, ""
// for any name.
func (s *Snapshot) Beginnings(mine func(owner int) bool) []string {
	var all []string
	for _, x := range s.seen {
		if prefix, ok := x.begins(mine); ok && !slices.Contains(all, prefix) {
			all = append(all, prefix)
		}
	}
	return all
}

// usersPlace is where the home of a name is to be made in a root whose homes
// begin with their owners' names, and in which that owner has none yet: below
// his own home folder, where the root's pattern leads on from there.
func usersPlace(pattern, name string) (dir string, ok bool) {
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '-') {
		u, err := user.Lookup(name[:i])
		if err != nil {
			continue
		}
		root, ok := below(u, pattern)
		if !ok {
			continue
		}
		if i == len(name) {
			return root, true
		}
		if base := name[i+1:]; ValidName(base) && !ReservedName(base) {
			return filepath.Join(root, "profiles", base), true
		}
	}
	return "", false
}

// below is the folder that a pattern means of a user's. His home folder has to
// be there and his own, or what is made in it would be somebody else's.
func below(u *user.User, pattern string) (dir string, ok bool) {
	home := filepath.Clean(u.HomeDir)
	parts := strings.Split(pattern, "/")
	n := len(strings.Split(home, "/"))
	if !filepath.IsAbs(home) || home == "/" || n > len(parts) {
		return "", false
	}
	if fits, err := filepath.Match(strings.Join(parts[:n], "/"), home); err != nil || !fits {
		return "", false
	}
	rest, literal := unescapePattern(strings.Join(parts[n:], "/"))
	info, _, err := ownerfs.Probe(home)
	return filepath.Join(home, rest), literal && err == nil && strconv.Itoa(info.Owner) == u.Uid
}

// prefixed is the folder's name below profiles/ of a root whose homes have
// that prefix; fits is false when the root can't hold the name.
func prefixed(prefix, name string) (below string, fits bool) {
	if prefix == "" {
		return name, true
	}
	below, fits = strings.CutPrefix(name, prefix+"-")
	return below, fits && ValidName(below)
}

// unescapePattern returns the folder that a pattern means; literal is false
// when it may mean several.
func unescapePattern(pattern string) (dir string, literal bool) {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?', '[':
			return "", false
		case '\\':
			if i++; i == len(pattern) {
				return "", false
			}
			out.WriteByte(pattern[i])
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), true
}

package profile

import (
	"errors"
	"fmt"
	"path/filepath"
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
// could hold it, which is then yet to be made.
func (s *Snapshot) Place(src Sources, name string) (Place, error) {
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
	return s.newPlace(src, name)
}

func (x *sighting) exists() bool { return x.folder.ID != ownerfs.ID{} }

// newPlace is where a home would be made. Roots whose folder is there come
// before those whose isn't.
func (s *Snapshot) newPlace(src Sources, name string) (Place, error) {
	reserved := false
	consider := func(root, prefix string) (string, bool) {
		below, fits := prefixed(prefix, name)
		if fits && ReservedName(below) {
			reserved = true
			return "", false
		}
		return filepath.Join(root, "profiles", below), fits
	}
	for _, x := range s.seen {
		if x.base != "" || x.name != "" || !x.exists() {
			continue
		}
		prefix, fault := x.wanted(x.folder.Owner)
		if x.prefix == "" {
			prefix = ""
		}
		if dir, fits := consider(x.dir, prefix); fits && fault == "" {
			return Place{Dir: dir}, nil
		}
	}
	for _, r := range src.Roots {
		dir, literal := unescapePattern(r.Dir)
		if !literal || r.Prefix == OwnerPrefix {
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

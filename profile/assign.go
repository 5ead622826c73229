package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rcsupervisor/internal/ownerfs"
)

// assign gives each home that takes part its name. A name stays with the home
// that had it; one folder seen at two places runs once.
func (s *Scanner) assign(snap *Snapshot) {
	byName := map[string][]*sighting{}
	var order []string
	for _, x := range s.once(snap) {
		name, fault := x.wanted(x.folder.Owner)
		if fault != "" {
			snap.Unnamed = append(snap.Unnamed, Unnamed{Home: x.dir, Text: fault, Try: elsewhere(x.dir)})
			continue
		}
		if byName[name] == nil {
			order = append(order, name)
		}
		byName[name] = append(byName[name], x)
	}
	names := map[string]string{}
	snap.Profiles = make([]Reading, 0, len(order))
	for _, name := range order {
		holder := s.holder(name, byName[name])
		for _, x := range byName[name] {
			if x == holder {
				names[x.dir] = name
				snap.Profiles = append(snap.Profiles, reading(x, name))
				continue
			}
			snap.Unnamed = append(snap.Unnamed, Unnamed{
				Home: x.dir, Wanted: name, Text: "the name " + name + " is taken by " + ownerfs.Quote(holder.dir), Try: elsewhere(x.dir),
			})
		}
	}
	s.limit(snap, names)
	s.names = names
	slices.SortFunc(snap.Profiles, func(a, b Reading) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(snap.Unnamed, func(a, b Unnamed) int { return strings.Compare(a.Home, b.Home) })
}

func elsewhere(dir string) string { return "rcsupervisor run --home NAME=" + ownerfs.Quote(dir) }

// once drops what does not take part, and the second path of a folder.
func (s *Scanner) once(snap *Snapshot) []*sighting {
	first := map[ownerfs.ID]*sighting{}
	var part []*sighting
	// Those that had a name come first, so that they keep it.
	seen := slices.Clone(snap.seen)
	slices.SortStableFunc(seen, func(a, b *sighting) int { return s.weight(a.candidate) - s.weight(b.candidate) })
	for _, x := range seen {
		if !x.part {
			if x.name != "" { // a person said that it is one
				snap.Problems = append(snap.Problems, notHome(x))
			}
			continue
		}
		if other := first[x.folder.ID]; other != nil && x.folder.ID != (ownerfs.ID{}) {
			snap.Unnamed = append(snap.Unnamed, Unnamed{
				Home: x.dir, Text: "is the same folder as " + ownerfs.Quote(other.dir), Try: "leave one of the two out of the roots",
			})
			continue
		}
		first[x.folder.ID] = x
		part = append(part, x)
	}
	return part
}

func notHome(x *sighting) error {
	err := x.err
	if err == nil {
		err = &ownerfs.Error{Path: x.dir, Err: errNotPart}
	}
	return fmt.Errorf("home %s: %w", x.name, err)
}

// holder picks whose the name is.
func (s *Scanner) holder(name string, all []*sighting) *sighting {
	held := s.opts.Held[name]
	for _, claim := range []func(x *sighting) bool{
		func(x *sighting) bool { return s.names[x.dir] == name },
		func(x *sighting) bool { return held != "" && x.dir == held },
		func(x *sighting) bool { return x.name != "" },
	} {
		if i := slices.IndexFunc(all, claim); i >= 0 {
			return all[i]
		}
	}
	return all[0]
}

// limit cuts what is beyond MaxHomes, and never what ran before.
func (s *Scanner) limit(snap *Snapshot, names map[string]string) {
	if len(snap.Profiles) <= MaxHomes {
		return
	}
	snap.Problems = append(snap.Problems, fmt.Errorf(
		"%d homes take part, and %d is the most: is one of the roots too wide?", len(snap.Profiles), MaxHomes))
	slices.SortStableFunc(snap.Profiles, func(a, b Reading) int {
		return s.weight(candidate{dir: a.Home}) - s.weight(candidate{dir: b.Home})
	})
	for _, r := range snap.Profiles[MaxHomes:] {
		delete(names, r.Home)
	}
	snap.Profiles = snap.Profiles[:MaxHomes]
}

// reading names what was seen.
func reading(x *sighting, name string) Reading {
	r := Reading{Profile: x.profile, Err: x.err}
	r.Name, r.Home = name, x.dir
	if f, ok := errors.AsType[*Fault](x.err); ok && strings.Contains(f.Try, "NAME") {
		named := *f
		named.Try = strings.ReplaceAll(f.Try, "NAME", name)
		r.Err = &named
	}
	return r
}

package profile

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"rcsupervisor/internal/ownerfs"
)

// A Kind of what happened to a home.
type Kind string

// The kinds.
const (
	Appeared Kind = "appeared"
	Changed  Kind = "changed" // its files, its owner, its folder, or what is wrong with it
	Renamed  Kind = "renamed" // the same folder and owner under a new name, the old one gone
	Gone     Kind = "gone"
)

// A HomeChange is what happened to one profile since it was last told.
type HomeChange struct {
	Kind Kind
	Name string
	From string  // the old name, of Renamed
	Now  Reading // zero for Gone
	// Moved is set when another folder has the name now, whatever is in it.
	Moved bool
}

// changes compares what was told with what is, in the order of names; those
// that are gone come first, so that a name or a bot is free before another
// takes it.
func changes(told, now map[string]Reading) []HomeChange {
	var gone, rest []HomeChange
	freed := map[ownerfs.ID]string{} // folders whose name is gone
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if _, still := now[name]; !still && told[name].ID != (ownerfs.ID{}) {
			freed[told[name].ID] = name
		}
	}
	renamed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		is := now[name]
		was, known := told[name]
		from := freed[is.ID]
		switch {
		case !known && from != "" && told[from].Owner == is.Owner:
			renamed[from] = true
			rest = append(rest, HomeChange{Kind: Renamed, Name: name, From: from, Now: is})
		case !known:
			rest = append(rest, HomeChange{Kind: Appeared, Name: name, Now: is})
		case !sameReading(was, is):
			rest = append(rest, HomeChange{Kind: Changed, Name: name, Now: is, Moved: moved(was, is)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if _, still := now[name]; !still && !renamed[name] {
			gone = append(gone, HomeChange{Kind: Gone, Name: name})
		}
	}
	return append(gone, rest...)
}

func moved(a, b Reading) bool {
	return a.Home != b.Home || a.ID != b.ID && a.ID != (ownerfs.ID{}) && b.ID != (ownerfs.ID{})
}

// sameReading reports whether two readings would be acted on alike.
func sameReading(a, b Reading) bool {
	return !moved(a, b) && a.Owner == b.Owner && a.Hashes == b.Hashes && slices.Equal(a.Hermes, b.Hermes) &&
		reflect.DeepEqual(a.HermesConfig, b.HermesConfig) && errorText(a.Err) == errorText(b.Err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// halfWritten reports whether a file is as it is while somebody writes it: it
// does not parse, or is empty and wasn't. An empty access.yaml lets nobody in,
// and what is taken away so is not given back without a person.
func halfWritten(was, is Reading) bool {
	_, bad := errors.AsType[*FileError](is.Err)
	return bad || is.emptied && !was.emptied
}

// sameSurroundings reports whether two snapshots say the same of all that is
// no profile.
func sameSurroundings(a, b *Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	texts := func(errs []error) string {
		var all []string
		for _, err := range errs {
			all = append(all, err.Error())
		}
		return strings.Join(all, "\n")
	}
	return slices.Equal(a.Unnamed, b.Unnamed) && texts(a.Problems) == texts(b.Problems)
}

package profile

import "strings"

// A Class says what it takes to bring a change into use. A change of several
// keys has several.
type Class uint8

// The classes.
const (
	Live          Class = 1 << iota // used from the next message on
	NewConnection                   // the socket is made anew
	AgentReplaced                   // the agent is replaced after its running turns
	OnOff                           // the profile starts or stops
	NextStart                       // used when the worker starts again
)

var classNames = []string{"live", "new connection", "agent replaced", "off or on", "next start"}

// String names the classes, lightest first: "live", "live, new connection".
func (c Class) String() string {
	var names []string
	for i, name := range classNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Has reports whether all of o is in c.
func (c Class) Has(o Class) bool { return c&o == o }

// A KeyChange is one key that differs. Old and New are as people write them,
// and empty where a value may be nobody else's to read.
type KeyChange struct {
	File  string // channel.yaml, access.yaml or secrets.age
	Key   string // "" for secrets.age
	Class Class
	Old   string
	New   string
}

// A Change is all that differs between two states of a home's files. The zero
// Change is none.
type Change struct {
	Class Class
	Keys  []KeyChange // in the order of the reference
}

// Empty reports whether nothing differs. A file may well have changed: a
// comment, its mode.
func (c Change) Empty() bool { return len(c.Keys) == 0 }

func (c *Change) add(k KeyChange) {
	c.Class |= k.Class
	c.Keys = append(c.Keys, k)
}

// DiffSettings tells what differs between two channel.yaml.
func DiffSettings(old, new Settings) Change {
	var c Change
	settingsKeys.diff(&c, SettingsFile, &old, &new)
	return c
}

// DiffAccess tells what differs between two access.yaml. All of it is live.
func DiffAccess(old, new Access) Change {
	var c Change
	accessKeys.diff(&c, AccessFile, &old, &new)
	return c
}

// Diff tells what differs between two readings of a home. Other bytes in
// secrets.age mean a new connection; what else they mean (another bot, an older
// generation) only who can open them knows.
func Diff(old, new Profile) Change {
	c := DiffSettings(old.Settings, new.Settings)
	accessKeys.diff(&c, AccessFile, &old.Access, &new.Access)
	if old.Hashes.Sealed != new.Hashes.Sealed {
		c.add(KeyChange{File: SealedFile, Class: NewConnection})
	}
	return c
}

func (t table[T]) diff(c *Change, file string, old, new *T) {
	for _, k := range t {
		if k.same(old, new) {
			continue
		}
		kc := KeyChange{File: file, Key: k.path, Class: k.class}
		if !k.secret {
			kc.Old, kc.New = k.show(old), k.show(new)
		}
		c.add(kc)
	}
}

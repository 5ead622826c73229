package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"rcsupervisor/internal/atomicfile"
)

// The ledger's two copies, in the supervisor's state directory.
const (
	LedgerFile     = "ledger.json"
	LedgerPrevious = "ledger.previous.json"
)

// ErrLedgerLost is returned when there has been a ledger and no copy of it can
// be read. Nobody then knows what any name was bound to, so nothing runs until
// a person begins anew.
var ErrLedgerLost = errors.New("both copies of the ledger are unreadable")

// A NewerLedgerError is a ledger that a newer program has written. It is not
// damaged, and nothing older is taken in its place.
type NewerLedgerError struct{ Version int }

func (e *NewerLedgerError) Error() string {
	return fmt.Sprintf("the ledger is of version %d, which a newer rcsupervisor wrote; this one knows %d", e.Version, ledgerVersion)
}

// Hint returns what mends it.
func (*NewerLedgerError) Hint() string { return "update rcsupervisor on this host" }

const (
	ledgerVersion = 1
	maxLedger     = 256 << 20
)

// A Ledger remembers, over restarts, what each name is bound to and what is
// wanted of it. It belongs to one goroutine.
type Ledger struct {
	dir     *os.Root
	entries map[string]Entry
	saved   []byte // the content of the current copy, nil before the first
	dirty   bool
	// FromPrevious is set when the current copy was damaged and the one before
	// it was read: the last change may be missing.
	FromPrevious bool
}

// ledgerJSON is a copy on disk. Sum is over Names as they stand there: a copy
// that was cut or rotted is known.
type ledgerJSON struct {
	V     int             `json:"v"`
	Sum   string          `json:"sum"`
	Names json.RawMessage `json:"names"`
}

// OpenLedger reads the ledger in the state directory dir, which stays the
// caller's to close. Without one it is empty: a first run. One that can't be
// read is [ErrLedgerLost] or a [*NewerLedgerError].
func OpenLedger(dir *os.Root) (*Ledger, error) {
	l := &Ledger{dir: dir, entries: map[string]Entry{}}
	data, entries, err1 := readLedger(dir, LedgerFile)
	if err1 == nil {
		l.entries, l.saved = entries, data
		return l, nil
	}
	if newer, ok := errors.AsType[*NewerLedgerError](err1); ok {
		return nil, newer
	}
	_, entries, err2 := readLedger(dir, LedgerPrevious)
	absent1, absent2 := errors.Is(err1, fs.ErrNotExist), errors.Is(err2, fs.ErrNotExist)
	switch {
	case err2 == nil:
		l.entries, l.FromPrevious, l.dirty = entries, true, true
		return l, nil
	case absent1 && absent2:
		return l, nil
	}
	return nil, fmt.Errorf("%w (%w; %w)", ErrLedgerLost, err1, err2)
}

// ForgetLedger puts unreadable copies aside, under names that end in .lost, so
// that the next OpenLedger is a first run. It is a person's decision.
func ForgetLedger(dir *os.Root) error {
	for _, name := range []string{LedgerFile, LedgerPrevious} {
		if err := dir.Rename(name, name+".lost"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func readLedger(dir *os.Root, name string) ([]byte, map[string]Entry, error) {
	data, err := atomicfile.Read(dir, name, maxLedger)
	if err != nil {
		return nil, nil, err
	}
	entries, err := decodeLedger(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, entries, nil
}

func decodeLedger(data []byte) (map[string]Entry, error) {
	var j ledgerJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, errors.New("is not whole")
	}
	if j.V > ledgerVersion && j.Sum == sum(j.Names) {
		return nil, &NewerLedgerError{j.V}
	}
	if j.V != ledgerVersion {
		return nil, fmt.Errorf("is of version %d; this program knows %d", j.V, ledgerVersion)
	}
	if j.Sum != sum(j.Names) {
		return nil, errors.New("is damaged: its sum is wrong")
	}
	entries := map[string]Entry{}
	if err := json.Unmarshal(j.Names, &entries); err != nil {
		return nil, errors.New("is not a ledger")
	}
	if entries == nil {
		entries = map[string]Entry{}
	}
	return entries, nil
}

func encodeLedger(entries map[string]Entry) ([]byte, error) {
	names, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(ledgerJSON{V: ledgerVersion, Sum: sum(names), Names: names})
	return append(data, '\n'), err
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Get returns the entry of name.
func (l *Ledger) Get(name string) (Entry, bool) {
	e, ok := l.entries[name]
	return e, ok
}

// Names returns all names, sorted.
func (l *Ledger) Names() []string { return slices.Sorted(maps.Keys(l.entries)) }

// Paths returns the home of each name, as a copy; see [Options].
func (l *Ledger) Paths() map[string]string {
	paths := make(map[string]string, len(l.entries))
	for name, e := range l.entries {
		paths[name] = e.Path
	}
	return paths
}

// Holders returns the names that a login has proven to be this bot, sorted.
func (l *Ledger) Holders(server, bot string) []string {
	var names []string
	for name, e := range l.entries {
		if e.Server == server && e.Bot == bot && server != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Put sets the entry of name. It is on disk after the next Save.
func (l *Ledger) Put(name string, e Entry) {
	l.entries[name] = e
	l.dirty = true
}

// Remove forgets name.
func (l *Ledger) Remove(name string) {
	if _, ok := l.entries[name]; ok {
		delete(l.entries, name)
		l.dirty = true
	}
}

// Rename adopts a rename of a home that was seen happening. It reports false,
// and changes nothing, when the new name is known already: that it is another
// home now is for a person to say.
func (l *Ledger) Rename(from, to, path string) bool {
	e, ok := l.entries[from]
	if _, taken := l.entries[to]; !ok || taken {
		return false
	}
	e.Path = path
	delete(l.entries, from)
	l.Put(to, e)
	return true
}

// Save writes what changed since the last Save, durably: the copy before
// becomes the previous one, and then the new one takes its place. A crash
// between any two steps leaves one of the two whole. On an error everything is
// still to be saved.
func (l *Ledger) Save() error {
	if !l.dirty {
		return nil
	}
	data, err := encodeLedger(l.entries)
	if err != nil {
		return err
	}
	if bytes.Equal(data, l.saved) {
		l.dirty = false
		return nil
	}
	if l.saved != nil {
		if err := atomicfile.Replace(l.dir, LedgerPrevious, l.saved, 0o600, nil); err != nil {
			return err
		}
	}
	err = atomicfile.Replace(l.dir, LedgerFile, data, 0o600, func(written []byte) error {
		_, err := decodeLedger(written)
		return err
	})
	if err != nil && !errors.Is(err, atomicfile.ErrNotDurable) {
		return err
	}
	l.saved, l.dirty = data, err != nil
	return err
}

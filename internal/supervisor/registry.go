package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"rcsupervisor/profile"
)

// A bot is one user of one server.
type bot struct{ server, user string }

// A registry is what is known of profiles beyond their own homes: the ledger's
// entries, and who holds which bot. Keepers ask it from their goroutines; the
// lock is never held over I/O. The ledger itself belongs to the goroutine of
// run, which writes what has changed.
type registry struct {
	dir *os.Root

	mu      sync.Mutex
	entries map[string]profile.Entry
	changed map[string]bool // names to be written; a missing entry means it is to be removed
	lost    bool            // there was a ledger, and no copy of it can be read
	stale   bool            // its last change may be missing
	failed  error           // why it could not be written the last time
	holders map[bot]string
	claims  map[string]bot // by name: what its envelope says, of those that are to run
	version uint64         // of claims

	flushes chan chan error
	poke    chan struct{} // capacity 1: something is to be written
	done    chan struct{} // closed when run has returned
}

// saveAfter is how long changes that nobody waits for are gathered before they
// are written; retryAfter is when a failed write is tried again.
const (
	saveAfter  = 200 * time.Millisecond
	retryAfter = 5 * time.Second
)

// newRegistry reads the ledger in dir; a nil dir keeps it in memory alone.
func newRegistry(dir *os.Root) (*registry, *profile.Ledger, error) {
	r := &registry{
		dir: dir, entries: make(map[string]profile.Entry), changed: make(map[string]bool),
		holders: make(map[bot]string), claims: make(map[string]bot),
		flushes: make(chan chan error), poke: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if dir == nil {
		return r, nil, nil
	}
	ledger, err := profile.OpenLedger(dir)
	if errors.Is(err, profile.ErrLedgerLost) {
		r.lost = true
		return r, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the ledger: %w", err)
	}
	r.stale = ledger.FromPrevious
	for _, name := range ledger.Names() {
		r.entries[name], _ = ledger.Get(name)
	}
	return r, ledger, nil
}

// get returns the entry of name, and makes one for a name first seen.
func (r *registry) get(name string, first func() profile.Entry) profile.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[name]
	if !ok {
		e = first()
		r.put(name, e)
	}
	return e
}

// entry returns the entry of name; the zero Entry where there is none.
func (r *registry) entry(name string) (profile.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[name]
	return e, ok
}

// change changes the entry of name, if there is one.
func (r *registry) change(name string, f func(*profile.Entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[name]
	if !ok {
		return
	}
	f(&e)
	r.put(name, e)
}

// put sets an entry, to be written soon. Called with the lock.
func (r *registry) put(name string, e profile.Entry) {
	r.entries[name] = e
	r.changed[name] = true
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// rename gives an entry another name. It reports false when the new name is
// known already.
func (r *registry) rename(from, to, path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[from]
	if _, taken := r.entries[to]; !ok || taken {
		return false
	}
	e.Path = path
	delete(r.entries, from)
	r.changed[from] = true
	r.put(to, e)
	return true
}

// isLost reports whether nothing is known because both copies of the ledger
// can't be read.
func (r *registry) isLost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// revive begins a new ledger in the place of one that was lost, because a person
// starts a profile. The others stay off until they are started too: what was
// wanted of them nobody knows.
func (r *registry) revive(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lost {
		return
	}
	r.lost = false
	for other, e := range r.entries {
		e.Wanted = other == name
		r.put(other, e)
	}
}

// names returns all names that are known, sorted.
func (r *registry) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.entries))
	for name := range r.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// trouble says what is wrong with the ledger, "" for nothing.
func (r *registry) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return "the ledger can't be written: " + r.failed.Error()
	}
	return ""
}

// run writes what has changed until ctx ends, and once more then.
func (r *registry) run(ctx context.Context, ledger *profile.Ledger) {
	defer close(r.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		var waiting chan error
		select {
		case <-ctx.Done():
			r.save(&ledger)
			return
		case <-r.poke:
			timer.Reset(saveAfter)
			continue
		case waiting = <-r.flushes:
		case <-timer.C:
		}
		err := r.save(&ledger)
		if err != nil {
			timer.Reset(retryAfter)
		}
		if waiting != nil {
			waiting <- err
		}
	}
}

// save writes what has changed. A ledger that was lost is begun anew with the
// first entry that a person makes.
func (r *registry) save(ledger **profile.Ledger) error {
	r.mu.Lock()
	changed := make(map[string]*profile.Entry, len(r.changed))
	for name := range r.changed {
		changed[name] = nil
		if e, ok := r.entries[name]; ok {
			changed[name] = &e
		}
	}
	clear(r.changed)
	lost := r.lost
	r.mu.Unlock()
	if r.dir == nil || lost {
		return nil
	}
	err := writeLedger(r.dir, ledger, changed)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = err; err != nil {
		for name := range changed {
			r.changed[name] = true
		}
	}
	return err
}

func writeLedger(dir *os.Root, ledger **profile.Ledger, changed map[string]*profile.Entry) error {
	if *ledger == nil {
		if err := profile.ForgetLedger(dir); err != nil {
			return err
		}
		l, err := profile.OpenLedger(dir)
		if err != nil {
			return err
		}
		*ledger = l
	}
	for name, e := range changed {
		if e == nil {
			(*ledger).Remove(name)
		} else {
			(*ledger).Put(name, *e)
		}
	}
	return (*ledger).Save()
}

// flush returns once everything that was changed before is on disk.
func (r *registry) flush(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case r.flushes <- reply:
	case <-r.done:
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errEnding is what a supervisor answers that is coming to its end.
var errEnding = errors.New("the supervisor is ending")

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"rcsupervisor/profile"
)

// What the supervisor's methods answer, besides the errors of profile.
var (
	ErrNoProfile = errors.New("no such profile")
	ErrEnding    = errEnding
)

// EditAccess writes a profile's access.yaml, as its owner, and has what was
// given in use when it returns: it counts as a person's word. Nothing else that
// the file says is believed with it.
func (s *Supervisor) EditAccess(ctx context.Context, name string, edits ...profile.Edit) error {
	k := s.keeper(name)
	if k == nil {
		return fmt.Errorf("%w: %s", ErrNoProfile, name)
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	if _, err := profile.WriteAccess(k.home(), edits...); err != nil {
		return err
	}
	return k.ask(ctx, func() error {
		k.given(edits)
		return nil
	})
}

// given takes what a person gave for what is in use, before the file that says
// so is seen.
func (k *keeper) given(edits []profile.Edit) {
	inUse := k.inUse
	for _, e := range edits {
		// What isn't in use need not be taken away.
		if access, err := inUse.Access.With(e); err == nil {
			inUse.Access = access
		}
	}
	k.inUse = inUse
	k.accepted()
	k.readAnew(func(p prepared) {
		if k.live != nil {
			k.refreshed(p)
		}
	})
}

// Find returns a profile's home as it was last read.
func (s *Supervisor) Find(ctx context.Context, name string) (profile.Reading, error) {
	k := s.keeper(name)
	if k == nil {
		return profile.Reading{}, fmt.Errorf("%w: %s", ErrNoProfile, name)
	}
	var r profile.Reading
	err := k.ask(ctx, func() error {
		r = k.reading
		return nil
	})
	return r, err
}

// Names is the ledger of a supervisor that runs, for whoever carries out what
// people ask about homes.
type Names struct{ registry *registry }

// Names returns the ledger.
func (s *Supervisor) Names() Names { return Names{s.registry} }

// Entry returns the entry of a name.
func (n Names) Entry(name string) (e profile.Entry, known bool, err error) {
	e, known = n.registry.entry(name)
	return e, known, nil
}

// Holders returns the names that a login has proven to be a bot, sorted.
func (n Names) Holders(server, user string) ([]string, error) {
	n.registry.mu.Lock()
	defer n.registry.mu.Unlock()
	var names []string
	for name, e := range n.registry.entries {
		if e.Server == server && e.Bot == user && server != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Paths returns the home of each name.
func (n Names) Paths() (map[string]string, error) {
	n.registry.mu.Lock()
	defer n.registry.mu.Unlock()
	paths := make(map[string]string, len(n.registry.entries))
	for name, e := range n.registry.entries {
		paths[name] = e.Path
	}
	return paths, nil
}

// Change gives a name another entry; a nil one is forgotten. It is on disk when
// Change returns nil.
func (n Names) Change(name string, e *profile.Entry) error {
	n.registry.set(name, e)
	return n.registry.flush(context.Background())
}

// set sets or removes an entry.
func (r *registry) set(name string, e *profile.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e != nil {
		r.put(name, *e)
		return
	}
	delete(r.entries, name)
	maps.DeleteFunc(r.holders, func(_ bot, who string) bool { return who == name })
	r.changed[name] = true
}

package supervisor

import (
	"context"
	"maps"
	"slices"

	"rcsupervisor/profile"
)

// What the ledger knows of names, for those who change homes while the
// supervisor runs: it alone writes the ledger then.

// Entry returns what is known of a name.
func (s *Supervisor) Entry(name string) (profile.Entry, bool) { return s.registry.entry(name) }

// Holders returns the names that a login has proven to be this bot, sorted.
func (s *Supervisor) Holders(server, user string) []string {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	var names []string
	for name, e := range s.registry.entries {
		if server != "" && e.Server == server && e.Bot == user {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Paths returns the home of each name, as a copy.
func (s *Supervisor) Paths() map[string]string {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	paths := make(map[string]string, len(s.registry.entries))
	for name, e := range maps.All(s.registry.entries) {
		paths[name] = e.Path
	}
	return paths
}

// Note gives a name another entry, or with nil forgets it, and returns once
// that is on disk.
func (s *Supervisor) Note(ctx context.Context, name string, e *profile.Entry) error {
	s.registry.mu.Lock()
	if e != nil {
		s.registry.put(name, *e)
	} else if _, ok := s.registry.entries[name]; ok {
		delete(s.registry.entries, name)
		s.registry.changed[name] = true
	}
	s.registry.mu.Unlock()
	return s.registry.flush(ctx)
}

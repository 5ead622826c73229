package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rcsupervisor/profile"
)

// An AccessEdit is a change of access.yaml that a person asked for. It counts
// as a person's word: what it gives is in use at once, and nothing else of the
// file with it.
type AccessEdit struct {
	edit profile.Edit
	give func(*profile.Access)
}

// LetIn gives a person a role; an empty name leaves the one that is there.
func LetIn(p profile.Person) AccessEdit {
	return AccessEdit{profile.LetIn(p), func(a *profile.Access) {
		a.People = slices.Clone(a.People)
		i := slices.IndexFunc(a.People, func(q profile.Person) bool { return q.ID == p.ID })
		if i < 0 {
			a.People = append(a.People, p)
			return
		}
		if p.Name == "" {
			p.Name = a.People[i].Name
		}
		a.People[i] = p
	}}
}

// Forget makes a person a stranger again.
func Forget(id string) AccessEdit {
	return AccessEdit{profile.Forget(id), func(a *profile.Access) {
		a.People = slices.DeleteFunc(slices.Clone(a.People), func(q profile.Person) bool { return q.ID == id })
	}}
}

// RoomOn turns a room on; an empty name leaves the one that is there.
func RoomOn(r profile.Room) AccessEdit {
	return AccessEdit{profile.RoomOn(r), func(a *profile.Access) {
		a.Rooms = slices.Clone(a.Rooms)
		i := slices.IndexFunc(a.Rooms, func(q profile.Room) bool { return q.ID == r.ID })
		if i < 0 {
			a.Rooms = append(a.Rooms, r)
			return
		}
		if r.Name == "" {
			r.Name = a.Rooms[i].Name
		}
		a.Rooms[i] = r
	}}
}

// RoomOff turns a room off.
func RoomOff(id string) AccessEdit {
	return AccessEdit{profile.RoomOff(id), func(a *profile.Access) {
		a.Rooms = slices.DeleteFunc(slices.Clone(a.Rooms), func(q profile.Room) bool { return q.ID == id })
	}}
}

// What the supervisor's methods answer, besides the errors of profile.
var (
	ErrNoProfile = errors.New("no such profile")
	ErrEnding    = errEnding
)

// EditAccess writes a profile's access.yaml, as its owner, and has what was
// given in use when it returns. Nobody else writes the file meanwhile but its
// owner.
func (s *Supervisor) EditAccess(ctx context.Context, name string, edits ...AccessEdit) error {
	k := s.keeper(name)
	if k == nil {
		return fmt.Errorf("%w: %s", ErrNoProfile, name)
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	list := make([]profile.Edit, len(edits))
	for i, e := range edits {
		list[i] = e.edit
	}
	if _, err := profile.WriteAccess(k.home(), list...); err != nil {
		return err
	}
	return k.ask(ctx, func() error {
		access := k.inUse.Access
		for _, e := range edits {
			e.give(&access)
		}
		k.given(access)
		return nil
	})
}

// given takes what a person gave for what is in use, before the file that says
// so is seen.
func (k *keeper) given(access profile.Access) {
	inUse := k.inUse
	inUse.Access = access
	k.registry.change(k.name, func(e *profile.Entry) { e.Accepted = &inUse })
	k.inUse = inUse
	k.readAnew(func(p prepared) {
		if k.live != nil {
			k.refreshed(p)
		}
	})
}

// ask makes a change on the keeper's goroutine and returns what came of it.
func (k *keeper) ask(ctx context.Context, change func() error) error {
	reply := make(chan error, 1)
	if !k.tell(func() {
		if k.ending || k.leaving {
			reply <- errEnding
			return
		}
		reply <- change()
	}) {
		return errEnding
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// home is where the profile's home lies, for any goroutine.
func (k *keeper) home() string { return k.view.Load().home }

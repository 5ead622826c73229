package supervisor

import (
	"context"
	"errors"
	"fmt"

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

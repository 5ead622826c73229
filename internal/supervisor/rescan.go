package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rcsupervisor/profile"
)

// Rescan looks at all homes now, and for another identity, and returns once
// what was found is in use, or known to be of no use. Its error is what keeps
// homes from being used as they are.
func (s *Supervisor) Rescan(ctx context.Context) error {
	refreshed := s.config.Keys.Refresh()
	snap, told, err := s.watcher.Look(ctx)
	if err != nil {
		return err
	}
	reached := make(chan struct{})
	select {
	case <-told:
	case <-s.work.Done():
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case s.sync <- reached:
		<-reached
	case <-s.work.Done():
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
	if refreshed {
		s.each(func(k *keeper) { k.tell(k.woken) })
	}
	s.lookForHermes()
	s.each(func(k *keeper) { k.settled(ctx) })
	var problems []error
	for _, r := range snap.Profiles {
		problems = append(problems, r.Err)
	}
	return errors.Join(append(problems, snap.Problems...)...)
}

// settled returns once the keeper has taken in what it was told and prepares
// nothing any more.
func (k *keeper) settled(ctx context.Context) {
	var busy chan struct{}
	if k.ask(ctx, func() error {
		busy = k.preparing
		return nil
	}) != nil || busy == nil {
		return
	}
	select {
	case <-busy:
	case <-k.gone:
	case <-ctx.Done():
	}
}

// Preflight reports what keeps homes from running as they are, without running
// anything: files that can't be used, envelopes that don't open.
func (s *Supervisor) Preflight(ctx context.Context) error {
	snap, err := profile.NewScanner(profile.Options{Sources: s.config.Sources, Host: s.config.homes()}).Scan(ctx)
	if err != nil {
		return err
	}
	found := make([]error, len(snap.Profiles))
	var group sync.WaitGroup
	for i, r := range snap.Profiles {
		group.Go(func() {
			p := s.find(ctx, r, profile.GrantsOf(r.Profile))
			if p.err != nil && (r.Err != nil || r.Settings.Enabled) {
				found[i] = fmt.Errorf("%s: %w", r.Name, p.err)
			}
		})
	}
	group.Wait()
	for _, u := range snap.Unnamed {
		found = append(found, fmt.Errorf("%s %s", u.Home, u.Text))
	}
	return errors.Join(append(found, snap.Problems...)...)
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// An OrderError is why an order was not carried out: what a person can do
// about it is Try.
type OrderError struct {
	Text string
	Try  string
	// Refused: whoever asked may not; it is not a matter of trying again.
	Refused bool
	// ForAdmin: what Try says only root and the supervisor's user may do.
	ForAdmin bool
}

func (e *OrderError) Error() string { return e.Text }

// Hint returns Try.
func (e *OrderError) Hint() string { return e.Try }

// stopWithin is how long Stop waits for a profile to be off.
const stopWithin = 15 * time.Second

// order has a profile's keeper look whether something may be done, note what is
// wanted from now on, and do it; it returns once that is on disk. look returns
// what to do. Both run on the keeper's goroutine.
func (s *Supervisor) order(ctx context.Context, name string, note func(*profile.Entry), look func(*keeper) (do func(), err error)) error {
	k := s.keeper(name)
	if k == nil {
		return fmt.Errorf("%w: %s", ErrNoProfile, name)
	}
	err := k.ask(ctx, func() error {
		do, err := look(k)
		if err != nil || do == nil {
			return err
		}
		s.registry.revive(name)
		if note != nil {
			s.registry.change(name, note)
		}
		do()
		k.observe(false)
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.registry.flush(ctx); err != nil && ctx.Err() == nil {
		return &OrderError{
			Text: fmt.Sprintf("done, but it could not be written down, and is forgotten when the supervisor ends: %v", err),
			Try:  "rcsupervisor doctor",
		}
	}
	return ctx.Err()
}

// Start has a profile run. Everything that went wrong before is forgiven, and
// it is tried at once. Where the ledger was lost, a new one is begun.
func (s *Supervisor) Start(ctx context.Context, name string) error {
	return s.want(ctx, name, func(k *keeper) { k.decide(k.history.Start(time.Now())) })
}

// Restart ends a profile's run and begins another; one that does not run it
// starts.
func (s *Supervisor) Restart(ctx context.Context, name string) error {
	return s.want(ctx, name, func(k *keeper) { k.decide(k.history.Restart(time.Now())) })
}

func (s *Supervisor) want(ctx context.Context, name string, do func(*keeper)) error {
	return s.order(ctx, name, func(e *profile.Entry) { e.Wanted = true }, func(k *keeper) (func(), error) {
		e, _ := s.registry.entry(name)
		if e.Suspended {
			text := name + " is suspended"
			if e.Reason != "" {
				text += ": " + e.Reason
			}
			return nil, &OrderError{Text: text, Try: "rcsupervisor resume " + name, Refused: true, ForAdmin: true}
		}
		if !k.enabled {
			line := ""
			if n := k.reading.Lines["enabled"]; n > 0 {
				line = ":" + itoa(n)
			}
			file := filepath.Join(k.reading.Home, profile.Folder, profile.SettingsFile) + line
			return nil, &OrderError{Text: file + " says enabled: false", Try: "edit " + file}
		}
		return func() {
			k.servers.leave(k.name)
			do(k)
		}, nil
	})
}

// Stop ends a profile's run, and returns once it is off, within 15 s.
func (s *Supervisor) Stop(ctx context.Context, name string) error {
	err := s.order(ctx, name, func(e *profile.Entry) { e.Wanted = false }, func(k *keeper) (func(), error) {
		return func() { k.decide(k.history.Stop(healthcheck.Operator, time.Now())) }, nil
	})
	if err != nil {
		return err
	}
	return s.awaitRest(ctx, name)
}

// awaitRest returns once nothing of a profile runs.
func (s *Supervisor) awaitRest(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	err := s.Await(ctx, name, func(p ProfileStatus) bool {
		return p.State == healthcheck.Off || p.State == healthcheck.Held && p.Run == nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return &OrderError{Text: fmt.Sprintf("%s is not off after %s; it is being ended by force", name, healthcheck.Span(stopWithin)), Try: "rcsupervisor status " + name}
	}
	if errors.Is(err, ErrNoProfile) {
		return nil // its home went meanwhile
	}
	return err
}

// Suspend keeps a profile from running until Resume, whatever its owner asks.
// Reason is told in status.
func (s *Supervisor) Suspend(ctx context.Context, name, reason string) error {
	err := s.order(ctx, name, func(e *profile.Entry) { e.Suspended, e.Reason = true, reason }, func(k *keeper) (func(), error) {
		return func() { k.decide(k.history.Stop(healthcheck.Suspended, time.Now())) }, nil
	})
	if err != nil {
		return err
	}
	return s.awaitRest(ctx, name)
}

// Resume ends a suspension. The profile runs if it is wanted and enabled.
func (s *Supervisor) Resume(ctx context.Context, name string) error {
	return s.order(ctx, name, func(e *profile.Entry) { e.Suspended, e.Reason = false, "" }, func(k *keeper) (func(), error) {
		return func() {
			k.decide(k.history.Resume(time.Now()))
			if rest := k.resting(); rest != "" {
				k.decide(k.history.Stop(rest, time.Now()))
			}
		}, nil
	})
}

// Accept takes everything that a profile's files give more than before into
// use, and returns what that was.
func (s *Supervisor) Accept(ctx context.Context, name string) ([]string, error) {
	var taken []string
	err := s.order(ctx, name, nil, func(k *keeper) (func(), error) {
		for _, w := range k.pending {
			taken = append(taken, w.Text)
		}
		if len(taken) == 0 {
			return nil, nil
		}
		return func() {
			k.inUse, k.pending = profile.GrantsOf(k.reading.Profile), nil
			k.accepted()
			k.settle(false)
		}, nil
	})
	return taken, err
}

// Adopt takes what a profile's home is now (another folder or owner, another
// server or bot, an older envelope, one sealed for the name it had before) for
// what it is from here on, and returns what that was; nothing may have been.
func (s *Supervisor) Adopt(ctx context.Context, name string) ([]string, error) {
	var changes []string
	var foreign profile.Reading
	err := s.order(ctx, name, nil, func(k *keeper) (func(), error) {
		claim := profile.Claim{Path: k.reading.Home, Owner: k.reading.Owner}
		entry, _ := s.registry.entry(name)
		verdict, text := entry.Judge(claim)
		switch reason := k.history.Reason; {
		case reason == healthcheck.Moved, reason == healthcheck.Rebound, reason == healthcheck.RolledBack:
			changes = append(changes, k.history.Error)
		case verdict != profile.Known:
			changes = append(changes, text)
		case reason == healthcheck.Unsealed && k.reading.Sealed != nil:
			foreign = k.reading
			return nil, nil
		default:
			return nil, nil
		}
		return func() {
			s.registry.change(name, func(e *profile.Entry) { *e = e.Adopt(claim) })
			k.adopting = true
			k.decide(k.history.Freed(k.history.Reason, time.Now()))
		}, nil
	})
	if err != nil || foreign.Sealed == nil {
		return changes, err
	}
	return s.adoptForeign(ctx, foreign)
}

// adoptForeign seals an envelope of a name that no home has any more for the
// home that it lies in. One of a name that has a home is a copy.
func (s *Supervisor) adoptForeign(ctx context.Context, r profile.Reading) ([]string, error) {
	id, err := s.config.Keys.Identity()
	if err != nil {
		return nil, err
	}
	e, err := sealed.UnsealAny(r.Sealed, id, r.Name)
	if err != nil || e.Profile == r.Name {
		return nil, err
	}
	if s.keeper(e.Profile) != nil {
		return nil, &OrderError{
			Text: fmt.Sprintf("%s holds an envelope of %s, which has a home of its own: a copy is not taken over", r.Name, e.Profile),
			Try:  "rcsupervisor add " + r.Name + " --server URL --force", Refused: true,
		}
	}
	if err := s.sealFor(r, e.Profile); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("its envelope was sealed for %q and is now for %s", e.Profile, r.Name)}, s.Rescan(ctx)
}

// Await returns once ok holds of a profile, or it is gone.
func (s *Supervisor) Await(ctx context.Context, name string, ok func(ProfileStatus) bool) error {
	l := s.Listen()
	defer l.Close()
	for {
		k := s.keeper(name)
		if k == nil {
			return fmt.Errorf("%w: %s", ErrNoProfile, name)
		}
		if ok(k.view.Load().status(time.Now(), true)) {
			return nil
		}
		select {
		case <-l.C():
			l.Take()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

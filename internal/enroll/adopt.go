package enroll

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// An Adopted is what is now known of a name.
type Adopted struct {
	Changes    []string `json:"changes"` // what was other than known; none: nothing
	Home       string   `json:"home"`
	Server     string   `json:"server,omitempty"`
	UserID     string   `json:"user_id,omitempty"`
	Generation uint64   `json:"generation,omitempty"`
}

// Adopt takes what a home is now for what its name is: another folder or owner,
// another bot, an older envelope. An envelope that was sealed for a name that
// no home has any more is sealed for this one.
func (d *Desk) Adopt(ctx context.Context, by Caller, name string) (Adopted, error) {
	r, reading, err := d.enter(ctx, by, name)
	if err != nil {
		return Adopted{}, err
	}
	defer r.leave()
	entry, known, err := d.Names.Entry(name)
	if err != nil {
		return Adopted{}, err
	}
	done := Adopted{Changes: []string{}, Home: r.home}
	claim := profile.Claim{Path: r.home, Owner: r.owner}
	e, err := d.takeOver(ctx, r, entry.Generation, &done)
	switch {
	case err == nil:
		claim.Server, claim.Bot, claim.Generation = e.Server, e.UserID, e.Generation
		done.Server, done.UserID, done.Generation = e.Server, e.UserID, e.Generation
	case !errors.Is(err, sealed.ErrMissing):
		return done, err
	}
	if !known {
		entry = profile.NewEntry(claim)
		grants := profile.GrantsOf(reading.Profile)
		entry.Accepted = &grants
	}
	for {
		verdict, text := entry.Judge(claim)
		if verdict == profile.Known {
			break
		}
		done.Changes = append(done.Changes, text)
		take := claim
		if verdict == profile.Moved { // the folder first, so that what else differs is said too
			take.Server = ""
		}
		next := entry.Adopt(take)
		if again, _ := next.Judge(claim); again == verdict {
			return done, fmt.Errorf("%s stays %s", name, verdict)
		}
		entry = next
	}
	if len(done.Changes) == 0 && known {
		return done, nil
	}
	return done, d.Names.Change(name, &entry)
}

// takeOver opens the home's envelope. One of a name that no home has any more
// is sealed for this one: it was renamed while nobody looked. One of a name
// that has a home is a copy, and stays refused.
func (d *Desk) takeOver(ctx context.Context, r *visit, floor uint64, done *Adopted) (sealed.Envelope, error) {
	keys, err := d.Keys()
	if err != nil {
		return sealed.Envelope{}, err
	}
	e, err := r.store().Read(keys.Identity())
	if !errors.Is(err, sealed.ErrForeign) {
		return e, err
	}
	data, err2 := r.store().Raw()
	if err2 != nil {
		return e, err2
	}
	foreign, err2 := sealed.UnsealAny(data, keys.Identity(), r.name)
	if err2 != nil {
		return e, err2
	}
	snap, err2 := d.Scan(ctx)
	if err2 != nil {
		return e, err2
	}
	if other, taken := snap.Profile(foreign.Profile); taken {
		return e, &Error{
			Text: r.name + " holds an envelope of " + other.Name + ", which has a home of its own: a copy is not taken over",
			Try:  "rcsupervisor add " + r.name + " --server URL --force", Err: err,
		}
	}
	if e, err = r.store().Adopt(keys, foreign.Profile, floor); err != nil {
		return e, err
	}
	done.Changes = append(done.Changes, "its envelope was sealed for "+strconv.Quote(foreign.Profile)+" and is now for "+r.name)
	return e, nil
}

// An Accepted is what files gave that a person has accepted.
type Accepted struct {
	Changes []string `json:"changes"`
}

// Accept takes what a profile's files give for what a person gives. Nothing
// may have waited.
func (d *Desk) Accept(ctx context.Context, by Caller, name string) (Accepted, error) {
	r, reading, err := d.enter(ctx, by, name)
	if err != nil {
		return Accepted{}, err
	}
	defer r.leave()
	done := Accepted{Changes: []string{}}
	if reading.Err != nil {
		return done, reading.Err
	}
	entry, known, err := d.Names.Entry(name)
	if err != nil || !known || entry.Accepted == nil {
		return done, err // what a home holds when it is first seen is a person's
	}
	grants := profile.GrantsOf(reading.Profile)
	for _, w := range profile.Widens(*entry.Accepted, grants) {
		done.Changes = append(done.Changes, w.Text)
	}
	entry.Accepted = &grants
	return done, d.Names.Change(name, &entry)
}

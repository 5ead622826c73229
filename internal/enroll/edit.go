package enroll

import (
	"context"
	"errors"

	"rcsupervisor/profile"
)

// edit changes access.yaml, and has the ledger take what a person gave for
// accepted before the file says so: whoever sees the file change then finds
// nothing in it that waits.
func (d *Desk) edit(ctx context.Context, r *visit, edits ...profile.Edit) error {
	if d.Edit != nil {
		return d.Edit(ctx, r.name, edits...)
	}
	return d.editHere(r, edits...)
}

// editHere is edit for a home that nobody runs.
func (d *Desk) editHere(r *visit, edits ...profile.Edit) error {
	entry, known, err := d.Names.Entry(r.name)
	if err != nil {
		return err
	}
	was := entry.Accepted
	given := known && was != nil
	if given {
		now := *was
		now.Access, err = was.Access.With(edits...)
		if err != nil && !errors.Is(err, profile.ErrUnknown) { // what was never in use need not be taken out of it
			return err
		}
		entry.Accepted = &now
		if err := d.Names.Change(r.name, &entry); err != nil {
			return err
		}
	}
	_, err = profile.WriteAccess(r.home, edits...)
	if err != nil && given {
		entry.Accepted = was
		err = errors.Join(err, d.Names.Change(r.name, &entry))
	}
	return err
}

package enroll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rcsupervisor/channel/rest"
	"rcsupervisor/profile"
)

// ownerOf asks the server who the first owner is to be, "" for nobody yet.
func ownerOf(ctx context.Context, client *rest.Client, b Bot, id string) (p profile.Person, err error) {
	if id == "" || LooksLikeToken(id) {
		return p, unknownOwner(id)
	}
	p, err = whoIs(ctx, client, "NAME", PersonWish{Do: "owner", ID: id})
	switch {
	case err == nil && p.ID != b.UserID:
		return p, nil
	case err == nil:
		return p, &FieldError{Field: "owner id", Text: "that is the bot itself", Try: "--owner-id ID", err: ErrUnlikely}
	case !errors.Is(err, ErrUnlikely) && unknownOwner(id) == nil:
		return profile.Person{ID: id}, nil // the server doesn't say who that is
	}
	try := "--owner-id ID"
	if name, ok := strings.CutPrefix(Hint(err), "rcsupervisor people NAME owner "); ok {
		try = "--owner-id " + name
	}
	return p, &FieldError{Field: "owner id", Text: err.Error(), Try: try, err: ErrUnlikely}
}

// unknownOwner fails for what can't be the id of a person whom no server was
// asked about.
func unknownOwner(id string) error {
	switch {
	case LooksLikeToken(id):
		return &FieldError{Field: "owner id", Text: "that looks like a token, not like a user id", Try: "--owner-id ID", err: ErrUnlikely}
	case strings.HasPrefix(id, "@") || !oneWord(id):
		return &FieldError{Field: "owner id", Text: "that is no user id; a username takes the server to be asked", Try: "--owner-id ID", err: ErrUnlikely}
	}
	return nil
}

// firstOwner lets the first owner in, or gives out the code by which he will
// prove himself. A home that is new is no profile yet that anybody runs.
func (d *Desk) firstOwner(ctx context.Context, r *visit, owner profile.Person, isNew bool, done *Added) error {
	owner.Role = profile.Owner
	if owner.ID != "" && isNew {
		return d.editHere(r, profile.LetIn(owner))
	}
	if owner.ID != "" {
		return d.edit(ctx, r, profile.LetIn(owner))
	}
	access, err := r.access()
	if err != nil || slices.ContainsFunc(access.People, func(p profile.Person) bool { return p.Role == profile.Owner }) {
		return err
	}
	done.Code, err = d.Book.NewCode(r.name, d.now())
	if err != nil {
		return fmt.Errorf("the owner's code: %w", err)
	}
	return nil
}

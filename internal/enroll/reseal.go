package enroll

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A ResealWish says which envelopes are to be sealed anew.
type ResealWish struct {
	Names       []string `json:"names,omitempty"`
	All         bool     `json:"all,omitempty"`
	NewIdentity bool     `json:"new_identity,omitempty"` // change the host's identity first; needs All
}

// Check fails for what can't be meant.
func (w ResealWish) Check() error {
	switch {
	case w.All == (len(w.Names) > 0):
		return unlikely("rcsupervisor reseal --all", "which profiles? their names, or --all")
	case w.NewIdentity && !w.All:
		return unlikely("rcsupervisor reseal --all --new-identity", "another identity is for all profiles of the host")
	}
	return nil
}

// A Resealed says what became of each profile, by name.
type Resealed struct {
	Resealed   []string `json:"resealed"`
	Empty      []string `json:"empty"`   // held no envelope
	Gone       []string `json:"gone"`    // vanished before their turn
	Changed    []string `json:"changed"` // sealed anew by somebody else meanwhile
	Finished   []string `json:"finished"`
	Recipients []string `json:"recipients"`
	Identity   string   `json:"identity,omitempty"` // the new identity's public half
}

// Reseal seals envelopes anew for the recipients that recipients.txt names
// now, all of them or none. One that was interrupted is brought to its end
// first. With NewIdentity the host gets another identity: envelopes open with
// the old one until the last of them is sealed for the new one, and only then
// is the old one forgotten.
func (d *Desk) Reseal(ctx context.Context, by Caller, w ResealWish) (Resealed, error) {
	if err := w.Check(); err != nil {
		return Resealed{}, err
	}
	if w.NewIdentity && !by.Operator {
		return Resealed{}, &Error{Text: "the identity is the host's", Try: "ask whoever runs this host", Err: ErrNotYours}
	}
	var done Resealed
	var err error
	if done.Finished, err = d.finish(ctx); err != nil {
		return done, err
	}
	if !by.Operator { // whoever asks brings to its end what was begun for all, and is told of his own
		done.Finished = slices.DeleteFunc(done.Finished, func(name string) bool {
			_, err := d.Profile(ctx, by, name)
			return err != nil
		})
	}
	keys, err := d.sealers(w.NewIdentity)
	if err != nil {
		return done, err
	}
	done.Recipients = keys.Recipients().Keys()
	targets, err := d.targets(ctx, by, w)
	if err != nil {
		return done, err
	}
	visits, homes, err := d.enterAll(targets)
	defer func() {
		for _, v := range visits {
			v.leave()
		}
	}()
	if err != nil {
		return done, err
	}
	d.say("sealing %d envelopes anew", len(homes))
	r, err := sealed.Rekey(ctx, d.State, homes, keys.Identity(), keys)
	done.Resealed, done.Empty, done.Gone, done.Changed = list(r.Resealed), list(r.Empty), list(r.Gone), list(r.Changed)
	if err != nil || !w.NewIdentity {
		return done, err
	}
	done.Identity, err = d.forgetOld(homes)
	return done, err
}

func list(names []string) []string { return append([]string{}, names...) }

// sealers are the keys to seal with; anew begins to change the identity.
func (d *Desk) sealers(anew bool) (*sealed.Keyring, error) {
	if anew {
		d.say("making another identity")
		return sealed.StartRotation(d.Identity)
	}
	return d.Keys()
}

// forgetOld takes the old identity out, if every envelope opens without it.
func (d *Desk) forgetOld(homes []sealed.Home) (string, error) {
	d.say("forgetting the old identity")
	id, err := sealed.FinishRotation(d.Identity, func(alone *sealed.Identity) error {
		for _, h := range homes {
			_, err := sealed.Store{Folder: h.Folder, Profile: h.Profile}.Read(alone)
			if err != nil && !errors.Is(err, sealed.ErrMissing) && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return id.Recipient(), nil
}

// finish brings a reseal that was interrupted to its end.
func (d *Desk) finish(ctx context.Context) ([]string, error) {
	left, err := sealed.Unfinished(d.State)
	if err != nil || !left {
		return []string{}, err
	}
	d.say("finishing a reseal that was interrupted")
	var visits []*visit
	defer func() {
		for _, v := range visits {
			v.leave()
		}
	}()
	r, err := sealed.Resume(d.State, func(key, name string) (sealed.Folder, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := d.enterAt(name, key, false)
		if err != nil {
			return nil, err
		}
		visits = append(visits, v)
		return folder{v.dir}, nil
	})
	return list(r.Resealed), err
}

// targets are the profiles that are meant.
func (d *Desk) targets(ctx context.Context, by Caller, w ResealWish) ([]profile.Reading, error) {
	snap, err := d.Scan(ctx)
	if err != nil {
		return nil, err
	}
	var all []profile.Reading
	for _, r := range snap.Profiles {
		if (w.All || slices.Contains(w.Names, r.Name)) && by.may(r.Name, r.Owner) == nil {
			all = append(all, r)
		}
	}
	for _, name := range w.Names {
		if !slices.ContainsFunc(all, func(r profile.Reading) bool { return r.Name == name }) {
			return nil, noProfile(name)
		}
	}
	return all, nil
}

// enterAll locks and opens homes. What could be entered is returned also with
// an error.
func (d *Desk) enterAll(targets []profile.Reading) (visits []*visit, homes []sealed.Home, err error) {
	for _, r := range targets {
		v, err := d.enterAt(r.Name, r.Home, false)
		if err != nil {
			return visits, nil, err
		}
		visits = append(visits, v)
		homes = append(homes, sealed.Home{Key: r.Home, Profile: r.Name, Folder: folder{v.dir}})
	}
	return visits, homes, nil
}

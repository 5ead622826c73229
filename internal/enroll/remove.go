package enroll

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// RemovedFile is what channel.yaml is called in a home that takes part no more.
const RemovedFile = profile.SettingsFile + ".removed"

// A RemoveWish says how much is to go.
type RemoveWish struct {
	Purge bool `json:"purge,omitempty"` // settings, access and state too
}

// A Removed is what is gone.
type Removed struct {
	Home   string   `json:"home"`
	Gone   []string `json:"gone"`
	Kept   string   `json:"kept,omitempty"` // what the settings are called now
	Server string   `json:"server,omitempty"`
	UserID string   `json:"user_id,omitempty"` // whose token should be taken back on the server
}

// Remove takes a profile out: its home takes part no more, its credentials are
// gone, and its name is free. Settings and access stay, for another time,
// unless they are purged. It may be repeated, and goes on where it was cut
// short: the home stops taking part before anything else goes.
func (d *Desk) Remove(ctx context.Context, by Caller, name string, w RemoveWish) (Removed, error) {
	place, _, err := d.place(ctx, by, name)
	if errors.Is(err, ErrNoProfile) || errors.Is(err, ErrUnlikely) {
		err = noProfile(name)
	}
	if err != nil {
		return Removed{}, err
	}
	_, known, err := d.Names.Entry(name)
	if err != nil {
		return Removed{}, err
	}
	done := Removed{Home: place.Dir, Gone: []string{}}
	r, err := d.enterAt(name, place.Dir, false)
	switch {
	case errors.Is(err, fs.ErrNotExist) && known && by.Operator:
		// The home is gone; what is known of it goes too.
	case errors.Is(err, fs.ErrNotExist):
		return done, noProfile(name)
	case err != nil:
		return done, err
	default:
		defer r.leave()
		if err := d.takeOut(r, w, &done); err != nil {
			return done, err
		}
	}
	if len(done.Gone) == 0 && !known {
		return done, noProfile(name)
	}
	if err := d.Names.Change(name, nil); err != nil {
		return done, err
	}
	return done, d.Book.Drop(name)
}

// takeOut empties what is ours in a home, what makes it take part first.
func (d *Desk) takeOut(r *visit, w RemoveWish, done *Removed) error {
	if keys, err := d.Keys(); err == nil {
		if e, err := r.store().Read(keys.Identity()); err == nil {
			done.Server, done.UserID = e.Server, e.UserID
		}
	}
	gone := func(name string, err error) error {
		if err == nil {
			done.Gone = append(done.Gone, filepath.Join(profile.Folder, name))
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	err := r.dir.Do(func(root *os.Root) error {
		if w.Purge {
			if err := gone(profile.SettingsFile, root.Remove(profile.SettingsFile)); err != nil {
				return err
			}
			return gone(sealed.FileName, root.Remove(sealed.FileName))
		}
		if err := gone(profile.SettingsFile, root.Rename(profile.SettingsFile, RemovedFile)); err != nil {
			return err
		}
		if len(done.Gone) > 0 {
			done.Kept = filepath.Join(profile.Folder, RemovedFile)
		}
		return gone(sealed.FileName, root.Remove(sealed.FileName))
	})
	if err != nil || !w.Purge {
		return err
	}
	return purge(r, done)
}

// purge removes the whole of our folder. The lock in it is held until the end:
// whoever waits for it finds the folder gone.
func purge(r *visit, done *Removed) error {
	home, err := openHome(r.home)
	if err != nil {
		return err
	}
	defer home.Close()
	err = home.Do(func(root *os.Root) error { return root.RemoveAll(profile.Folder) })
	if err == nil {
		done.Gone = append(done.Gone, profile.Folder)
	}
	return err
}

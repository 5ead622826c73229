package enroll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"rcsupervisor/internal/hostfile"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/internal/people"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Desk carries out what people ask for. Its fields are set before its first
// use; its methods may be called from any goroutine, if those of the fields
// may.
type Desk struct {
	Sources profile.Sources
	Host    hostfile.File
	State   *os.Root // the state directory
	Book    *people.Book
	Names   Registry

	// Keys opens and seals. It is asked when first needed, since it may ask
	// somebody for a passphrase.
	Keys func() (*sealed.Keyring, error)
	// Identity says where the identity is, for changing it.
	Identity sealed.Options
	// Lock keeps everybody else from changing a home until it is released. nil
	// where the caller is the only writer anyhow.
	Lock func(home string) (io.Closer, error)
	// Find returns a profile by its name, with ErrNoProfile where there is
	// none; nil looks at all homes.
	Find func(ctx context.Context, name string) (profile.Reading, error)
	// Edit changes a profile's access.yaml and has what a person gave in use;
	// nil does so in the home and the ledger.
	Edit func(ctx context.Context, name string, edits ...profile.Edit) error
	// Say tells somebody who waits what is being done; nil tells nobody.
	Say func(what string)
	Now func() time.Time // nil for time.Now
}

// A Caller is who asks. The zero Caller may do nothing.
type Caller struct {
	UID      int
	Operator bool // root or the supervisor's own user, who may do all
}

// Operator is whoever calls this process his own.
var Operator = Caller{Operator: true}

// may fails when a home of that owner is not the caller's business. To him it
// isn't there.
func (c Caller) may(name string, owner int) error {
	if c.Operator || c.UID == owner {
		return nil
	}
	return noProfile(name)
}

func (d *Desk) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

func (d *Desk) say(format string, args ...any) {
	if d.Say != nil {
		d.Say(fmt.Sprintf(format, args...))
	}
}

// Scan looks at all homes.
func (d *Desk) Scan(ctx context.Context) (*profile.Snapshot, error) {
	held, err := d.Names.Paths()
	if err != nil {
		return nil, err
	}
	return profile.NewScanner(profile.Options{Sources: d.Sources, Host: d.Host.Host(), Held: held}).Scan(ctx)
}

// Profile returns a profile by its name, if the caller may know it.
func (d *Desk) Profile(ctx context.Context, by Caller, name string) (profile.Reading, error) {
	r, err := d.find(ctx, name)
	if err == nil {
		err = by.may(name, r.Owner)
	}
	return r, err
}

func (d *Desk) find(ctx context.Context, name string) (profile.Reading, error) {
	if d.Find != nil {
		return d.Find(ctx, name)
	}
	snap, err := d.Scan(ctx)
	if err != nil {
		return profile.Reading{}, err
	}
	if r, ok := snap.Profile(name); ok {
		return r, nil
	}
	e := noProfile(name).(*Error)
	e.Try = "rcsupervisor add " + name + " --server URL"
	if !profile.ValidName(name) {
		e.Text, e.Try = "no such profile", "rcsupervisor status"
	}
	for _, u := range snap.Unnamed {
		if u.Wanted == name {
			e.Text, e.Try = e.Text+": "+u.Home+" "+u.Text, u.Try
		}
	}
	return profile.Reading{}, e
}

// A visit is one home while something in it is changed: its lock, what is ours
// in it, and its envelope.
type visit struct {
	name  string
	home  string
	owner int
	dir   *ownerfs.Dir
	lock  io.Closer
}

// enter locks a home that takes part and opens what is ours in it.
func (d *Desk) enter(ctx context.Context, by Caller, name string) (*visit, profile.Reading, error) {
	r, err := d.Profile(ctx, by, name)
	if err != nil {
		return nil, r, err
	}
	v, err := d.enterAt(name, r.Home, false)
	return v, r, err
}

// enterAt is enter for a folder; with make it makes what is missing.
func (d *Desk) enterAt(name, home string, make bool) (*visit, error) {
	r := &visit{name: name, home: home}
	var err error
	if make {
		r.dir, err = open(home)
	} else {
		r.dir, err = ours(home)
	}
	if err != nil {
		return nil, err
	}
	r.owner = r.dir.Owner().UID
	if d.Lock == nil {
		return r, nil
	}
	if r.lock, err = d.Lock(home); err != nil {
		r.dir.Close()
		return nil, err
	}
	return r, nil
}

func (r *visit) leave() error {
	err := r.dir.Close()
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}

func (r *visit) store() sealed.Store {
	return sealed.Store{Folder: folder{r.dir}, Profile: r.name}
}

// floor is the highest generation that was seen of a name's envelopes.
func (d *Desk) floor(name string) (uint64, error) {
	e, _, err := d.Names.Entry(name)
	return e.Generation, err
}

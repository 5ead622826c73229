package sealed

import (
	"errors"
	"fmt"
	"io/fs"
)

// A Store is one profile's envelope in its folder. It holds no state; whoever
// writes holds the home's lock, since two writers at once would each take the
// same next generation.
type Store struct {
	Folder  Folder
	Profile string
}

// WriteOptions are for the cases a plain write refuses.
type WriteOptions struct {
	// Floor is the highest generation seen before, as the ledger has it. The
	// new one is higher, also where the file is gone or can't be opened.
	Floor uint64
	// Force replaces another bot's envelope, another profile's, and one that
	// can't be opened.
	Force bool
}

// Raw returns the sealed bytes as they lie there, with [ErrMissing] when there
// are none.
func (s Store) Raw() ([]byte, error) {
	data, err := s.Folder.ReadFile(FileName, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Kind: ErrMissing, Text: s.Profile + " has no sealed credentials", Try: "rcsupervisor add " + s.Profile + " --server URL", Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, &Error{Kind: ErrUnreadable, Text: "the credentials of " + s.Profile + " can't be read", Try: "rcsupervisor check " + s.Profile, Err: err}
	}
	return data, nil
}

// Read opens the profile's envelope. See [Unseal] for the errors, besides
// [ErrMissing].
func (s Store) Read(id *Identity) (Envelope, error) {
	data, err := s.Raw()
	if err != nil {
		return Envelope{}, err
	}
	return Unseal(data, id, s.Profile)
}

// Write seals e for the profile in place of what lies there, with the next
// generation, and returns it as it was read back and opened again. Profile,
// Generation and SealedAt of e are not looked at. Where another bot's
// envelope lies the error is [ErrOtherBot]; a foreign, damaged or newer one,
// and one sealed for other keys, is that error and stays, unless forced.
func (s Store) Write(e Envelope, k *Keyring, o WriteOptions) (Envelope, error) {
	floor := o.Floor
	was, err := s.Read(k.identity)
	switch {
	case err == nil:
		floor = max(floor, was.Generation)
		if !was.SameBot(e) && !o.Force {
			return Envelope{}, &Error{
				Kind: ErrOtherBot,
				Text: fmt.Sprintf("%s holds the credentials of another bot (user %s on %s)", s.Profile, was.UserID, was.Server),
				Try:  "rcsupervisor add " + s.Profile + " --server URL --force, or another name",
			}
		}
	case errors.Is(err, ErrMissing) || o.Force:
	default:
		return Envelope{}, err
	}
	return s.put(e, k, floor)
}

// Update changes what is sealed: it opens the envelope, has change alter it,
// and writes it with the next generation. What change returns as an error
// leaves everything as it was.
func (s Store) Update(k *Keyring, floor uint64, change func(*Envelope) error) (Envelope, error) {
	was, err := s.Read(k.identity)
	if err != nil {
		return Envelope{}, err
	}
	e := was.clone()
	if err := change(&e); err != nil {
		return Envelope{}, err
	}
	return s.put(e, k, max(floor, was.Generation))
}

// Adopt seals the envelope of the profile that was renamed to this one for its
// new name. An envelope of yet another profile is [ErrForeign]; one that
// already is this profile's stays as it is.
func (s Store) Adopt(k *Keyring, from string, floor uint64) (Envelope, error) {
	data, err := s.Raw()
	if err != nil {
		return Envelope{}, err
	}
	e, err := UnsealAny(data, k.identity, s.Profile)
	if err != nil || e.Profile == s.Profile {
		return e, err
	}
	if e.Profile != from {
		return Unseal(data, k.identity, s.Profile)
	}
	return s.put(e, k, max(floor, e.Generation))
}

// Reseal seals the same credentials again, for the keyring's recipients. The
// generation stays: it counts what is sealed, not for whom.
func (s Store) Reseal(k *Keyring) (Envelope, error) {
	e, err := s.Read(k.identity)
	if err != nil {
		return Envelope{}, err
	}
	return s.put(e, k, e.Generation-1)
}

// put seals e as the generation after floor and replaces the file.
func (s Store) put(e Envelope, k *Keyring, floor uint64) (Envelope, error) {
	if floor >= maxGeneration {
		return Envelope{}, &Error{Kind: ErrInvalid, Text: "the generation of " + s.Profile + " can rise no further", Try: "rcsupervisor remove " + s.Profile + " and add it anew"}
	}
	e = e.clone()
	e.Profile, e.Generation = s.Profile, floor+1
	e.SealedAt = now()
	data, err := Seal(e, k)
	if err != nil {
		return Envelope{}, err
	}
	var back Envelope
	err = s.Folder.ReplaceFile(FileName, data, 0o600, func(written []byte) error {
		back, err = verify(written, e, k)
		return err
	})
	if err != nil {
		return Envelope{}, fmt.Errorf("seal the credentials of %s: %w", s.Profile, err)
	}
	return back, nil
}

// errVerify is what a write ends with that doesn't open as what was sealed.
var errVerify = errors.New("what was written does not open as what was sealed")

// verify opens what was written and compares. What was forced to be sealed
// for others only, nobody here can open, and it is taken as it is.
func verify(written []byte, want Envelope, k *Keyring) (Envelope, error) {
	if !k.verifies {
		return want, nil
	}
	back, err := Unseal(written, k.identity, want.Profile)
	if err != nil {
		return Envelope{}, err
	}
	if want.Keys[PostKey].Empty() { // made by Seal
		want = want.clone()
		if want.Keys == nil {
			want.Keys = map[string]Secret{}
		}
		want.Keys[PostKey] = back.Keys[PostKey]
	}
	if !back.Same(want) || back.Stale(k.recipients) {
		return Envelope{}, errVerify
	}
	return back, nil
}

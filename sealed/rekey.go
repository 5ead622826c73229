package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A Home is a profile whose envelope is resealed together with others.
type Home struct {
	Key     string // names it in the journal, for good: the path of its folder
	Profile string
	Folder  Folder
}

// A Rekeyed says what became of each profile of a reseal, by name.
type Rekeyed struct {
	Resealed []string // now sealed for the new recipients
	Empty    []string // held no envelope
	Gone     []string // vanished before their turn
	Changed  []string // sealed anew by somebody else meanwhile, and left as they are
}

// Rekey seals the envelopes of many profiles for the keyring's recipients:
// all of them or none. open is the identity that opens them as they lie, which
// is another than the keyring's while the host's identity is changed.
//
// First every envelope is opened, sealed anew and opened again, in memory; one
// that can't be is an error that names it, and nothing has changed. Then all
// go into a journal, and only then are the files replaced. Killed at any
// point, [Resume] brings what was begun to its end. A file that can't be
// replaced has all others put back: [ErrPutBack].
//
// Generations stay, for they count what is sealed and not for whom; so putting
// back is no roll-back. The caller holds the locks of the homes and of the
// journal's folder.
func Rekey(ctx context.Context, journal *os.Root, homes []Home, open *Identity, k *Keyring) (Rekeyed, error) {
	if left, err := Unfinished(journal); err != nil {
		return Rekeyed{}, err
	} else if left {
		return Rekeyed{}, unfinished()
	}
	var done Rekeyed
	var entries []journalEntry
	folders := map[string]Folder{}
	for _, h := range homes {
		if err := ctx.Err(); err != nil {
			return Rekeyed{}, err
		}
		if _, twice := folders[h.Key]; twice {
			return Rekeyed{}, fmt.Errorf("the home of %s is named twice", h.Profile)
		}
		folders[h.Key] = h.Folder
		entry, err := h.plan(open, k)
		if errors.Is(err, ErrMissing) {
			done.Empty = append(done.Empty, h.Profile)
			continue
		}
		if err != nil {
			return Rekeyed{}, err
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return done, nil
	}
	if err := writeJournal(journal, entries); err != nil {
		return Rekeyed{}, err
	}
	applied, err := apply(journal, entries, func(key, _ string) (Folder, error) { return folders[key], nil })
	applied.Empty = done.Empty
	return applied, err
}

// Resume ends a reseal that was interrupted, as [Rekey] would have; without
// one it does nothing. find returns the folder of a home by its key and
// profile, or [fs.ErrNotExist] when it is gone.
func Resume(journal *os.Root, find func(key, profile string) (Folder, error)) (Rekeyed, error) {
	entries, err := readJournal(journal)
	if err != nil || len(entries) == 0 {
		return Rekeyed{}, err
	}
	return apply(journal, entries, find)
}

// plan seals the home's envelope anew, in memory, and checks the seal.
func (h Home) plan(open *Identity, k *Keyring) (journalEntry, error) {
	s := Store{Folder: h.Folder, Profile: h.Profile}
	old, err := s.Raw()
	if err != nil {
		return journalEntry{}, err
	}
	e, err := Unseal(old, open, h.Profile)
	if err != nil {
		return journalEntry{}, err
	}
	e.SealedAt = now()
	sealed, err := Seal(e, k)
	if err != nil {
		return journalEntry{}, err
	}
	if _, err := verify(sealed, e, k); err != nil {
		return journalEntry{}, fmt.Errorf("seal the credentials of %s: %w", h.Profile, err)
	}
	return journalEntry{Home: h.Key, Profile: h.Profile, Old: old, New: sealed}, nil
}

// apply replaces the files of the entries, or puts all back.
func apply(journal *os.Root, entries []journalEntry, find func(key, profile string) (Folder, error)) (Rekeyed, error) {
	var done Rekeyed
	for i, e := range entries {
		folder, err := find(e.Home, e.Profile)
		state := forward
		if err == nil {
			state, err = swap(folder, e.Old, e.New)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done.Gone = append(done.Gone, e.Profile)
		case err != nil:
			return Rekeyed{}, rollBack(journal, entries[:i+1], find, fmt.Errorf("reseal %s: %w", e.Profile, err))
		case state == foreignBytes:
			done.Changed = append(done.Changed, e.Profile)
		default:
			done.Resealed = append(done.Resealed, e.Profile)
		}
	}
	return done, removeJournal(journal)
}

// rollBack puts the old files back after cause. Should that fail too, the
// journal stays and the next attempt goes forward again.
func rollBack(journal *os.Root, entries []journalEntry, find func(key, profile string) (Folder, error), cause error) error {
	var failed []error
	for _, e := range entries {
		folder, err := find(e.Home, e.Profile)
		if err == nil {
			_, err = swap(folder, e.New, e.Old)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("put back %s: %w", e.Profile, err))
		}
	}
	if len(failed) > 0 {
		return &Error{
			Kind: ErrUnfinished, Text: "some envelopes are sealed anew and some are not; all of them open",
			Try: "mend what is said here, then rcsupervisor reseal --all", Err: errors.Join(append([]error{cause}, failed...)...),
		}
	}
	if err := removeJournal(journal); err != nil {
		return errors.Join(cause, err)
	}
	return &Error{Kind: ErrPutBack, Text: "nothing was resealed", Try: "mend what is said here, then rcsupervisor reseal --all", Err: cause}
}

type swapped int

const (
	forward      swapped = iota // to is in place
	foreignBytes                // neither from nor to lies there
)

// swap replaces from by to. It may be repeated.
func swap(folder Folder, from, to []byte) (swapped, error) {
	lies, err := folder.ReadFile(FileName, MaxFile)
	switch {
	case err != nil:
		return forward, err
	case bytes.Equal(lies, to):
		return forward, nil
	case !bytes.Equal(lies, from):
		return foreignBytes, nil
	}
	return forward, folder.ReplaceFile(FileName, to, 0o600, func(written []byte) error {
		if !bytes.Equal(written, to) {
			return errVerify
		}
		return nil
	})
}

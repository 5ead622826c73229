package profile

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rcsupervisor/internal/ownerfs"
)

// candidates are the folders below a root that could be homes.
func (s *Scanner) candidates(ctx context.Context, r Root, snap *Snapshot) []candidate {
	var all []candidate
	for _, dir := range s.glob(ctx, r.Dir, snap) {
		snap.within(filepath.Dir(dir), filepath.Base(dir))
		real, err := s.resolve(ctx, dir)
		if err != nil {
			s.problem(snap, err)
			continue
		}
		all = append(all, candidate{dir: real, prefix: r.Prefix})
		all = append(all, s.below(ctx, real, r.Prefix, snap)...)
	}
	return all
}

// A listing is what was asked of a root.
type listing struct {
	dir     string
	entries []ownerfs.Entry
	err     error
}

// listed makes one error of the two.
func listed(l listing, err error) (listing, error) {
	if err == nil {
		err = l.err
	}
	return l, err
}

// resolve follows the links that root or this user made on the way to a folder
// that a person named.
func (s *Scanner) resolve(ctx context.Context, dir string) (string, error) {
	l, err := listed(ask(ctx, s.readers, dir, func() (l listing) { l.dir, l.err = ownerfs.Resolve(dir); return l }))
	return l.dir, err
}

func (s *Scanner) list(ctx context.Context, dir string) ([]ownerfs.Entry, error) {
	l, err := listed(ask(ctx, s.readers, dir, func() (l listing) { l.entries, _, l.err = ownerfs.Entries(dir, maxEntries); return l }))
	return l.entries, err
}

// problem notes an error; a root that isn't there yet is none.
func (s *Scanner) problem(snap *Snapshot, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		snap.Problems = append(snap.Problems, err)
	}
}

// glob is filepath.Glob, but that each folder is read as its owner, and no
// tenant's link is followed.
func (s *Scanner) glob(ctx context.Context, pattern string, snap *Snapshot) []string {
	if !isPattern(pattern) {
		return []string{pattern}
	}
	dirs := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range dirs {
			if !isPattern(part) {
				next = append(next, filepath.Join(dir, part))
				continue
			}
			entries, err := s.list(ctx, dir)
			if err != nil {
				s.problem(snap, err)
			}
			for _, e := range entries {
				if ok, _ := filepath.Match(part, e.Name); ok && (e.Dir || e.Link) {
					next = append(next, filepath.Join(dir, e.Name))
				}
			}
			snap.within(dir, "")
		}
		dirs = next
	}
	return dirs
}

// below are the folders in a root's profiles/.
func (s *Scanner) below(ctx context.Context, root, prefix string, snap *Snapshot) []candidate {
	dir := filepath.Join(root, "profiles")
	snap.within(root, "profiles")
	snap.within(dir, "")
	list, err := s.list(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.problem(snap, err)
		// What was known there is still there, as far as anybody can tell.
		return s.knownBelow(dir)
	}
	var all []candidate
	for _, e := range list {
		path := filepath.Join(dir, e.Name)
		switch {
		case e.Link:
			snap.Unnamed = append(snap.Unnamed, Unnamed{
				Home: path, Text: "is a symbolic link, which is not followed",
				Try: "rcsupervisor run --home NAME=" + ownerfs.Quote(path),
			})
		case e.Dir:
			all = append(all, candidate{dir: path, base: e.Name, prefix: prefix})
		}
	}
	return all
}

func (s *Scanner) knownBelow(dir string) []candidate {
	var all []candidate
	for _, path := range slices.Sorted(maps.Keys(s.last)) {
		if x := s.last[path]; filepath.Dir(path) == dir && x.base != "" {
			all = append(all, x.candidate)
		}
	}
	return all
}

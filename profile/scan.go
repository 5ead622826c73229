package profile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Bounds of finding homes.
const (
	// MaxHomes is how many homes may take part. More are a mistake: a root that
	// is something else than it was taken for.
	MaxHomes = 5000
	// maxEntries bounds a folder that homes are looked for in.
	maxEntries = 20_000
)

// A Reading is one profile as a scan found it. Name and Home are always set;
// Err is nil, a [*Fault], or an
// error of a context; with an error the profile's settings are not to be used.
type Reading struct {
	Profile
	Err error
}

// An Unnamed home takes part and has no name of its own, so it does not run.
type Unnamed struct {
	Home   string // absolute
	Wanted string // the name it would have, "" when it can have none
	Text   string // why, lower case, without a full stop
	Try    string // what mends it
}

// A Snapshot is all homes at one time.
type Snapshot struct {
	Profiles []Reading // by name
	Unnamed  []Unnamed // by path
	Problems []error   // of roots that could not be looked through, or not whole

	folders []folder // where homes come and go, for the watcher
	seen    []*sighting
}

// A folder in which entry coming or going changes what homes there are; with
// entry "" any may.
type folder struct{ path, entry string }

func (s *Snapshot) within(path, entry string) { s.folders = append(s.folders, folder{path, entry}) }

// Profile returns the reading of name.
func (s *Snapshot) Profile(name string) (Reading, bool) {
	i, ok := slices.BinarySearchFunc(s.Profiles, name, func(r Reading, n string) int { return strings.Compare(r.Name, n) })
	if !ok {
		return Reading{}, false
	}
	return s.Profiles[i], true
}

// Options are what a Scanner needs to know of the host.
type Options struct {
	Sources Sources
	Host    Host
	// Held has the home of each name as the ledger knew it at the start: see
	// [Ledger.Paths]. A name that two homes want stays with it.
	Held map[string]string
}

// A Scanner finds and reads homes. Its methods are for one goroutine.
type Scanner struct {
	opts    Options
	readers *readers
	last    map[string]*sighting // by folder
	names   map[string]string    // folder to name, as of the last scan
	sight   func(candidate, *sighting, Host) *sighting
}

// NewScanner returns a Scanner that has seen nothing yet.
func NewScanner(opts Options) *Scanner {
	return &Scanner{opts: opts, readers: newReaders(), last: map[string]*sighting{}, names: map[string]string{}, sight: sight}
}

// Scan looks at all homes. It takes as long as the slowest file system, and 5 s
// at most for each: a home that doesn't answer has that as its error and
// delays no other. The error is ctx's.
func (s *Scanner) Scan(ctx context.Context) (*Snapshot, error) {
	snap := &Snapshot{}
	var all []candidate
	for _, h := range s.opts.Sources.Homes {
		dir, err := s.resolve(ctx, h.Dir)
		if err != nil {
			s.problem(snap, err)
			dir = h.Dir // known before, or there tomorrow
		}
		all = append(all, candidate{dir: dir, name: h.Name})
	}
	for _, r := range s.opts.Sources.Roots {
		all = append(all, s.candidates(ctx, r, snap)...)
	}
	all = s.bounded(unique(all), snap)
	snap.seen = s.look(ctx, all)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.last = map[string]*sighting{}
	for _, x := range snap.seen {
		s.last[x.dir] = x
		snap.within(filepath.Dir(x.dir), filepath.Base(x.dir))
	}
	s.assign(snap)
	return snap, nil
}

// Read looks at one home again and returns it under the name it had, or the
// whole as it is now when that isn't enough: ok is false when the home came,
// went or moved, and a scan has to find the names anew.
func (s *Scanner) Read(ctx context.Context, home string) (r Reading, ok bool) {
	last, name := s.last[home], s.names[home]
	if last == nil || name == "" {
		return Reading{}, false
	}
	x := s.look(ctx, []candidate{last.candidate})[0]
	if !x.part || x.folder.ID != last.folder.ID || x.folder.Owner != last.folder.Owner {
		return Reading{}, false
	}
	s.last[home] = x
	return reading(x, name), true
}

// unique drops the second finding of a path; what a person named comes first.
func unique(all []candidate) []candidate {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(c candidate) bool {
		twice := seen[c.dir]
		seen[c.dir] = true
		return twice
	})
}

// bounded cuts what is too much, and says so. What took part before stays.
func (s *Scanner) bounded(all []candidate, snap *Snapshot) []candidate {
	const limit = 2 * MaxHomes // candidates need not take part
	if len(all) <= limit {
		return all
	}
	snap.Problems = append(snap.Problems, fmt.Errorf(
		"%d folders could be homes, and %d are looked at: is one of the roots too wide?", len(all), limit))
	slices.SortStableFunc(all, func(a, b candidate) int { return s.weight(a) - s.weight(b) })
	return all[:limit]
}

// weight puts first what was named by a person or took part before.
func (s *Scanner) weight(c candidate) int {
	if c.name != "" || s.names[c.dir] != "" {
		return 0
	}
	return 1
}

// look looks at candidates at the same time and returns them in their order.
// Those that did not answer the last time come last.
func (s *Scanner) look(ctx context.Context, all []candidate) []*sighting {
	seen := make([]*sighting, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.slowness(all[a]) - s.slowness(all[b]) })
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(atOnce, len(all)) {
		wg.Go(func() {
			for i := range next {
				seen[i] = s.lookAt(ctx, all[i])
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	wg.Wait()
	return seen
}

func (s *Scanner) slowness(c candidate) int {
	if x := s.last[c.dir]; x != nil && errors.Is(x.err, ErrSlow) {
		return 1
	}
	return 0
}

func (s *Scanner) lookAt(ctx context.Context, c candidate) *sighting {
	last := s.last[c.dir]
	x, err := ask(ctx, s.readers, c.dir, func() *sighting { return s.sight(c, last, s.opts.Host) })
	if err == nil {
		return x
	}
	// Whether it takes part can't be told: if it did, it does.
	gone := &sighting{candidate: c, err: err}
	if last != nil {
		gone.part, gone.folder, gone.profile = last.part, last.folder, last.profile
	}
	return gone
}

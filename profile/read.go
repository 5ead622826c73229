package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"rcsupervisor/internal/ownerfs"
)

// Bounds of reading homes.
const (
	// ReadTimeout is what one folder may take. Whoever takes longer is left
	// behind: its goroutine ends when the file system answers.
	ReadTimeout = 5 * time.Second
	// atOnce is how many folders are looked at at one time.
	atOnce = 64
	// maxLeft is how many goroutines may be left behind in file systems that
	// don't answer, each with a thread.
	maxLeft = 512
	// racy is how old a file's last change must be for its time to tell it
	// from a later one: some file systems' clocks tick this seldom.
	racy = 2 * time.Second
)

// A readers reads folders, each in a goroutine of its own and for a bounded
// time. Its fields after mu are guarded by it.
type readers struct {
	timeout time.Duration
	slots   chan struct{}

	mu   sync.Mutex
	left map[string]bool // what is still being read after its time was up
}

func newReaders() *readers {
	return &readers{timeout: ReadTimeout, slots: make(chan struct{}, atOnce), left: map[string]bool{}}
}

// ask runs f, which looks at dir and nothing else, and returns what it does,
// or else ErrSlow when the time is up, or ctx's error. While an earlier f for
// dir has not ended none is started: a hanging file system keeps one goroutine
// for each of its folders, and no more than maxLeft in all.
func ask[T any](ctx context.Context, r *readers, dir string, f func() T) (T, error) {
	var none T
	if err := r.enter(dir); err != nil {
		return none, err
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-r.slots }()
	answer := make(chan T, 1) // f's goroutine never waits for its caller
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer <- f()
	}()
	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	select {
	case v := <-answer:
		<-done
		return v, nil
	case <-timer.C:
		r.leave(dir, done)
		return none, slow(dir)
	case <-ctx.Done():
		r.leave(dir, done)
		return none, ctx.Err()
	}
}

func (r *readers) enter(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[dir] {
		return slow(dir)
	}
	if len(r.left) >= maxLeft {
		return &Fault{Home: dir, Passing: true, Err: fmt.Errorf("%s is not read: %d folders of other file systems do not answer", dir, maxLeft)}
	}
	return nil
}

// leave gives f's goroutine up until it ends by itself.
func (r *readers) leave(dir string, done <-chan struct{}) {
	r.mu.Lock()
	r.left[dir] = true
	r.mu.Unlock()
	go func() {
		<-done
		r.mu.Lock()
		delete(r.left, dir)
		r.mu.Unlock()
	}()
}

func slow(dir string) error {
	return &Fault{Home: dir, Passing: true, Err: &ownerfs.Error{Path: dir, Err: ErrSlow}}
}

// A sighting is what one look at a candidate found.
type sighting struct {
	candidate
	part    bool
	folder  ownerfs.Info
	mark    mark
	profile Profile
	err     error
}

// A mark is what the folder tells of a home's files without reading them. Two
// equal marks mean unchanged files, but for what changed just before the first
// was taken.
type mark struct {
	folder, ours, settings, access, sealed, env, config ownerfs.Info
	taken                                               time.Time
}

// same compares two marks, of which old is what was read.
func (m mark) same(old mark) bool {
	for _, i := range []ownerfs.Info{old.ours, old.settings, old.access, old.sealed, old.env, old.config} {
		if old.taken.Sub(i.Changed) < racy {
			return false
		}
	}
	// Where a link leads to may change without it.
	if (m.env.Mode|m.config.Mode)&fs.ModeSymlink != 0 {
		return false
	}
	m.taken = old.taken
	// Hermes writes into the home all the time: only who it belongs to and who
	// may write there counts.
	a, b := m.folder, old.folder
	m.folder, old.folder = ownerfs.Info{}, ownerfs.Info{}
	return a.ID == b.ID && a.Owner == b.Owner && a.Mode == b.Mode && m == old
}

// sight looks at a candidate and reads it if it takes part. last is the
// sighting before, nil for none; what has not changed since is not read again.
func sight(c candidate, last *sighting, host Host) *sighting {
	const ours, settings = Folder, Folder + "/" + SettingsFile
	s := &sighting{candidate: c}
	now := time.Now()
	folder, found, err := ownerfs.Probe(c.dir, ours, settings, Folder+"/"+AccessFile, Folder+"/"+SealedFile, hermesEnv, hermesConfig)
	s.folder = folder
	if err != nil {
		s.err = fault(c.dir, err)
		// A home that was shut after it took part has that as its error.
		if last != nil && last.part && !missing(err) {
			s.part, s.folder, s.profile = true, last.folder, last.profile
		}
		return s
	}
	f, there := found[ours]
	if _, part := found[settings]; !part && (!there || f.Mode.IsDir()) {
		return s
	}
	s.part = true
	s.mark = mark{
		folder: folder, ours: f, settings: found[settings], access: found[Folder+"/"+AccessFile],
		sealed: found[Folder+"/"+SealedFile], env: found[hermesEnv], config: found[hermesConfig], taken: now,
	}
	if last != nil && last.part && last.dir == c.dir && s.mark.same(last.mark) && !isPassing(last.err) {
		s.profile, s.err = last.profile, last.err
		return s
	}
	s.profile, s.err = readHome(c.dir, host)
	if errors.Is(s.err, errNotPart) { // it went while it was looked at
		return &sighting{candidate: c, folder: folder}
	}
	return s
}

// isPassing reports whether an error may be gone at the next look though
// nothing changed.
func isPassing(err error) bool {
	f, ok := errors.AsType[*Fault](err)
	return err != nil && (!ok || f.Passing)
}

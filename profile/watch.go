package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How often a watcher looks for itself.
const (
	// RescanEvery is how often all homes are looked at whatever inotify says:
	// it loses events, and some file systems send none.
	RescanEvery = 30 * time.Second
	// PollEvery takes its place without inotify.
	PollEvery = 5 * time.Second
)

// retries is when a file that does not parse is read again before that is
// told: an editor may be in the middle of writing it. With the debounce before
// them they leave a file's author to be told within a second.
var retries = []time.Duration{250 * time.Millisecond, 250 * time.Millisecond}

// An Update is what happened since the last one was taken. The first comes
// after the first scan and has every home as Appeared.
type Update struct {
	Changes  []HomeChange // those that are gone first, then by name
	Unnamed  []Unnamed    // as they are now
	Problems []error      // as they are now
	Polling  string       // why some or all homes are only polled; "" when all are watched
}

// A Watcher tells of homes that come, go and change.
//
// All its state belongs to the goroutine of [Watcher.Run]; other goroutines
// reach it by the channels alone.
type Watcher struct {
	scanner  *Scanner
	log      *slog.Logger
	notify   func() (notifier, error)
	updates  chan Update
	requests chan request
	done     chan struct{} // closed when Run returns

	watches watches
	told    map[string]Reading // as the reader of updates knows it
	now     map[string]Reading // as it is
	snap    *Snapshot          // of the last scan what is no profile: all else of it is large
	toldOf  *Snapshot
	toldWhy string
	pending *Update // the difference between told and now, nil for none

	homes map[string]*burst // events about a home, by its folder
	all   burst             // events about which homes there are
	next  time.Time         // of the next scan for its own sake
	tries map[string]*retry // files that did not parse, by folder

	asking []chan struct{} // of those who asked for a scan whose update was not taken yet
	asked  bool            // the scan under way was asked for
}

// A retry of a home whose file did not parse.
type retry struct {
	n  int
	at time.Time
}

// NewWatcher returns a Watcher of what opts say, which does nothing before Run.
func NewWatcher(opts Options, log *slog.Logger) *Watcher {
	return &Watcher{
		scanner: NewScanner(opts), log: log, notify: newInotify,
		updates: make(chan Update), requests: make(chan request), done: make(chan struct{}),
		told: map[string]Reading{}, now: map[string]Reading{}, homes: map[string]*burst{}, tries: map[string]*retry{},
	}
}

// Updates is where changes are told. Nothing is lost when nobody reads for a
// while: what comes then is the difference from what was read last, however
// often it changed in between. It is closed when Run returns.
func (w *Watcher) Updates() <-chan Update { return w.updates }

// Rescan has all homes looked at now and returns what was found; the updates
// tell of it too. It fails when ctx is done or Run has returned.
func (w *Watcher) Rescan(ctx context.Context) (*Snapshot, error) {
	snap, _, err := w.Look(ctx)
	return snap, err
}

// A request is somebody who wants all homes looked at.
type request struct {
	snap chan *Snapshot // capacity 1
	told chan struct{}  // closed once the update that tells of it was taken
}

// Look is Rescan for whoever has to know when the update that tells of what was
// found was taken: told is closed then, and at once when there is nothing to
// tell. It is not closed when Run has returned.
func (w *Watcher) Look(ctx context.Context) (snap *Snapshot, told <-chan struct{}, err error) {
	r := request{make(chan *Snapshot, 1), make(chan struct{})}
	select {
	case w.requests <- r:
	case <-w.done:
		return nil, nil, errStopped
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	select {
	case snap := <-r.snap:
		return snap, r.told, nil
	case <-w.done:
		return nil, nil, errStopped
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

var errStopped = errors.New("homes are no longer watched")

// Run watches until ctx is done, and returns its error.
func (w *Watcher) Run(ctx context.Context) error {
	defer close(w.done)
	defer close(w.updates)
	w.open()
	defer w.close()
	timer := time.NewTimer(0) // the first scan is due
	defer timer.Stop()
	for ctx.Err() == nil {
		w.step(ctx, timer)
		timer.Reset(max(0, time.Until(w.due())))
	}
	return ctx.Err()
}

// step waits for one thing and does it.
func (w *Watcher) step(ctx context.Context, timer *time.Timer) {
	var out chan<- Update
	var update Update
	if w.pending != nil {
		out, update = w.updates, *w.pending
	}
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.watches.notifier != nil {
		events, errs = w.watches.notifier.events(), w.watches.notifier.errors()
	}
	select {
	case <-ctx.Done():
	case out <- update:
		w.answer()
		w.told, w.toldOf, w.toldWhy = maps.Clone(w.now), w.snap, w.polling()
		w.pending = nil
	case e, ok := <-events:
		if !ok {
			w.close()
			w.compare()
			return
		}
		w.event(e)
	case err, ok := <-errs:
		if ok {
			w.log.Warn("watching homes", "error", err)
		}
		w.next = time.Time{} // events were lost: look at everything
	case reply := <-w.requests:
		w.asked = true
		snap := w.scan(ctx)
		w.asked = false
		w.asking = append(w.asking, reply.told)
		w.compare()
		if snap != nil {
			reply.snap <- snap
		}
	case <-timer.C:
		w.work(ctx)
		w.compare()
	}
}

// answer tells those who asked for a scan that what it found was told.
func (w *Watcher) answer() {
	for _, told := range w.asking {
		close(told)
	}
	w.asking = nil
}

func (w *Watcher) open() {
	n, err := w.notify()
	if err != nil {
		w.log.Warn("homes are polled, since there is no inotify", "error", err)
		w.watches = watches{why: err.Error()}
		return
	}
	w.watches = watches{notifier: n, now: map[string]*interests{}}
}

func (w *Watcher) close() {
	if w.watches.notifier != nil {
		w.watches.notifier.Close()
		w.watches = watches{why: "inotify ended"}
	}
}

// polling says why not all homes are watched.
func (w *Watcher) polling() string {
	switch {
	case w.watches.notifier == nil:
		return w.watches.why
	case w.watches.failed > 0:
		return fmt.Sprintf("%d folders can't be watched: %s", w.watches.failed, w.watches.why)
	}
	return ""
}

// compare finds out what there is to tell.
func (w *Watcher) compare() {
	w.pending = nil
	if w.snap == nil {
		return
	}
	defer func() {
		if w.pending == nil {
			w.answer()
		}
	}()
	u := Update{Changes: changes(w.told, w.now), Unnamed: w.snap.Unnamed, Problems: w.snap.Problems, Polling: w.polling()}
	if len(u.Changes) > 0 || !sameSurroundings(w.toldOf, w.snap) || u.Polling != w.toldWhy {
		w.pending = &u
	}
}

// event notes what an event is about. Which event it was hardly matters: what
// changed is found by reading.
func (w *Watcher) event(e fsnotify.Event) {
	now := time.Now()
	comes := e.Op.Has(fsnotify.Create) || e.Op.Has(fsnotify.Remove) || e.Op.Has(fsnotify.Rename)
	if i := w.watches.now[e.Name]; i != nil {
		switch {
		case e.Op.Has(fsnotify.Remove), e.Op.Has(fsnotify.Rename):
			delete(w.watches.now, e.Name) // its watch is gone with it
			w.all.hit(now)
		case e.Op.Has(fsnotify.Chmod) && i.home+i.ours != "":
			w.dirty(i.home+i.ours, now)
		}
	}
	dir, name := split(e.Name)
	i := w.watches.now[dir]
	if i == nil {
		return
	}
	if i.ours != "" && isOurs(name) || i.home != "" && (name == Folder || name == hermesEnv || name == hermesConfig) {
		w.dirty(i.ours+i.home, now)
	}
	if comes && (i.any || contains(i.entries, name)) {
		w.all.hit(now)
	}
}

func (w *Watcher) dirty(home string, now time.Time) {
	if w.homes[home] == nil {
		w.homes[home] = &burst{}
	}
	w.homes[home].hit(now)
}

// due is when there is something to do next.
func (w *Watcher) due() time.Time {
	due := w.next
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(due) {
			due = t
		}
	}
	earlier(w.all.due())
	for _, b := range w.homes {
		earlier(b.due())
	}
	for _, r := range w.tries {
		earlier(r.at)
	}
	return due
}

// work does what is due.
func (w *Watcher) work(ctx context.Context) {
	now := time.Now()
	if !now.Before(w.next) || w.all.over(now) {
		w.scan(ctx)
		return
	}
	for home, b := range w.homes {
		if b.over(now) {
			delete(w.homes, home)
			if !w.read(ctx, home) {
				w.scan(ctx) // it came, went or moved: names may change
				return
			}
		}
	}
	for home, r := range w.tries {
		if !now.Before(r.at) && !w.read(ctx, home) {
			w.scan(ctx)
			return
		}
	}
}

// read looks at one home again; false means that all must be looked at.
func (w *Watcher) read(ctx context.Context, home string) bool {
	r, ok := w.scanner.Read(ctx, home)
	if !ok {
		return false
	}
	w.take(r)
	return true
}

// scan looks at all homes. It returns nil when ctx is done.
func (w *Watcher) scan(ctx context.Context) *Snapshot {
	every := RescanEvery
	if w.watches.notifier == nil {
		every = PollEvery
	}
	w.next = time.Now().Add(every)
	w.all = burst{}
	snap, err := w.scanner.Scan(ctx)
	if err != nil {
		return nil
	}
	first := w.snap == nil
	w.snap = &Snapshot{Unnamed: snap.Unnamed, Problems: snap.Problems}
	there := make(map[string]bool, len(snap.Profiles))
	for _, r := range snap.Profiles {
		there[r.Name] = true
		if first {
			w.now[r.Name] = r // what is there at the start is not being written
			continue
		}
		w.take(r)
	}
	maps.DeleteFunc(w.now, func(name string, _ Reading) bool { return !there[name] })
	maps.DeleteFunc(w.tries, func(home string, _ *retry) bool { return w.scanner.names[home] == "" })
	for _, home := range w.watches.follow(ctx, w.scanner.readers, wanted(snap)) {
		// Between the scan and the watch something may have happened.
		if home == "" {
			w.all.hit(time.Now())
		} else {
			w.dirty(home, time.Now())
		}
	}
	return snap
}

// take takes a reading for what is, unless a file of it may be half-written:
// then what was stays for a moment longer.
func (w *Watcher) take(r Reading) {
	was, known := w.now[r.Name]
	// Whoever asks for a scan has written what there is to write; only what an
	// empty access.yaml takes away is not given back so easily.
	if !known || sameReading(was, r) || !halfWritten(was, r) || w.asked && !r.emptied {
		delete(w.tries, r.Home)
		w.now[r.Name] = r
		return
	}
	t := w.tries[r.Home]
	if t == nil {
		t = &retry{}
		w.tries[r.Home] = t
	}
	now := time.Now()
	switch {
	case now.Before(t.at): // it is due later anyhow
	case t.n == len(retries):
		delete(w.tries, r.Home)
		w.now[r.Name] = r
	default:
		t.at = now.Add(retries[t.n])
		t.n++
	}
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

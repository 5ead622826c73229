package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// A fakeNotifier is inotify for tests on a fake clock.
type fakeNotifier struct {
	ev chan fsnotify.Event
	er chan error

	mu    sync.Mutex // guards added
	added map[string]bool
	fail  string // a folder that can't be watched
}

func newFake() *fakeNotifier {
	return &fakeNotifier{ev: make(chan fsnotify.Event), er: make(chan error), added: map[string]bool{}}
}

func (f *fakeNotifier) Add(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path == f.fail {
		return errors.New("no space left on device")
	}
	f.added[path] = true
	return nil
}

func (f *fakeNotifier) Remove(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.added, path)
	return nil
}

func (f *fakeNotifier) watched() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for p := range f.added {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

func (f *fakeNotifier) Close() error                  { return nil }
func (f *fakeNotifier) events() <-chan fsnotify.Event { return f.ev }
func (f *fakeNotifier) errors() <-chan error          { return f.er }

// fakeWatcher starts a watcher on a fake clock with one home, whose first
// update is taken and whose first own looks are over.
func fakeWatcher(t *testing.T, dir string) (*Watcher, *fakeNotifier) {
	t.Helper()
	return fakeWatcherSeeing(t, dir, func(candidate) {})
}

// fakeWatcherSeeing has before called before each look at a candidate, on the
// goroutine that looks.
func fakeWatcherSeeing(t *testing.T, dir string, before func(candidate)) (*Watcher, *fakeNotifier) {
	t.Helper()
	f := newFake()
	w := newTestWatcher(Root{Dir: dir})
	w.scanner.sight = func(c candidate, last *sighting, host Host) *sighting {
		before(c)
		return sight(c, last, host)
	}
	w.notify = func() (notifier, error) { return f, nil }
	startWatcher(t, w)
	<-w.Updates()
	time.Sleep(5 * time.Second)
	return w, f
}

func TestDebounce(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	file := dir + "/rocketchat/channel.yaml"
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWatcher(t, dir)
		hit := func() { f.ev <- fsnotify.Event{Name: file, Op: fsnotify.Write} }
		wait := func() time.Duration {
			start := time.Now()
			<-w.Updates()
			return time.Since(start)
		}
		// One write: after a quiet moment.
		write(t, file, "agent: {kind: acp}\n")
		hit()
		if d := wait(); d != Debounce {
			t.Errorf("one write was told after %v", d)
		}
		// A burst: once, a quiet moment after its last.
		write(t, file, "agent: {kind: echo}\n")
		for range 5 {
			hit()
			time.Sleep(100 * time.Millisecond)
		}
		if d := wait(); d != Debounce-100*time.Millisecond {
			t.Errorf("a burst was told %v after its end", d+100*time.Millisecond)
		}
		// A burst without end: after two seconds all the same.
		write(t, file, "agent: {kind: acp}\n")
		start := time.Now()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case f.ev <- fsnotify.Event{Name: file, Op: fsnotify.Write}:
					time.Sleep(100 * time.Millisecond)
				case <-stop:
					return
				}
			}
		})
		<-w.Updates()
		if d := time.Since(start); d != DebounceMax {
			t.Errorf("an endless burst was told after %v", d)
		}
		close(stop)
		wg.Wait()
	})
}

// Only what is ours, or Hermes' two files, has a home read again; and what is
// read and the same is not told.
func TestEventsThatMeanNothing(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		w, f := fakeWatcherSeeing(t, dir, func(candidate) { reads.Add(1) })
		reads.Store(0)
		for _, name := range []string{
			"state.db", "state.db-wal", ".env_abc.tmp", "logs", "rocketchat/state", "rocketchat/.channel.yaml.swp",
			"rocketchat/4913", "rocketchat/channel.yaml~", "rocketchat/.rcsupervisor-x.tmp", "rocketchat/state/dedup.db", "rocketchat/lock",
		} {
			for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Remove, fsnotify.Chmod} {
				f.ev <- fsnotify.Event{Name: filepath.Join(dir, name), Op: op}
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if reads.Load() != 0 {
			t.Errorf("read %d times", reads.Load())
		}
		for _, name := range []string{"rocketchat/channel.yaml", "rocketchat/access.yaml", "rocketchat/secrets.age", "rocketchat", ".env", "config.yaml"} {
			reads.Store(0)
			f.ev <- fsnotify.Event{Name: filepath.Join(dir, name), Op: fsnotify.Write}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if reads.Load() == 0 {
				t.Errorf("%s: not read", name)
			}
			select {
			case u := <-w.Updates():
				t.Errorf("%s: told %v though nothing changed", name, words(u))
			default:
			}
		}
	})
}

// The state folder and what is below homes are never watched.
func TestWhatIsWatched(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	makeHome(t, dir+"/profiles/x")
	must(t, os.MkdirAll(dir+"/profiles/x/rocketchat/state/downloads", 0o755))
	must(t, os.MkdirAll(dir+"/profiles/no-part/logs", 0o755))
	synctest.Test(t, func(t *testing.T) {
		_, f := fakeWatcher(t, dir)
		want := []string{
			filepath.Dir(dir), dir, dir + "/profiles", dir + "/profiles/no-part", dir + "/profiles/x",
			dir + "/profiles/x/rocketchat", dir + "/rocketchat",
		}
		if d := cmp.Diff(want, f.watched()); d != "" {
			t.Error(d)
		}
	})
}

// A file that is being written is read again before anything is told of it.
func TestHalfWrittenFiles(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: echo}\n", AccessFile, "people: [{id: a, role: owner}]\n")
	settings, access := dir+"/rocketchat/channel.yaml", dir+"/rocketchat/access.yaml"
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWatcher(t, dir)
		told := func() []string {
			synctest.Wait()
			select {
			case u := <-w.Updates():
				return words(u)
			default:
				return nil
			}
		}
		for name, c := range map[string]struct{ file, half, whole string }{
			"torn":    {settings, "agent: {ki", "agent: {kind: acp}\n"},
			"cut":     {settings, "", "agent: {kind: echo, idle_stop: 1h}\n"},
			"emptied": {access, "", "people: [{id: b, role: owner}]\n"},
		} {
			write(t, c.file, c.half)
			f.ev <- fsnotify.Event{Name: c.file, Op: fsnotify.Write}
			time.Sleep(Debounce + 100*time.Millisecond)
			if got := told(); got != nil {
				t.Errorf("%s: told %v at once", name, got)
			}
			write(t, c.file, c.whole) // and no event: it was lost
			time.Sleep(400 * time.Millisecond)
			if got := told(); !slices.Equal(got, []string{"changed default"}) {
				t.Errorf("%s: told %v", name, got)
			}
		}
		// One that stays bad is told after the last try, once, and in time for
		// whoever looks at the status after a second.
		write(t, settings, "agent: [")
		f.ev <- fsnotify.Event{Name: settings, Op: fsnotify.Write}
		time.Sleep(Debounce + 450*time.Millisecond)
		if got := told(); got != nil {
			t.Errorf("told %v before the last try", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := told(); !slices.Equal(got, []string{"changed default with an error"}) {
			t.Errorf("told %v after the last try", got)
		}
		time.Sleep(3 * RescanEvery)
		if got := told(); got != nil {
			t.Errorf("told again: %v", got)
		}
		// So is an access.yaml that a person emptied on purpose.
		write(t, settings, "agent: {kind: echo}\n")
		write(t, access, "")
		time.Sleep(RescanEvery + 2*time.Second)
		if got := told(); !slices.Equal(got, []string{"changed default"}) {
			t.Errorf("told %v", got)
		}
	})
}

// Without events the rescan sees it; after an overflow at once.
func TestRescanAndOverflow(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWatcher(t, dir)
		start := time.Now()
		makeHome(t, dir+"/profiles/x")
		u := <-w.Updates()
		if d := time.Since(start); d > RescanEvery || !slices.Equal(words(u), []string{"appeared x"}) {
			t.Errorf("after %v: %v", d, words(u))
		}
		time.Sleep(time.Second)
		start = time.Now()
		makeHome(t, dir+"/profiles/y")
		f.er <- fsnotify.ErrEventOverflow
		u = <-w.Updates()
		if d := time.Since(start); d != 0 || !slices.Equal(words(u), []string{"appeared y"}) {
			t.Errorf("after %v: %v", d, words(u))
		}
	})
}

// Asked to, it looks at once, and tells who asked.
func TestRescanOnRequest(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWatcher(t, dir)
		makeHome(t, dir+"/profiles/x")
		start := time.Now()
		snap, err := w.Rescan(t.Context())
		if err != nil || time.Since(start) != 0 || len(snap.Profiles) != 2 {
			t.Fatal(snap, err, time.Since(start))
		}
		if u := <-w.Updates(); !slices.Equal(words(u), []string{"appeared x"}) {
			t.Fatal(words(u))
		}
	})
	w := newTestWatcher(Root{Dir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := w.Rescan(t.Context()); err == nil {
		t.Error("a watcher that ended answered")
	}
	if _, ok := <-w.Updates(); ok {
		t.Error("the updates are not closed")
	}
}

// Without inotify homes are polled, and that is said.
func TestPolling(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	synctest.Test(t, func(t *testing.T) {
		w := newTestWatcher(Root{Dir: dir})
		w.notify = func() (notifier, error) { return nil, errors.New("too many open files") }
		startWatcher(t, w)
		if u := <-w.Updates(); u.Polling != "too many open files" {
			t.Fatalf("%+v", u)
		}
		start := time.Now()
		makeHome(t, dir+"/profiles/x")
		u := <-w.Updates()
		if d := time.Since(start); d > PollEvery || !slices.Equal(words(u), []string{"appeared x"}) {
			t.Errorf("after %v: %v", d, words(u))
		}
	})
}

// When inotify ends, or some folders can't be watched, it goes on by polling.
func TestPollingForSome(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir)
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fail = dir + "/rocketchat"
		w := newTestWatcher(Root{Dir: dir})
		w.notify = func() (notifier, error) { return f, nil }
		startWatcher(t, w)
		u := <-w.Updates()
		if want := "1 folders can't be watched: " + dir + "/rocketchat: no space left on device"; u.Polling != want {
			t.Fatalf("%q", u.Polling)
		}
		time.Sleep(time.Second)
		close(f.ev)
		if u := <-w.Updates(); u.Polling != "inotify ended" {
			t.Fatalf("%q", u.Polling)
		}
	})
}

// Whoever does not read for a while is told the difference, not the story.
func TestASlowReader(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir+"/profiles/a")
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWatcher(t, dir)
		rescan := func() {
			if _, err := w.Rescan(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			makeHome(t, fmt.Sprintf("%s/profiles/x%d", dir, i))
			write(t, dir+"/profiles/a/rocketchat/channel.yaml", fmt.Sprintf("agent: {kind: echo}\nlimits: {queue: %d}\n", i+1))
			rescan()
		}
		for i := range 4 {
			must(t, os.RemoveAll(fmt.Sprintf("%s/profiles/x%d", dir, i)))
			rescan()
		}
		u := <-w.Updates()
		if got := words(u); !slices.Equal(got, []string{"changed a", "appeared x4"}) || u.Changes[0].Now.Settings.Limits.Queue != 5 {
			t.Fatal(got)
		}
		// What is as it was told is not told.
		write(t, dir+"/profiles/a/rocketchat/channel.yaml", "agent: {kind: acp}\n")
		rescan()
		write(t, dir+"/profiles/a/rocketchat/channel.yaml", "agent: {kind: echo}\nlimits: {queue: 5}\n")
		rescan()
		synctest.Wait()
		select {
		case u := <-w.Updates():
			t.Fatal(words(u))
		default:
		}
	})
}

// A home that does not answer is told so, and told when it does.
func TestWatcherAndAHangingHome(t *testing.T) {
	dir := tempDir(t)
	makeHome(t, dir+"/profiles/a")
	makeHome(t, dir+"/profiles/hung")
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var hang atomic.Bool
		w, _ := fakeWatcherSeeing(t, dir, func(c candidate) {
			if c.base == "hung" && hang.Load() {
				<-release
			}
		})
		hang.Store(true)
		start := time.Now()
		u := <-w.Updates()
		if d := time.Since(start); d > RescanEvery+ReadTimeout || !slices.Equal(words(u), []string{"changed hung with an error"}) {
			t.Errorf("after %v: %v", d, words(u))
		}
		if !errors.Is(u.Changes[0].Now.Err, ErrSlow) || !strings.Contains(u.Changes[0].Now.Err.Error(), "the file system does not answer") {
			t.Error(u.Changes[0].Now.Err)
		}
		close(release)
		if u := <-w.Updates(); !slices.Equal(words(u), []string{"changed hung"}) {
			t.Error(words(u))
		}
	})
}

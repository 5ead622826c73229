package profile

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"

	"rcsupervisor/internal/ownerfs"
)

// A notifier tells of changes in folders: a fsnotify.Watcher, or a test's.
// One of them serves all homes, since a user may have 128 of inotify's.
type notifier interface {
	Add(path string) error
	Remove(path string) error
	Close() error
	events() <-chan fsnotify.Event
	errors() <-chan error
}

type inotify struct{ *fsnotify.Watcher }

func (i inotify) events() <-chan fsnotify.Event { return i.Events }
func (i inotify) errors() <-chan error          { return i.Errors }

func newInotify() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return inotify{w}, nil
}

// interests say what an event in a folder is about. Nothing is ever watched
// below a home but its rocketchat/ itself, and so never state/.
type interests struct {
	home    string   // the folder is this home
	ours    string   // the folder is this home's rocketchat/
	entries []string // homes come and go with these
	any     bool     // homes come and go with any entry
	id      ownerfs.ID
}

// wanted is what should be watched after a scan, by folder.
func wanted(snap *Snapshot) map[string]*interests {
	want := map[string]*interests{}
	at := func(path string) *interests {
		if want[path] == nil {
			want[path] = &interests{}
		}
		return want[path]
	}
	for _, f := range snap.folders {
		i := at(f.path)
		switch {
		case f.entry == "":
			i.any = true
		case !slices.Contains(i.entries, f.entry):
			i.entries = append(i.entries, f.entry)
		}
	}
	for _, x := range snap.seen {
		if x.folder.ID == (ownerfs.ID{}) {
			continue // it isn't there, or does not answer
		}
		h := at(x.dir)
		h.home, h.id = x.dir, x.folder.ID
		if x.mark.ours.Mode.IsDir() {
			o := at(filepath.Join(x.dir, Folder))
			o.ours, o.id = x.dir, x.mark.ours.ID
		}
	}
	return want
}

// A watches is what a notifier was asked to watch. It belongs to the watcher's
// goroutine.
type watches struct {
	notifier notifier
	now      map[string]*interests
	failed   int    // folders that can't be watched and are only polled
	why      string // why the first of them can't
}

// follow watches what a scan wants, and returns the homes whose folder is newly
// watched, "" among them for what is no home: what happened in them since the
// scan was not seen.
func (w *watches) follow(ctx context.Context, r *readers, want map[string]*interests) (fresh []string) {
	if w.notifier == nil {
		return nil
	}
	w.failed, w.why = 0, ""
	for path, i := range w.now {
		if j := want[path]; j == nil || j.id != i.id && j.id != (ownerfs.ID{}) {
			w.notifier.Remove(path) // it may be gone by itself
			delete(w.now, path)
		}
	}
	for path, i := range want {
		old := w.now[path]
		if old == nil {
			id, err := w.add(ctx, r, path)
			if err != nil {
				if w.failed++; w.why == "" {
					w.why = fmt.Sprintf("%s: %v", ownerfs.Quote(path), err)
				}
				continue
			}
			if id == (ownerfs.ID{}) {
				continue // it isn't there
			}
			if i.id == (ownerfs.ID{}) {
				i.id = id
			}
			if home := i.home + i.ours; home != "" { // at most one is set
				fresh = append(fresh, home)
			}
			if i.any || len(i.entries) > 0 {
				fresh = append(fresh, "")
			}
		} else if i.id == (ownerfs.ID{}) {
			i.id = old.id
		}
		w.now[path] = i
	}
	return fresh
}

// add watches a folder with the rights of its owner, and never hangs longer
// than a reading does.
func (w *watches) add(ctx context.Context, r *readers, path string) (ownerfs.ID, error) {
	type added struct {
		id  ownerfs.ID
		err error
	}
	a, err := ask(ctx, r, path, func() added {
		info, _, err := ownerfs.Probe(path)
		if err != nil {
			if missing(err) {
				err = nil
			}
			return added{err: err}
		}
		return added{info.ID, ownerfs.AsFolderOwner(info.Owner, func() error { return w.notifier.Add(path) })}
	})
	if err == nil {
		err = a.err
	}
	return a.id, err
}

// isOurs reports whether a name in rocketchat/ is one of the three files.
// Editors' and writers' temporary files are not, and neither is state/.
func isOurs(name string) bool {
	return name == SettingsFile || name == AccessFile || name == SealedFile
}

func split(path string) (dir, name string) { return filepath.Dir(path), filepath.Base(path) }

func contains(list []string, s string) bool { return slices.Contains(list, s) }

package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// A Viewer is somebody who looks: All sees every profile, others those whose
// home is theirs.
type Viewer struct {
	UID int
	All bool
}

// Sees reports whether the viewer may know of a profile whose home belongs to
// owner.
func (v Viewer) Sees(owner int) bool { return v.All || v.UID == owner }

// Everybody sees all there is.
var Everybody = Viewer{All: true}

// A Status is the whole of what status says. Its JSON is public.
type Status struct {
	Supervisor *SupervisorStatus `json:"supervisor"` // null when none runs
	Profiles   []ProfileStatus   `json:"profiles"`
}

// A SupervisorStatus is what status says of the supervisor itself. Counts are
// of what the viewer may see.
type SupervisorStatus struct {
	Version   string       `json:"version"`
	PID       int          `json:"pid"`
	Since     time.Time    `json:"since"`
	Isolation string       `json:"isolation"`
	Identity  *string      `json:"identity"` // where it came from; null without one
	Inotify   string       `json:"inotify"`  // ok or polling
	Profiles  int          `json:"profiles"`
	Online    int          `json:"online"`
	Unnamed   []Unnamed    `json:"unnamed"`
	Problems  []string     `json:"problems"`
	Reload    ReloadResult `json:"reload"`
	Debug     bool         `json:"debug"` // lines of level debug are written
}

// An Unnamed home takes part and has no name of its own.
type Unnamed struct {
	Home   string  `json:"home"`
	Wanted *string `json:"wanted"`
	Text   string  `json:"text"`
	Try    *string `json:"try"`
}

// An Explained profile is its status with what a person is told of it.
type Explained struct {
	Profile ProfileStatus `json:"profile"`
	What    string        `json:"what"`
	Why     *string       `json:"why"`
	Next    *string       `json:"next"`
	When    *string       `json:"when"`
	Action  *string       `json:"action"`
}

// Status is what a viewer is told of the profiles named, or of all he may see.
// A name he may not know of counts as none, and is returned among the unknown.
func (s *Supervisor) Status(v Viewer, names ...string) (st Status, unknown []string) {
	now := time.Now()
	st.Profiles = []ProfileStatus{}
	views := s.views(v)
	for _, name := range names {
		if !slices.ContainsFunc(views, func(w *view) bool { return w.name == name }) {
			unknown = append(unknown, name)
		}
	}
	online := 0
	for _, w := range views {
		if w.history.State == healthcheck.Online {
			online++
		}
		if len(names) == 0 || slices.Contains(names, w.name) {
			st.Profiles = append(st.Profiles, w.status(now, v.All))
		}
	}
	own := s.own(v)
	own.Profiles, own.Online = len(views), online
	st.Supervisor = &own
	return st, unknown
}

// Explain says what one profile is, why, what comes next, when, and which
// command mends it. ok is false when there is none the viewer may know of.
func (s *Supervisor) Explain(v Viewer, name string) (e Explained, ok bool) {
	k := s.keeper(name)
	if k == nil || !v.Sees(k.view.Load().owner) {
		return e, false
	}
	return k.view.Load().explain(time.Now(), v.All), true
}

// explain is what a person is told of a profile.
func (v *view) explain(now time.Time, all bool) Explained {
	a := healthcheck.Explain(v.history, v.facts(all), now)
	p := v.status(now, all)
	why := a.Why
	if v.history.Reason == healthcheck.Suspended && v.why != "" {
		why += " (" + v.why + ")"
	}
	if v.fault != "" {
		why += " Its files as they are now can't be used, and the last good go on: " + v.fault
	}
	return Explained{Profile: p, What: a.What, Why: text(why), Next: text(a.Next), When: text(a.When), Action: p.Action}
}

// Profile is the status of one profile, for a viewer.
func (s *Supervisor) Profile(v Viewer, name string) (p ProfileStatus, ok bool) {
	k := s.keeper(name)
	if k == nil || !v.Sees(k.view.Load().owner) {
		return p, false
	}
	return k.view.Load().status(time.Now(), v.All), true
}

// Owners returns the uid of a profile's home now, and that which the ledger
// knows. ok is false when there is no such profile.
func (s *Supervisor) Owners(name string) (now, known int, ok bool) {
	k := s.keeper(name)
	if k == nil {
		return 0, 0, false
	}
	now = k.view.Load().owner
	known = now
	if e, there := s.registry.entry(name); there {
		known = e.Owner
	}
	return now, known, true
}

// Home is where a profile's home lies, "" when there is no such profile.
func (s *Supervisor) Home(name string) string {
	if k := s.keeper(name); k != nil {
		return k.home()
	}
	return ""
}

// Sound reports whether the files of all that a viewer may see can be used.
func (s *Supervisor) Sound(v Viewer) bool {
	return !slices.ContainsFunc(s.views(v), func(w *view) bool { return w.readErr != "" || w.fault != "" })
}

// views are those a viewer may see, by name.
func (s *Supervisor) views(v Viewer) []*view {
	var views []*view
	s.each(func(k *keeper) {
		if w := k.view.Load(); v.Sees(w.owner) {
			views = append(views, w)
		}
	})
	slices.SortFunc(views, func(a, b *view) int { return cmp.Compare(a.name, b.name) })
	return views
}

// own is what is said of the supervisor, without the counts.
func (s *Supervisor) own(v Viewer) SupervisorStatus {
	s.mu.Lock()
	around, reload := s.around, s.reload
	s.mu.Unlock()
	st := SupervisorStatus{
		Version: Version(), PID: os.Getpid(), Since: s.began.UTC().Truncate(time.Millisecond), Isolation: string(s.config.Carrier.Kind()),
		Inotify: "ok", Unnamed: []Unnamed{}, Problems: []string{}, Reload: reload, Debug: s.config.debug(),
	}
	if around.Polling != "" {
		st.Inotify = "polling"
	}
	if !v.All {
		st.Reload.OK, st.Reload.Error = s.Sound(v), nil // of others' homes nothing
		return st
	}
	if id, err := s.config.Keys.Identity(); err == nil {
		st.Identity = text(strings.TrimPrefix(id.Source(), "identity "))
	}
	st.Problems = append(st.Problems, around.Problems...)
	if t := s.registry.trouble(); t != "" {
		st.Problems = append(st.Problems, t)
	}
	for _, u := range around.Unnamed {
		st.Unnamed = append(st.Unnamed, unnamed(u))
	}
	return st
}

func unnamed(u profile.Unnamed) Unnamed {
	return Unnamed{Home: u.Home, Wanted: text(u.Wanted), Text: u.Text, Try: text(u.Try)}
}

// Version names the build as Go recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, revision := cmp.Or(info.Main.Version, "(devel)"), ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			revision = fmt.Sprintf(" (%s)", s.Value[:12])
		}
	}
	return v + revision
}

// Dump writes every profile's state as the rules know it, for people who debug.
func (s *Supervisor) Dump(w io.Writer) {
	for _, v := range s.views(Everybody) {
		h, err := json.Marshal(v.history)
		if err != nil {
			h = []byte(err.Error())
		}
		fmt.Fprintf(w, "%s run=%d pid=%d dials=%d %s\n", v.name, v.run, v.pid, v.dials, h)
	}
	s.servers.dump(w)
}

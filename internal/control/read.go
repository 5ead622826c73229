package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"rcsupervisor/internal/supervisor"
)

// status answers GET /v1/status?name=NAME...
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	st, unknown := s.config.Supervisor.Status(peerOf(r.Context()).Viewer(), r.URL.Query()["name"]...)
	if len(unknown) > 0 {
		fail(w, noProfile(unknown[0]))
		return
	}
	send(w, http.StatusOK, st)
}

// explain answers GET /v1/profiles/{name}.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	e, ok := s.config.Supervisor.Explain(peerOf(r.Context()).Viewer(), r.PathValue("name"))
	if !ok {
		fail(w, noProfile(r.PathValue("name")))
		return
	}
	send(w, http.StatusOK, e)
}

func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	send(w, http.StatusOK, s.config.Supervisor.Plan(peerOf(r.Context()).Viewer()))
}

// reload looks at all homes now. Somebody who is no administrator is told only
// whether his own can be used.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	peer := peerOf(r.Context())
	err := s.config.Supervisor.Rescan(r.Context())
	s.note(peer, "reload", "", "", nil)
	reply := ReloadReply{OK: err == nil}
	switch {
	case err != nil && peer.Admin():
		text := err.Error()
		reply.Error = &text
	case err != nil: // of others' homes he is told nothing
		reply.OK = s.config.Supervisor.Sound(peer.Viewer())
	}
	send(w, http.StatusOK, reply)
}

// ReloadReply says whether everything that was found can be used.
type ReloadReply struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error"` // null for none, and for whoever may not know
}

// logs answers GET /v1/profiles/{name}/logs?after=N&follow=1 with one JSON
// object to a line.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	viewer, name := peerOf(r.Context()).Viewer(), r.PathValue("name")
	after, err := strconv.ParseUint(cmp.Or(r.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil {
		fail(w, Usage("after is the number of a line", "rcsupervisor logs --help"))
		return
	}
	lines, more, ok := s.config.Supervisor.Lines(viewer, name, after)
	if !ok {
		fail(w, noProfile(name))
		return
	}
	out := newStream(w, "application/x-ndjson")
	for {
		for _, l := range lines {
			after = l.Number
			if out.line(l) != nil {
				return
			}
		}
		if r.URL.Query().Get("follow") == "" || out.flush() != nil {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
		if lines, more, ok = s.config.Supervisor.Lines(viewer, name, after); !ok {
			return // the profile is gone
		}
	}
}

// The events of GET /v1/events, in the form of server-sent events. The first is
// a snapshot, a whole status; what follows is what has changed since.
const (
	EventSnapshot   = "snapshot"   // a supervisor.Status
	EventProfile    = "profile"    // a supervisor.ProfileStatus
	EventGone       = "gone"       // {"name"}: it has left the list
	EventSupervisor = "supervisor" // a supervisor.SupervisorStatus
)

// Gone is the body of such an event.
type Gone struct {
	Name string `json:"name"`
}

// eventsEvery gathers changes, so that one who looks is not flooded; aliveEvery
// is how often one who looks is told that we are still there.
const (
	eventsEvery = 100 * time.Millisecond
	aliveEvery  = 15 * time.Second
)

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	viewer, super := peerOf(r.Context()).Viewer(), s.config.Supervisor
	changes := super.Listen()
	defer changes.Close()
	out := newStream(w, "text/event-stream")
	names := r.URL.Query()["name"]
	st, _ := super.Status(viewer, names...)
	seen := make(map[string]bool, len(st.Profiles))
	for _, p := range st.Profiles {
		seen[p.Name] = true
	}
	if out.event(EventSnapshot, st) != nil || out.flush() != nil {
		return
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-changes.C():
			if s.tell(out, viewer, among(changes.Take(), names), seen) != nil || out.flush() != nil {
				return
			}
			if !s.pause(r, eventsEvery) {
				return
			}
		case <-alive.C:
			if out.comment() != nil || out.flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
	}
}

// among leaves of what has changed what was asked for, and the supervisor.
func among(changed map[string]struct{}, names []string) map[string]struct{} {
	if len(names) > 0 {
		maps.DeleteFunc(changed, func(name string, _ struct{}) bool { return name != "" && !slices.Contains(names, name) })
	}
	return changed
}

// tell sends what has changed.
func (s *Server) tell(out *stream, viewer supervisor.Viewer, names map[string]struct{}, seen map[string]bool) error {
	for name := range names {
		if name == "" {
			st, _ := s.config.Supervisor.Status(viewer, "")
			if err := out.event(EventSupervisor, st.Supervisor); err != nil {
				return err
			}
			continue
		}
		p, ok := s.config.Supervisor.Profile(viewer, name)
		var err error
		switch {
		case ok:
			seen[name] = true
			err = out.event(EventProfile, p)
		case seen[name]:
			delete(seen, name)
			err = out.event(EventGone, Gone{name})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pause waits, and reports false when it is time to end.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.ending:
	}
	return false
}

// debug shows the states, and what every goroutine does.
func (s *Server) debug(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	s.config.Supervisor.Dump(w)
	fmt.Fprintln(w)
	_ = pprof.Lookup("goroutine").WriteTo(w, 1)
}

// A stream is an answer without an end.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newStream(w http.ResponseWriter, kind string) *stream {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	return &stream{w, http.NewResponseController(w)}
}

// line writes v as one line of JSON. A reader that does not read is given up.
func (s *stream) line(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = s.w.Write(append(data, '\n'))
	return err
}

func (s *stream) event(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, data)
	return err
}

func (s *stream) comment() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := fmt.Fprint(s.w, ":\n\n")
	return err
}

func (s *stream) flush() error { return s.c.Flush() }

// quote shows a name that came from outside.
func quote(name string) string {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return cut(name, 64)
	}
	return strconv.Quote(cut(name, 64))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

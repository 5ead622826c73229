package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
)

// Config is what a server answers with.
type Config struct {
	Supervisor *supervisor.Supervisor
	Verbs      []Verb
	Audit      *Audit
	Log        *slog.Logger
	// More are further pages for root and the supervisor's user, such as
	// "GET /metrics".
	More map[string]http.Handler
}

// A Server answers on the control socket. Its methods may be called from any
// goroutine.
type Server struct {
	config Config
	verbs  map[string]Verb
	http   *http.Server
	ending chan struct{} // closed when streams are to end
}

// Bounds of a request.
const (
	maxBody      = 1 << 20
	readTimeout  = 10 * time.Second
	verbTimeout  = 60 * time.Second
	writeTimeout = 30 * time.Second
)

// NewServer returns a Server that does not listen yet.
func NewServer(c Config) *Server {
	s := &Server{config: c, verbs: make(map[string]Verb, len(c.Verbs)), ending: make(chan struct{})}
	for _, v := range c.Verbs {
		s.verbs[v.Name] = v
	}
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: readTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c)
		},
	}
	return s
}

// Serve answers on l until ctx ends, and returns once no request is under way,
// which takes a second at most.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		close(s.ending)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.http.Shutdown(bounded) != nil {
			s.http.Close()
		}
	}()
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-done
		return nil
	}
	return err
}

// routes are all there is to ask.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.looked(s.status))
	mux.HandleFunc("GET /v1/profiles/{name}", s.looked(s.explain))
	mux.HandleFunc("GET /v1/profiles/{name}/logs", s.notOurs(s.looked(s.logs)))
	mux.HandleFunc("POST /v1/profiles/{name}/{verb}", s.notOurs(s.looked(s.verb)))
	mux.HandleFunc("GET /v1/events", s.notOurs(s.looked(s.events)))
	mux.HandleFunc("GET /v1/plan", s.notOurs(s.looked(s.plan)))
	mux.HandleFunc("POST /v1/reload", s.notOurs(s.looked(s.reload)))
	mux.HandleFunc("GET /debug", s.notOurs(s.admin(http.HandlerFunc(s.debug))))
	for pattern, h := range s.config.More {
		mux.HandleFunc(pattern, s.notOurs(s.admin(h)))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		send(w, http.StatusNotFound, body{&Error{CodeUsage, "there is nothing at " + r.Method + " " + quote(r.URL.Path), "rcsupervisor --help"}})
	})
	return mux
}

// notOurs refuses what descends from the supervisor: an agent speaks for
// nobody.
func (s *Server) notOurs(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := peerOf(r.Context()); p.Ours {
			s.config.Log.Warn("a process below the supervisor asked for more than status", "pid", p.PID, "uid", p.UID, "path", r.URL.Path)
			fail(w, &Error{CodeRefused, "what the supervisor runs may ask for status alone", "ask from a shell of your own"})
			return
		}
		next(w, r)
	}
}

// lookWithin bounds how long a request waits for the first look at all homes,
// each of which may take 5 s of it.
const lookWithin = 8 * time.Second

// looked has a request wait until all homes were looked at once: before that
// nobody can say which profiles there are.
func (s *Server) looked(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), lookWithin)
		defer cancel()
		select {
		case <-s.config.Supervisor.Ready():
			next(w, r)
		case <-s.ending:
			fail(w, &Error{CodeNotRunning, "the supervisor is ending", "rcsupervisor run"})
		case <-ctx.Done():
			fail(w, &Error{CodeNotRunning, "the supervisor has not looked at all homes yet", "rcsupervisor status"})
		}
	}
}

func (s *Server) admin(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !peerOf(r.Context()).Admin() {
			fail(w, &Error{CodeRefused, "only root and the supervisor's user may ask for that", "sudo"})
			return
		}
		next.ServeHTTP(w, r)
	}
}

// verb carries out a verb for one profile.
func (s *Server) verb(w http.ResponseWriter, r *http.Request) {
	peer, name := peerOf(r.Context()), r.PathValue("name")
	verb, ok := s.verbs[r.PathValue("verb")]
	if !ok {
		fail(w, &Error{CodeUsage, "there is no verb " + quote(r.PathValue("verb")), "rcsupervisor --help"})
		return
	}
	slow := http.NewResponseController(w)
	_ = slow.SetReadDeadline(time.Now().Add(readTimeout))
	args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = slow.SetReadDeadline(time.Time{})
	if err != nil {
		fail(w, Usage("the request's body can't be read or is over 1 MiB", "rcsupervisor --help"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), verbTimeout)
	defer cancel()
	detail := ""
	reply, err := s.carryOut(ctx, verb, Call{Peer: peer, Profile: name, Args: args, detail: &detail})
	if !verb.Reads {
		s.note(peer, verb.Name, name, detail, err)
	}
	answer(w, reply, err)
}

// carryOut does what is asked of whoever may ask it.
func (s *Server) carryOut(ctx context.Context, verb Verb, c Call) (any, error) {
	_, there := s.config.Supervisor.Profile(c.Peer.Viewer(), c.Profile)
	switch {
	case !there && !verb.takes(c.Peer, c.Profile):
		return nil, noProfile(c.Profile)
	case verb.Admin && !c.Peer.Admin():
		return nil, &Error{CodeRefused, verb.Name + " is for root and the supervisor's user", askAdmin}
	}
	reply, err := verb.Do(ctx, c)
	if e, ok := errors.AsType[*supervisor.OrderError](err); ok && e.ForAdmin && !c.Peer.Admin() {
		denied := errorOf(err)
		denied.Try = askAdmin
		err = denied
	}
	return reply, err
}

// takes reports whether a verb may be asked of a name that is no profile, or
// none that the peer may know of.
func (v Verb) takes(by Peer, name string) bool {
	switch {
	case v.Makes && profile.ValidName(name):
		return true
	case v.Unknown && by.Admin():
		return name == AllNames || profile.ValidName(name)
	}
	return false
}

// askAdmin is what is told whom the verb that would help is not for.
const askAdmin = "ask an administrator"

// AllNames stands in a name's place for what is asked of all profiles at once.
const AllNames = "-"

// noProfile says that there is none of that name, to whom it may not be known
// or who made it up: it is shown, never repeated as it is.
func noProfile(name string) *Error {
	return &Error{CodeNoProfile, "no such profile: " + quote(name), "rcsupervisor status"}
}

// note writes the audit line of an act.
func (s *Server) note(peer Peer, verb, name, detail string, err error) {
	act := Act{Time: time.Now(), UID: peer.UID, PID: peer.PID, Verb: verb, Profile: quote(name), Detail: detail, Outcome: "done"}
	if err != nil {
		e := errorOf(err)
		act.Outcome, act.Error = e.Code, e.Message
	}
	if err := s.config.Audit.Write(act); err != nil {
		s.config.Log.Error("the audit file can't be written", "err", err)
	}
}

// answer sends what a verb returned.
func answer(w http.ResponseWriter, reply any, err error) {
	if err != nil {
		fail(w, errorOf(err))
		return
	}
	if reply == nil {
		reply = struct{}{}
	}
	send(w, http.StatusOK, reply)
}

func fail(w http.ResponseWriter, e *Error) { send(w, statusOf(e.Code), body{e}) }

func send(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"failed","message":"the answer could not be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

package pretend

import (
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Options say what a server is. The zero value is a 9.0 server with the
// default limits.
type Options struct {
	Version  Version // default V9
	BasePath string  // where the server lies below its address, such as "/chat"; default: at the root
	Log      *slog.Logger

	// The REST limiter: so many calls of a route from one address in so long
	// (10 in 60 s). NoLimits switches it off, and the socket's limits too.
	RESTCalls  int
	RESTWindow time.Duration
	NoLimits   bool

	// Home answers what is neither API nor socket nor file: a chat page.
	Home http.Handler
	// AnyAddress lets Listen take an address that isn't loopback. This server
	// gives its tokens to whoever asks.
	AnyAddress bool
}

// A Server is a pretend Rocket.Chat. It is an [http.Handler]; [Server.Listen],
// [Server.ListenTLS] and [Server.Pipe] let clients in. All methods may be
// called at any time from any goroutine.
type Server struct {
	opts    Options
	v       *personality
	log     *slog.Logger
	base    string
	faults  faults
	closing chan struct{} // closed by Close
	serving serving
	sockets sync.WaitGroup // one for each session, added under mu while not closed

	mu         sync.Mutex // guards all below
	closed     bool
	sequence   uint64
	users      map[string]*user
	byName     map[string]*user
	tokens     map[string]*token
	rooms      map[string]*room
	roomNames  map[string]*room
	directs    map[string]*room // by the user ids, sorted
	messages   map[string]*entry
	uploads    map[string]*upload
	teams      map[string]string
	typing     map[string][]TypingEvent
	settings   map[string]any
	sessions   map[*session]bool
	hub        hub
	count      counts
	restLimits limiter
	userLimits map[string]limiter
	watch      chan struct{}

	showDeleted bool
}

// New makes a server with one user, rocket.cat, and no rooms. It panics for a
// version that isn't one.
func New(o Options) *Server {
	if o.Version == "" {
		o.Version = V9
	}
	if o.RESTCalls == 0 {
		o.RESTCalls = 10
	}
	if o.RESTWindow == 0 {
		o.RESTWindow = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts: o, v: personalities[o.Version], log: o.Log, closing: make(chan struct{}),
		users: map[string]*user{}, byName: map[string]*user{}, tokens: map[string]*token{},
		rooms: map[string]*room{}, roomNames: map[string]*room{}, directs: map[string]*room{},
		messages: map[string]*entry{}, uploads: map[string]*upload{}, teams: map[string]string{},
		typing: map[string][]TypingEvent{}, settings: defaultSettings(), sessions: map[*session]bool{},
		hub: newHub(), restLimits: limiter{}, userLimits: map[string]limiter{}, count: newCounts(),
	}
	if s.v == nil {
		panic("pretend: no version " + string(o.Version))
	}
	if s.base = strings.TrimSuffix(path.Clean("/"+o.BasePath), "/"); s.base != "" && !strings.HasPrefix(s.base, "/") {
		s.base = "/" + s.base
	}
	s.AddUser("rocket.cat", UserOptions{ID: "rocket.cat", Name: "Rocket.Cat", Roles: []string{"bot"}})
	return s
}

// defaultSettings are those of settings.public that a bot may ask for.
func defaultSettings() map[string]any {
	return map[string]any{
		"Message_MaxAllowedSize":     5000,
		"UI_Use_Real_Name":           false,
		"UTF8_User_Names_Validation": "[0-9a-zA-Z-_.]+",
		"FileUpload_MaxFileSize":     104857600,
		"FileUpload_Enabled":         true,
		"Message_AllowEditing":       true,
		"Message_AllowDeleting":      true,
		"Site_Name":                  "Pretend Rocket.Chat",
		"Site_Url":                   "",
	}
}

// Set changes a setting, such as "Message_MaxAllowedSize" (an int) or
// "UI_Use_Real_Name" (a bool).
func (s *Server) Set(setting string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[setting] = value
}

func (s *Server) intSetting(name string, other int) int {
	if n, ok := s.settings[name].(int); ok {
		return n
	}
	return other
}

// Version is the server's personality.
func (s *Server) Version() Version { return s.opts.Version }

// Now is the server's clock: ours, to the millisecond, and off by what a
// [ClockSkew] says.
func (s *Server) Now() time.Time { return s.now() }

func (s *Server) now() time.Time {
	now := time.Now()
	if f, ok := s.faults.peek(ClockSkew); ok {
		now = now.Add(time.Duration(f.Delay))
	}
	return now.UTC().Truncate(time.Millisecond)
}

// peek finds a fault for everybody without using it up.
func (f *faults) peek(k Kind) (Fault, bool) {
	if f.none() {
		return Fault{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.match(k, nil, ""); r != nil {
		return r.Fault, true
	}
	return Fault{}, false
}

// ServeHTTP sorts a request: socket, REST, file, the pretend server's own
// menu, or the page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.faults.has(Unreachable, nil) {
		panic(http.ErrAbortHandler)
	}
	s.dateHeader(w)
	p, ok := strings.CutPrefix(r.URL.Path, s.base)
	if !ok || (p != "" && p[0] != '/') {
		http.NotFound(w, r)
		return
	}
	switch {
	case p == "/websocket" || (strings.HasPrefix(p, "/sockjs/") && strings.HasSuffix(p, "/websocket")):
		if f, bad := s.faults.find(BadGateway, nil, "websocket"); bad {
			badGateway(w, f)
			return
		}
		s.serveSocket(w, r, p != "/websocket")
	case strings.HasPrefix(p, "/api/"):
		s.serveREST(w, r, strings.TrimPrefix(p, "/api/"))
	case strings.HasPrefix(p, "/file-upload/"):
		s.serveFile(w, r, strings.TrimPrefix(p, "/file-upload/"))
	case p == "/_pretend" || strings.HasPrefix(p, "/_pretend/"):
		s.serveControl(w, r, strings.Trim(strings.TrimPrefix(p, "/_pretend"), "/"))
	case s.opts.Home != nil:
		http.StripPrefix(s.base, s.opts.Home).ServeHTTP(w, r)
	default:
		webClient(w)
	}
}

// dateHeader is the server's clock, skewed as its messages are.
func (s *Server) dateHeader(w http.ResponseWriter) {
	w.Header().Set("Date", s.now().Format(http.TimeFormat))
}

// webClient answers as the web client does to every address it doesn't know.
func webClient(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte("<!DOCTYPE html>\n<title>Rocket.Chat</title>\n<p>A pretend Rocket.Chat. Its menu is at _pretend/.\n"))
}

// isLoopback tells whether an address may be listened on without AnyAddress.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

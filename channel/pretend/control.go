package pretend

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The pretend server's own menu, below /_pretend/. It is for practice: it asks
// nobody who he is and gives tokens away.

// controls lists what there is, for GET /_pretend/.
var controls = []struct {
	route, does string
	run         func(*Server, *controlBody) (any, error)
}{
	{"GET faults", "the faults in force", func(s *Server, _ *controlBody) (any, error) { return s.Faults(), nil }},
	{"POST faults", `a fault: {"fault","user"?,"count"?,"for"?,"delay"?,"code"?,"text"?,"route"?,"url"?}; see menu`, controlBreak},
	{"POST mend", `clears faults: {"id"} or {"fault"} or {} for all`, controlMend},
	{"GET menu", "every kind of fault", func(*Server, *controlBody) (any, error) { return Menu(), nil }},
	{"GET users", "all users, with their tokens: this is a practice server", func(s *Server, _ *controlBody) (any, error) { return s.Users(), nil }},
	{"POST users", `a user: {"username","name"?,"bot"?,"roles"?}`, controlAddUser},
	{"POST revoke", `takes the tokens of {"user"} away`, controlRevoke},
	{"GET rooms", "all rooms", func(s *Server, _ *controlBody) (any, error) { return s.Rooms(), nil }},
	{"POST rooms", `a room: {"t":"c|p|d","name"?,"members":[…]}`, controlAddRoom},
	{"POST members", `{"room","user","act":"join|leave|kick"}`, controlMember},
	{"GET messages", "all messages of ?room=, oldest first", controlMessages},
	{"POST say", `a message: {"user","room","text","thread"?,"bot"?,"alias"?,"at"?,"type"?,"quiet"?}; room is an id, a name or @username`, controlSay},
	{"POST touch", `publishes a message again: {"id","cause":"edit|delete|react|unreact|pin|unpin|star|preview|…","user"?,"text"?,"emoji"?}`, controlTouch},
	{"GET connections", "the open sockets", controlConnections},
	{"GET log", "what clients did of late", func(s *Server, _ *controlBody) (any, error) { return s.Log(), nil }},
}

// controlBody is a request to the menu: what any of its routes may take.
type controlBody struct {
	Fault
	ID       json.RawMessage `json:"id"`
	Username string          `json:"username"`
	Name     string          `json:"name"`
	Bot      json.RawMessage `json:"bot"`
	Roles    []string        `json:"roles"`
	Kind     string          `json:"t"`
	Members  []string        `json:"members"`
	Room     string          `json:"room"`
	Act      string          `json:"act"`
	Thread   string          `json:"thread"`
	Alias    string          `json:"alias"`
	At       time.Time       `json:"at"`
	Type     string          `json:"type"`
	Quiet    bool            `json:"quiet"`
	Cause    string          `json:"cause"`
	Emoji    string          `json:"emoji"`

	query func(string) string
}

// controlError is what a caller did wrong.
type controlError string

func (e controlError) Error() string { return string(e) }

// serveControl answers /_pretend/<path>. A POST must say that it is JSON,
// which a form of a foreign page can't.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request, path string) {
	if path == "" && r.Method == http.MethodGet {
		controlJSON(w, http.StatusOK, s.overview())
		return
	}
	for _, c := range controls {
		if c.route != r.Method+" "+path {
			continue
		}
		b := &controlBody{query: r.URL.Query().Get}
		if r.Method == http.MethodPost {
			if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
				controlJSON(w, http.StatusUnsupportedMediaType, map[string]string{"error": "send application/json"})
				return
			}
			d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
			d.DisallowUnknownFields()
			if err := d.Decode(b); err != nil {
				controlJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
				return
			}
		}
		v, err := c.run(s, b)
		if err != nil {
			controlJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		controlJSON(w, http.StatusOK, v)
		return
	}
	controlJSON(w, http.StatusNotFound, map[string]string{"error": "no such route; GET /_pretend/ lists them"})
}

func controlJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v)
}

func (s *Server) overview() any {
	type line struct {
		Route string `json:"route"`
		Does  string `json:"does"`
	}
	lines := []line{}
	for _, c := range controls {
		method, path, _ := strings.Cut(c.route, " ")
		lines = append(lines, line{method + " " + s.base + "/_pretend/" + path, c.does})
	}
	return map[string]any{
		"about":   "a pretend Rocket.Chat to practise on: it checks nobody and gives its tokens away",
		"version": s.v.full, "routes": lines, "faults": Menu(), "in_force": s.Faults(),
	}
}

func controlBreak(s *Server, b *controlBody) (any, error) {
	if b.Fault.Kind == Unreachable && b.Fault.For == 0 {
		return nil, controlError("unreachable needs a time in `for`: this menu can't be reached meanwhile")
	}
	id, err := s.TryBreak(b.Fault)
	return map[string]any{"id": id}, err
}

func controlMend(s *Server, b *controlBody) (any, error) {
	n := 0
	switch id, err := strconv.ParseUint(string(b.ID), 10, 64); {
	case len(b.ID) > 0 && err != nil:
		return nil, controlError("id is a number")
	case len(b.ID) > 0:
		if s.Mend(id) {
			n = 1
		}
	case b.Fault.Kind != "":
		n = s.MendAll(b.Fault.Kind)
	default:
		n = s.MendAll()
	}
	return map[string]any{"mended": n}, nil
}

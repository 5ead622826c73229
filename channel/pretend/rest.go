package pretend

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A call is one REST call on its way.
type call struct {
	s     *Server
	r     *http.Request
	w     http.ResponseWriter
	user  *user // nil: not logged in
	token string
	route string // without its parameters: the limiter's key
	args  []string
	body  []byte
	form  *uploadForm // of a multipart body
}

// A route is what a call of it does. run is called with the server's lock
// held; open ones first read what may take long.
type route struct {
	run    func(c *call) (doc, *refusal)
	open   func(c *call) *refusal
	public bool // needs no login
	raw    bool // the answer is as run made it, without success:true
	writes bool // its reply can be lost after it did its work
	only   func(v *personality) bool
}

// maxBody bounds what is read of a request, uploads aside.
const maxBody = 8 << 20

// serveREST answers /api/<path>.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request, path string) {
	c := &call{s: s, r: r, w: w}
	rt := c.find(path)
	if rt == nil {
		s.unknownRoute(w)
		return
	}
	c.authenticate()
	if c.brokenBefore() {
		return
	}
	if !c.limit() {
		return
	}
	if c.user == nil && !rt.public {
		status, d := s.unauthorized()
		c.reply(status, d)
		return
	}
	if !c.readBody() {
		return
	}
	c.serve(rt)
}

// find splits a path such as v1/rooms.media/<rid> into route and arguments.
func (c *call) find(path string) *route {
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if parts[0] == "v1" {
		parts = parts[1:]
	} else if path != "info" {
		return nil
	}
	if len(parts) == 0 {
		return nil
	}
	c.route, c.args = parts[0], parts[1:]
	if c.route == "rooms.mediaConfirm" || c.route == "rooms.media" || c.route == "rooms.upload" || c.route == "method.call" {
		// these take their arguments in the path
	} else if len(c.args) > 0 {
		return nil
	}
	rt, ok := routes[c.r.Method+" "+c.route]
	if !ok || (rt.only != nil && !rt.only(c.s.v)) {
		return nil
	}
	return &rt
}

// unknownRoute: 3.4 answers every address with its web client.
func (s *Server) unknownRoute(w http.ResponseWriter) {
	if s.v.htmlUnknown {
		webClient(w)
		return
	}
	writeJSON(w, http.StatusNotFound, doc{{"success", false}, {"error", "API endpoint not found"}})
}

func writeJSON(w http.ResponseWriter, status int, d doc) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encodeDoc(make([]byte, 0, 512), d, overREST))
}

// reply answers and counts.
func (c *call) reply(status int, d doc) {
	c.done(status)
	writeJSON(c.w, status, d)
}

func (c *call) done(status int) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.count.record(c.user, c.r.Method+" "+c.route, status)
	c.s.changedLocked()
}

// authenticate looks at X-User-Id and X-Auth-Token.
func (c *call) authenticate() {
	c.user, c.token = c.s.whoIs(c.r.Header.Get("X-User-Id"), c.r.Header.Get("X-Auth-Token"))
}

// whoIs finds the user of an id and a token that belong together and aren't
// refused by a fault.
func (s *Server) whoIs(id, value string) (*user, string) {
	if value == "" {
		return nil, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, _ := s.lookupLocked(value)
	if u == nil || u.id != id || s.faults.use(RefuseToken, u, "") {
		return nil, ""
	}
	return u, value
}

// limit counts the call by address, method and route, whoever makes it; those
// who may bypass the limiter see nothing of it.
func (c *call) limit() bool {
	s := c.s
	if f, ok := s.faults.find(RateLimit, c.user, c.route); ok {
		wait := time.Duration(f.Delay)
		if wait == 0 {
			wait = time.Minute
		}
		c.tooMany(s.opts.RESTCalls, wait)
		return false
	}
	s.mu.Lock()
	free := s.opts.NoLimits || c.user.bypass()
	s.mu.Unlock()
	if free {
		return true
	}
	calls, span := s.opts.RESTCalls, s.opts.RESTWindow
	if c.route == "chat.sendMessage" && s.v.sendBurst {
		calls, span = 5, time.Second
	}
	host, _, _ := net.SplitHostPort(c.r.RemoteAddr)
	s.mu.Lock()
	now := s.now()
	s.restLimits.prune(span, now)
	left, wait, ok := s.restLimits.allow(host+" "+c.r.Method+" "+c.route, calls, span, now)
	s.mu.Unlock()
	if !ok {
		c.tooMany(calls, wait)
		return false
	}
	c.limitHeaders(calls, left, wait)
	return true
}

func (c *call) limitHeaders(limit, left int, wait time.Duration) {
	h := c.w.Header()
	h.Set("x-ratelimit-limit", strconv.Itoa(limit))
	h.Set("x-ratelimit-remaining", strconv.Itoa(left))
	h.Set("x-ratelimit-reset", strconv.FormatInt(c.s.now().Add(wait).UnixMilli(), 10))
}

func (c *call) tooMany(limit int, wait time.Duration) {
	c.limitHeaders(limit, 0, wait)
	seconds := (wait + time.Second - 1) / time.Second
	c.reply(http.StatusTooManyRequests, doc{{"success", false}, {
		"error",
		"Error, too many requests. Please slow down. You must wait " + strconv.Itoa(int(seconds)) +
			" seconds before trying this endpoint again. [error-too-many-requests]",
	}})
}

// readBody reads a JSON body. One that isn't JSON is answered with a page.
func (c *call) readBody() bool {
	if c.r.Method != http.MethodPost || strings.HasPrefix(c.r.Header.Get("Content-Type"), "multipart/") {
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err != nil || (len(body) > 0 && !json.Valid(body)) {
		c.done(http.StatusBadRequest)
		c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		c.w.WriteHeader(http.StatusBadRequest)
		io.WriteString(c.w, "<!DOCTYPE html>\n<title>Error</title>\n<pre>Bad Request</pre>\n")
		return false
	}
	c.body = body
	return true
}

// serve runs the route and answers, unless a fault has it otherwise.
func (c *call) serve(rt *route) {
	if rt.open != nil {
		if no := rt.open(c); no != nil {
			c.reply(no.status, no.doc())
			return
		}
	}
	c.s.mu.Lock()
	d, no := rt.run(c)
	c.s.mu.Unlock()
	status := http.StatusOK
	switch {
	case no != nil:
		status, d = no.status, no.doc()
	case !rt.raw:
		d = d.with("success", true)
	}
	if c.brokenAfter(rt, status, d) {
		return
	}
	c.reply(status, d)
}

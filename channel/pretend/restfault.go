package pretend

import (
	"io"
	"net/http"
	"time"
)

// brokenBefore lets the faults answer that come before the call is done.
func (c *call) brokenBefore() bool {
	f := &c.s.faults
	if f.none() {
		return false
	}
	if x, ok := f.find(BadGateway, c.user, c.route); ok {
		c.done(orInt(x.Code, http.StatusBadGateway))
		badGateway(c.w, x)
		return true
	}
	if x, ok := f.find(RedirectREST, c.user, c.route); ok {
		c.done(http.StatusFound)
		http.Redirect(c.w, c.r, x.URL, http.StatusFound)
		return true
	}
	if f.use(HTML, c.user, c.route) {
		c.done(http.StatusOK)
		webClient(c.w)
		return true
	}
	if x, ok := f.find(ServerError, c.user, c.route); ok {
		c.reply(orInt(x.Code, http.StatusInternalServerError),
			doc{{"success", false}, {"error", orText(x.Text, "Internal server error")}})
		return true
	}
	if f.use(Refused401, c.user, c.route) {
		c.reply(c.s.unauthorized())
		return true
	}
	return false
}

func badGateway(w http.ResponseWriter, f Fault) {
	status := orInt(f.Code, http.StatusBadGateway)
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	io.WriteString(w, "<html><head><title>"+http.StatusText(status)+"</title></head><body>nginx</body></html>\n")
}

// brokenAfter lets the faults answer that come when the call is done.
func (c *call) brokenAfter(rt *route, status int, d doc) bool {
	f := &c.s.faults
	if f.none() {
		return false
	}
	if x, ok := f.find(Slow, c.user, c.route); ok && !c.pause(time.Duration(x.Delay)) {
		panic(http.ErrAbortHandler)
	}
	if rt.writes && f.use(LoseReply, c.user, c.route) {
		c.done(0)
		panic(http.ErrAbortHandler)
	}
	if f.use(Cut, c.user, c.route) {
		c.done(status)
		body := encodeDoc(nil, d, overREST)
		c.w.Header().Set("Content-Type", "application/json")
		c.w.WriteHeader(status)
		c.w.Write(body[:len(body)/2])
		http.NewResponseController(c.w).Flush()
		panic(http.ErrAbortHandler)
	}
	return false
}

// pause returns false if the client or the server was gone before.
func (c *call) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.r.Context().Done():
	case <-c.s.closing:
	}
	return false
}

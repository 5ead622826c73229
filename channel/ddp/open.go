package ddp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/healthcheck"
)

const (
	readBytes      = 256      // for each connection: headers of frames, whose content is read past it
	writeBytes     = 1 << 10  // for each write
	handshakeBytes = 64 << 10 // of the answer to the WebSocket handshake
)

// writeBuffers are shared by all connections: a quiet one holds none.
var writeBuffers = &sync.Pool{}

// open reaches the server and makes the WebSocket handshake. Redirects are not
// followed: where the token goes is the sealed server or nowhere.
func open(ctx context.Context, cfg Config, server *url.URL) (*websocket.Conn, *wire, *End) {
	var w *wire
	quiet := func() bool { return true }
	reach := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := cfg.Network.Dial(ctx, server)
		if err != nil {
			return nil, err
		}
		w = &wire{Conn: conn, left: handshakeBytes}
		// Once dialled, the handshake knows ctx's deadline and not its end.
		quiet = onDone(ctx, w.abort)
		return w, nil
	}
	dialer := websocket.Dialer{
		NetDialContext:    reach,
		NetDialTLSContext: reach,
		ReadBufferSize:    readBytes,
		WriteBufferSize:   writeBytes,
		WriteBufferPool:   writeBuffers,
	}
	ws, resp, err := dialer.DialContext(ctx, endpoint(server), http.Header{"User-Agent": {"rcsupervisor"}})
	if !quiet() && err == nil {
		err = ctx.Err()
	}
	switch {
	case err == nil && len(resp.Header.Values("Sec-Websocket-Extensions")) > 0:
		// None was offered. A compressed frame would pass the bound on its size.
		w.abort()
		return nil, nil, ended(healthcheck.Unreachable, "the server insists on a WebSocket extension that was not offered")
	case errors.Is(err, websocket.ErrBadHandshake):
		return nil, nil, notUpgraded(server, resp)
	case err != nil && ctx.Err() != nil:
		return nil, nil, &End{Reason: healthcheck.Unreachable, Err: fmt.Errorf("no connection within %s", cfg.Deadline)}
	case err != nil && w != nil && w.left <= 0:
		return nil, nil, ended(healthcheck.Unreachable, "the answer to the WebSocket handshake is over "+strconv.Itoa(handshakeBytes>>10)+" KiB")
	case err != nil:
		return nil, nil, &End{Reason: healthcheck.Unreachable, Err: err}
	}
	w.open = true
	return ws, w, nil
}

// onDone calls f when ctx is done. What it returns ends that, waits for f where
// it runs, and reports whether it never did.
func onDone(ctx context.Context, f func()) (stop func() bool) {
	done := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() bool {
		if end() {
			return true
		}
		<-done
		return false
	}
}

// endpoint returns the address of the raw socket. The other one, SockJS, is for
// browsers.
func endpoint(server *url.URL) string {
	u := server.JoinPath("websocket")
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[server.Scheme]
	return u.String()
}

// notUpgraded reads an answer other than 101 to the handshake.
func notUpgraded(server *url.URL, resp *http.Response) *End {
	said := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return &End{Reason: healthcheck.RateLimited, RetryAfter: retryAfter(resp.Header), Err: errors.New("the server answers the WebSocket handshake with " + said)}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		where := "elsewhere"
		if to, err := server.Parse(resp.Header.Get("Location")); err == nil && to.Host != "" {
			where = printable(to.Scheme+"://"+to.Host, "")
		}
		return ended(healthcheck.Unreachable, "the server redirects to "+where+", which is not followed; try: sealing the address it redirects to")
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return ended(healthcheck.Unreachable, "the server's answer to the WebSocket handshake is not one")
	}
	return ended(healthcheck.Unreachable, "the server answers the WebSocket handshake with "+said)
}

// retryAfter reads the time a server or its proxy names with a 429: Retry-After
// in seconds or as a date, or Rocket.Chat's own x-ratelimit-reset in
// milliseconds since 1970. A moment is measured by the clock that named it.
func retryAfter(h http.Header) time.Duration {
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	until := func(t time.Time) time.Duration { return wait(float64(t.Sub(now).Milliseconds())) }
	after := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		return wait(seconds * 1000)
	}
	if date, err := http.ParseTime(after); err == nil {
		return until(date)
	}
	if ms, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		return until(time.UnixMilli(ms))
	}
	return unnamedWait
}

// A wire is the connection below a WebSocket. It bounds what is read until the
// handshake is done, which the HTTP parser does not, and remembers the error
// that reading ended with, which the WebSocket replaces by one of its own.
// Reading is one goroutine's, and so are its fields.
type wire struct {
	net.Conn
	open bool
	left int
	err  error
}

var errHandshake = errors.New("handshake too large")

func (w *wire) Read(b []byte) (int, error) {
	if !w.open {
		if w.left <= 0 {
			return 0, errHandshake
		}
		b = b[:min(len(b), w.left)]
	}
	n, err := w.Conn.Read(b)
	if !w.open {
		w.left -= n
	}
	if err != nil {
		w.err = err
	}
	return n, err
}

// abort closes the socket without TLS's goodbye, for a peer that no longer
// reads: that would wait for it.
func (w *wire) abort() {
	if secure, ok := w.Conn.(interface{ NetConn() net.Conn }); ok {
		secure.NetConn().Close()
	}
	w.Conn.Close()
}

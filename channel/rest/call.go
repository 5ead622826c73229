package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Bounds of one call.
const (
	// callTime is for a call with all its attempts. A server with
	// RATE_LIMITER_SLOWDOWN_RATE sleeps for seconds before it refuses.
	callTime   = 30 * time.Second
	attempts   = 3
	firstPause = 300 * time.Millisecond

	usualBytes = 2 << 20
	listBytes  = 16 << 20 // history, and all rooms of a bot in thousands
	errorBytes = 64 << 10 // of an answer that says no
)

// userAgent names us in a server's log.
const userAgent = "rcsupervisor"

// A call is one request that may be made more than once.
type call struct {
	route     string
	method    string
	path      string // below the server's base path, escaped
	query     url.Values
	body      any // sent as JSON, nil: none
	bytes     int64
	again     bool // a repeat can't double anything
	anonymous bool // without credentials
	wipe      bool // the answer is overwritten once read
}

func get(route string, query url.Values) call {
	return call{route: route, method: http.MethodGet, path: "/api/v1/" + route, query: query, again: true, bytes: usualBytes}
}

func post(route string, body any) call {
	return call{route: route, method: http.MethodPost, path: "/api/v1/" + route, body: body, bytes: usualBytes}
}

// fetch makes a call and reads its answer with parse, which reports whether
// what was asked for is there.
func fetch[T any](ctx context.Context, c *Client, k call, parse func([]byte) (T, bool)) (T, error) {
	var zero T
	body, err := c.do(ctx, k)
	if err != nil {
		return zero, err
	}
	if k.wipe {
		defer clear(body)
	}
	v, ok := parse(body)
	if !ok {
		return zero, &Error{Route: k.route, Status: http.StatusOK, Kind: ErrMalformed, Uncertain: true}
	}
	return v, nil
}

// nothing reads an answer of which only its success matters.
func nothing(b []byte) (struct{}, bool) {
	var env envelope
	return struct{}{}, lenient(b, &env) && env.Success != nil && *env.Success
}

// do makes a call, as often as it may be made, and returns the body of an
// answer that says it was done.
func (c *Client) do(parent context.Context, k call) ([]byte, error) {
	ctx, s, err := c.begin(parent, false)
	if err != nil {
		return nil, &Error{Route: k.route, Kind: ErrClosed}
	}
	defer c.end(s)
	if err := c.permit(ctx, k.route); err != nil {
		return nil, c.because(parent, ctx, k.route, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, errSlow)
	defer cancel()
	for n := 1; ; n++ {
		body, err := c.attempt(ctx, k)
		if err == nil {
			return body, nil
		}
		if n == c.attempts || !k.again || !passing(err) || !pause(ctx, n) || c.permit(ctx, k.route) != nil {
			return nil, c.because(parent, ctx, k.route, err)
		}
	}
}

// permit asks the route's hold and the host's budget. The hold is asked again
// after it, since it may have come while the budget was waited for.
func (c *Client) permit(ctx context.Context, route string) error {
	if err := c.holds.check(route); err != nil || c.allow == nil {
		return err
	}
	if err := c.allow(ctx, route); err != nil {
		return err
	}
	return c.holds.check(route)
}

// because returns why a call ended: the caller's context first, then Close,
// then err.
func (c *Client) because(parent, ctx context.Context, route string, err error) error {
	if parent.Err() != nil {
		return routeError{route, parent.Err()}
	}
	e, ok := failed(err)
	if context.Cause(ctx) == error(ErrClosed) {
		return &Error{Route: route, Kind: ErrClosed, Uncertain: ok && e.Uncertain}
	}
	if ok {
		return e
	}
	return routeError{route, err}
}

// A routeError is an error of the caller's own context or budget.
type routeError struct {
	route string
	err   error
}

func (e routeError) Error() string { return e.route + ": " + e.err.Error() }
func (e routeError) Unwrap() error { return e.err }

// pause waits before attempt n+1, so that the bots of one server don't come
// back together. It reports false when the call has no time for it.
func pause(ctx context.Context, n int) bool {
	d := firstPause << (n - 1)
	d = d/2 + rand.N(d)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt makes one request and returns the body of an answer that says the
// call was done.
func (c *Client) attempt(ctx context.Context, k call) ([]byte, error) {
	req, sent, err := c.request(ctx, k)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		e := network(ctx, k.route, err, sent.Load())
		c.logged(ctx, e, k.route, 0, asked)
		return nil, e
	}
	defer resp.Body.Close()
	now := time.Now()
	if isJSON(resp.Header) {
		c.clock.observe(resp.Header, asked, now)
	}
	body, err := c.judge(ctx, k.route, resp, k.bytes)
	c.logged(ctx, err, k.route, resp.StatusCode, asked)
	return body, err
}

// request builds the request of an attempt. sent is set once its head has been
// written.
func (c *Client) request(ctx context.Context, k call) (*http.Request, *atomic.Bool, error) {
	var body io.Reader
	if k.body != nil {
		b, err := json.Marshal(k.body)
		if err != nil {
			return nil, nil, &Error{Route: k.route, Kind: ErrInvalid}
		}
		body = bytes.NewReader(b)
	}
	sent := new(atomic.Bool)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	target := c.server + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return nil, nil, &Error{Route: k.route, Kind: ErrInvalid}
	}
	c.sign(req, k.anonymous)
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, sent, nil
}

// sign puts the headers on. The credentials are nowhere but here.
func (c *Client) sign(req *http.Request, anonymous bool) {
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	if !anonymous {
		req.Header.Set("X-User-Id", c.userID)
		req.Header.Set("X-Auth-Token", c.token.Reveal())
	}
}

// logged writes one line of an attempt: nothing of what was sent or answered.
func (c *Client) logged(ctx context.Context, err error, route string, status int, asked time.Time) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("route", route), slog.Int("status", status),
		slog.Duration("took", time.Since(asked)),
	}
	if e, ok := failed(err); ok {
		attrs = append(attrs, slog.String("kind", string(e.Kind)))
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "rest call", attrs...)
}

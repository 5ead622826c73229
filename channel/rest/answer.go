package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// judge reads an answer and says what it means.
func (c *Client) judge(ctx context.Context, route string, resp *http.Response, limit int64) ([]byte, error) {
	yes := done(resp.StatusCode)
	var (
		env  envelope
		body []byte
		err  error
	)
	e := classifyPage(route, resp.StatusCode)
	if isJSON(resp.Header) {
		if !yes {
			limit = errorBytes
		}
		body, err = readBody(resp, limit)
		switch {
		case err == nil && lenient(body, &env) && object(body):
			if e = classify(route, resp.StatusCode, env); e == nil {
				return body, nil
			}
			e.object = true
		case errors.Is(err, ErrTooLarge) && yes:
			e.Kind = ErrTooLarge // and uncertain, as any page with a 2xx
		case err != nil && yes:
			e = network(ctx, route, err, true)
		case yes:
			e.Kind = ErrMalformed
		}
	}
	return nil, c.finish(e, resp.Header, env)
}

// finish adds what is known besides the kind: how long to wait, and the route's
// hold. A name that holds the token's own letters is no name.
func (c *Client) finish(e *Error, h http.Header, env envelope) *Error {
	switch e.Kind {
	case ErrRateLimited:
		e.Retry = wait(h, env, c.clock.serverNow(h, time.Now()))
		e.Uncertain = false // the limiter stands before the call
		c.holds.hold(e.Route, e.Retry)
		if c.limited != nil {
			c.limited(e.Route, e.Retry)
		}
	case ErrUnavailable:
		if d := retryAfter(h.Get("Retry-After"), c.clock.serverNow(h, time.Now())); d > 0 {
			e.Retry = min(max(d, minWait), maxWait)
		}
	}
	if e.Type != "" && strings.Contains(c.token.Reveal(), e.Type) {
		e.Type = ""
	}
	return e
}

// readBody reads at most limit bytes. A longer body is ErrTooLarge, known from
// its length where the server gave one.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, ErrTooLarge
	}
	var b bytes.Buffer
	if resp.ContentLength > 0 {
		b.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, ErrTooLarge
	}
	return b.Bytes(), nil
}

package rest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"rcsupervisor/channel/dial"
)

// network says what a broken connection means. What net/http says is replaced:
// it quotes the bytes it couldn't read.
func network(ctx context.Context, route string, err error, sent bool) *Error {
	e := &Error{Route: route, Kind: ErrUnavailable, Uncertain: sent}
	var said net.Error
	if d, ok := errors.AsType[dialError](err); ok {
		e.cause = d.error
		return e
	}
	switch {
	case context.Cause(ctx) == error(errStalled):
		e.cause = errStalled
	case ctx.Err() != nil, errors.As(err, &said) && said.Timeout():
		e.cause = errSlow
	case notHTTP(err):
		e.cause = errNotHTTP
	default:
		e.cause = errEnded
	}
	return e
}

// notHTTP tells what net/http couldn't read from a connection that broke. It
// has few types for it.
func notHTTP(err error) bool {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "malformed") || strings.Contains(text, "headers exceeded") ||
		strings.Contains(text, "unsupported transfer encoding") || strings.Contains(text, "bad Content-Length")
}

// permanent reports whether a call failed for a reason that asking again
// doesn't change: what answers isn't a web server, or the way there is set
// wrongly.
func permanent(cause error) bool {
	if cause == error(errNotHTTP) || errors.Is(cause, ErrClosed) {
		return true
	}
	if _, ok := errors.AsType[*dial.SettingError](cause); ok {
		return true
	}
	if _, ok := errors.AsType[*dial.CertificateError](cause); ok {
		return true
	}
	proxy, ok := errors.AsType[*dial.ProxyError](cause)
	return ok && proxy.Status == http.StatusProxyAuthRequired
}

// passing reports whether a failure may be over in a second: the network's, 502
// and 503. A 429 never is, a 504 has waited long enough, and a certificate
// doesn't change.
func passing(err error) bool {
	e, ok := failed(err)
	if !ok || e.Kind != ErrUnavailable || e.Retry > time.Second {
		return false
	}
	switch e.Status {
	case 0:
		return !permanent(e.cause)
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	}
	return false
}

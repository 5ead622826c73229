package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"rcsupervisor/channel/dial"
)

// What may be over in a second, and what isn't.
func TestPassing(t *testing.T) {
	dialed := func(err error) error {
		return network(context.Background(), RouteMe, dialError{err}, false)
	}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"nobody listens", dialed(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), true},
		{"the proxy is away", dialed(&dial.ProxyError{Addr: "proxy:3128", Status: 502}), true},
		{"the proxy wants a password", dialed(&dial.ProxyError{Addr: "proxy:3128", Status: 407}), false},
		{"the setting is wrong", dialed(&dial.SettingError{Key: "proxy", Err: errors.New("has no host")}), false},
		{"the certificate is wrong", dialed(&dial.CertificateError{Host: "h", Err: &tls.CertificateVerificationError{Err: errors.New("x")}}), false},
		{"the client is closed", dialed(ErrClosed), false},
		{"cut", network(t.Context(), RouteMe, io.ErrUnexpectedEOF, true), true},
		{"no HTTP", network(t.Context(), RouteMe, errors.New("malformed HTTP response"), true), false},
		{"429", &Error{Kind: ErrRateLimited, Status: 429}, false},
		{"502", &Error{Kind: ErrUnavailable, Status: 502}, true},
		{"504", &Error{Kind: ErrUnavailable, Status: 504}, false},
		{"the caller's own", context.Canceled, false},
	} {
		if got := passing(c.err); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The dial's own errors stay to be asked for, and say what mends them.
func TestADialsErrorIsKept(t *testing.T) {
	err := fmt.Errorf("outer: %w", network(t.Context(), RouteMe, dialError{&dial.ProxyError{Addr: "proxy:3128", Status: 407}}, false))
	if p, ok := errors.AsType[*dial.ProxyError](err); !ok || p.Status != 407 || !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "try: ") {
		t.Errorf("%v says no way out", err)
	}
	if ErrUnavailable.Error() == "" || errors.Is(err, ErrRefused) {
		t.Error("kinds")
	}
}

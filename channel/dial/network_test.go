package dial_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel/dial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering is a server that says "hello" and whether it was spoken to in
// HTTP/1.1.
func answering() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "hello over "+r.Proto)
	})
}

func plainServer(t *testing.T) *url.URL {
	s := httptest.NewServer(answering())
	t.Cleanup(s.Close)
	return parse(t, s.URL)
}

// tlsServer returns a TLS server that offers HTTP/2 too, and its authority.
func tlsServer(t *testing.T, change func(*tls.Config)) (*url.URL, []byte) {
	s := httptest.NewUnstartedServer(answering())
	s.EnableHTTP2 = true
	s.Config.ErrorLog = nopLog()
	s.TLS = &tls.Config{}
	if change != nil {
		change(s.TLS)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return parse(t, s.URL), ca
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// get speaks HTTP/1.1 on a dialled connection.
func get(t *testing.T, n *dial.Network, u *url.URL) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := n.Dial(ctx, u)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	cancel() // the connection outlives the context of its making
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+u.Host+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestReachesPlainAndTLS(t *testing.T) {
	secure, ca := tlsServer(t, nil)
	for name, c := range map[string]struct {
		network *dial.Network
		server  *url.URL
	}{
		"http":                 {&dial.Network{}, plainServer(t)},
		"https by tls.ca_file": {&dial.Network{CAFile: ca}, secure},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 { // the second comes with a session to resume
				body, err := get(t, c.network, c.server)
				if err != nil || body != "hello over HTTP/1.1" {
					t.Fatalf("got %q, %v", body, err)
				}
			}
		})
	}
}

func TestEnvironmentProxiesAreIgnored(t *testing.T) {
	for _, key := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(key, "http://127.0.0.1:1")
	}
	if body, err := get(t, &dial.Network{}, plainServer(t)); err != nil || body == "" {
		t.Fatalf("got %q, %v", body, err)
	}
}

func TestCertificates(t *testing.T) {
	secure, ca := tlsServer(t, nil)
	old, oldCA := tlsServer(t, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 })
	other := *secure
	other.Host = net.JoinHostPort("localhost", secure.Port()) // a name the certificate is not for
	plain := plainServer(t)
	pretendSecure := *plain
	pretendSecure.Scheme = "https"

	for name, c := range map[string]struct {
		network     *dial.Network
		server      *url.URL
		certificate bool
		says        []string
	}{
		"unknown authority": {&dial.Network{}, secure, true, []string{"certificate of 127.0.0.1", "unknown authority", "try: tls.ca_file"}},
		"another name":      {&dial.Network{CAFile: ca}, &other, true, []string{"certificate of localhost", "not localhost", "try: sealing"}},
		"TLS 1.1":           {&dial.Network{CAFile: oldCA}, old, false, []string{"TLS with 127.0.0.1", "version"}},
		"no TLS at all":     {&dial.Network{}, &pretendSecure, false, []string{"TLS with 127.0.0.1", "does not look like a TLS handshake"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := get(t, c.network, c.server)
			var certificate *dial.CertificateError
			if errors.As(err, &certificate) != c.certificate {
				t.Errorf("a certificate error: %v, in %v", !c.certificate, err)
			}
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	if _, err := get(t, &dial.Network{}, parse(t, "http://"+addr)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a closed port: %v", err)
	}
	for _, server := range []string{"ftp://127.0.0.1", "https://", "/nowhere"} {
		if _, err := get(t, &dial.Network{}, parse(t, server)); err == nil {
			t.Errorf("%s was dialled", server)
		}
	}
	if _, err := new(dial.Network).Dial(t.Context(), nil); err == nil {
		t.Error("nil was dialled")
	}
}

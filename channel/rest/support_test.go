package rest

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"rcsupervisor/channel/dial"
	"rcsupervisor/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testToken = "qT7_Token-of-the-bot_9xZkW3vBnM5LpQ2sD8fG1hJ"
	testUser  = "aobEdbYhXfu5hkeqG"
)

// A seen request, as the server got it.
type seen struct {
	method, path, query string
	header              http.Header
	body                string
}

// A backend is a real server that answers as the test says and remembers what
// it was asked.
type backend struct {
	url string
	ca  []byte // nil: plain

	mu     sync.Mutex
	asked  []seen
	answer http.HandlerFunc
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.mu.Lock()
	b.asked = append(b.asked, seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
	answer := b.answer
	b.mu.Unlock()
	answer(w, r)
}

func (b *backend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked)
}

func (b *backend) last(t testing.TB) seen {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) == 0 {
		t.Fatal("the server was asked nothing")
	}
	return b.asked[len(b.asked)-1]
}

// secure starts a TLS server on a real socket.
func secure(t testing.TB, answer http.HandlerFunc) *backend {
	b := &backend{answer: answer}
	s := httptest.NewUnstartedServer(b)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	b.url = s.URL
	b.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return b
}

// client makes a client of a backend; change may alter its config.
func (b *backend) client(t testing.TB, change func(*Config)) *Client {
	t.Helper()
	cfg := Config{
		Server: b.url, UserID: testUser, Token: sealed.NewSecret(testToken),
		Network: &dial.Network{CAFile: b.ca},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// pipes is a listener on net.Pipe, so that synctest may turn the clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	dialed int
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		p.mu.Lock()
		p.dialed++
		p.mu.Unlock()
		return here, nil
	case <-p.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialed
}

// bubble starts a server over pipes inside a synctest bubble, and a client of
// it. The test ends both with stop.
func bubble(t *testing.T, answer http.HandlerFunc, change func(*Config)) (c *Client, b *backend, p *pipes, stop func()) {
	t.Helper()
	p = &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	b = &backend{answer: answer}
	s := &http.Server{Handler: b, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(p) }()
	cfg := Config{
		Server: "http://127.0.0.1:3000", UserID: testUser, Token: sealed.NewSecret(testToken),
		Network: &dial.Network{DialContext: p.dial},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, b, p, func() { c.Close(); s.Shutdown(context.Background()); <-served }
}

// says answers always the same.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { say(w, status, contentType, body) }
}

func say(w http.ResponseWriter, status int, contentType, body string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

const asJSON = "application/json"

// inTurn answers one after the other, the last for ever.
func inTurn(answers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		mu.Unlock()
		next(w, r)
	}
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// debugLog is a log at debug and what it holds.
func debugLog() (*slog.Logger, *syncBuffer) {
	b := new(syncBuffer)
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug})), b
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// mustBe checks that err is an *Error of a kind.
func mustBe(t testing.TB, err error, kind Kind) *Error {
	t.Helper()
	e, ok := failed(err)
	if !ok || !errors.Is(err, kind) {
		t.Fatalf("got %v, want %q", err, kind)
	}
	return e
}

func secretOf(s string) sealed.Secret { return sealed.NewSecret(s) }

package ddp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bot   = "hQ4xvXZ8sdTgSJk9B"
	token = "kZ3-very-secret-token-of-the-bot-f9"
)

// A peer is the server's side of one connection, driven by a test's script: a
// real WebSocket, with every frame of the client's read as it comes.
type peer struct {
	t   *testing.T
	ws  *websocket.Conn
	in  chan string   // the client's frames; closed at its end
	bye *error        // what its frames ended with, once in is closed
	hup chan struct{} // closed once its frames have ended
}

// next returns the client's next frame, "" after its last one.
func (p *peer) next() string { return <-p.in }

// expect fails unless the client's next frame is want.
func (p *peer) expect(want string) {
	p.t.Helper()
	if diff := cmp.Diff(decoded(want), decoded(p.next())); diff != "" {
		p.t.Errorf("the client's frame differs from %s:\n%s", want, diff)
	}
}

func decoded(s string) (v any) {
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return v
}

// say sends frames. A client that has gone is no fault of the script.
func (p *peer) say(frames ...string) {
	for _, f := range frames {
		if p.ws.WriteMessage(websocket.TextMessage, []byte(f)) != nil {
			return
		}
	}
}

// Frames of both sides, as they are on the wire.
const (
	connect   = `{"msg":"connect","version":"1","support":["1"]}`
	connected = `{"msg":"connected","session":"qk5aDyHkFTQKkjcDr"}`
	login     = `{"msg":"method","method":"login","id":"login-1","params":[{"resume":"` + token + `"}]}`
	loggedIn  = `{"msg":"result","id":"login-1","result":{"id":"` + bot + `","token":"` + token + `","tokenExpires":{"$date":null},"type":"resume"}}`
	sub       = `{"msg":"sub","id":"sub-1","name":"stream-room-messages","params":["__my_messages__",false]}`
	ready     = `{"msg":"ready","subs":["sub-1"]}`
)

// greet, admit and online are a server's part of a connection's first frames.
func (p *peer) greet() {
	p.t.Helper()
	p.expect(connect)
	p.say(connected)
	p.expect(login)
}

func (p *peer) admit() {
	p.t.Helper()
	p.greet()
	p.say(loggedIn)
	p.expect(sub)
}

func (p *peer) online() {
	p.t.Helper()
	p.admit()
	p.say(ready)
}

// gone waits until the client has closed, and returns how.
func (p *peer) gone() error {
	<-p.hup
	return *p.bye
}

// A server runs one script for each connection, over pipes or TCP.
type server struct {
	handler http.HandlerFunc
	onReady func(*ddp.Conn) // of the client's Handler
	onEvent func(ddp.Event)
	wrap    func(net.Conn) net.Conn // the client's side of each connection
	dials   int
}

// serving returns a server whose connections all follow script. It is in the
// caller's synctest bubble, if there is one.
func serving(t *testing.T, script func(*peer)) *server {
	return &server{handler: upgraded(func(ws *websocket.Conn) { follow(t, ws, script) })}
}

// upgraded makes the WebSocket handshake and leaves the rest to serve.
func upgraded(serve func(*websocket.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return // a client that has gone; of one that hasn't, the test sees
		}
		defer ws.Close()
		serve(ws)
	}
}

// unread is a server that reads nothing more once the client is online.
func unread(t *testing.T, script func(*peer)) http.HandlerFunc {
	return upgraded(func(ws *websocket.Conn) {
		p := &peer{t: t, ws: ws}
		for _, answer := range []string{connected, loggedIn, ready} {
			if _, _, err := ws.ReadMessage(); err != nil {
				t.Error(err)
			}
			p.say(answer)
		}
		script(p)
	})
}

// follow runs a script on an open WebSocket, which it closes.
func follow(t *testing.T, ws *websocket.Conn, script func(*peer)) {
	p := &peer{t: t, ws: ws, in: make(chan string, 1000), bye: new(error), hup: make(chan struct{})}
	go func() {
		defer close(p.hup)
		defer close(p.in)
		for {
			_, b, err := ws.ReadMessage()
			if err != nil {
				*p.bye = err
				return
			}
			p.in <- string(b)
		}
	}()
	script(p)
	ws.Close()
	<-p.hup
}

// A brittle connection can be told to fail all writes, as one does whose other
// side has hung up.
type brittle struct {
	net.Conn
	broken atomic.Bool
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.broken.Load() {
		return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
	}
	return b.Conn.Write(p)
}

// pipes is a net.Listener of net.Pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A gate lets goroutines in until it is closed, and waits for them then.
type gate struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.wg.Add(1)
	}
	return !g.closed
}

func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}

// run makes one connection to the server over a pipe, and returns how it ended
// and what the handler was told.
func (s *server) run(ctx context.Context, change ...func(*ddp.Config)) (*ddp.End, *told) {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	handlers := &gate{}
	httpd := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handlers.enter() {
			defer handlers.wg.Done()
			s.handler(w, r)
		}
	})}
	served := make(chan struct{})
	go func() { defer close(served); httpd.Serve(l) }()
	defer func() {
		httpd.Close()
		<-served
		handlers.close()
	}()
	cfg := ddp.Config{
		Server: "http://chat.example.org", UserID: bot, Token: sealed.NewSecret(token),
		Network: &dial.Network{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			s.dials++
			conn, err := l.dial(ctx, network, addr)
			if err == nil && s.wrap != nil {
				conn = s.wrap(conn)
			}
			return conn, err
		}},
		Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	h := &told{start: time.Now(), onReady: s.onReady, onEvent: s.onEvent}
	end := ddp.Run(ctx, cfg, h)
	h.ended = time.Since(h.start)
	return end, h
}

// told is a Handler that writes down what it was told, and when.
type told struct {
	start   time.Time
	ended   time.Duration
	conn    *ddp.Conn
	lines   []string
	at      []time.Duration
	events  []ddp.Event
	onReady func(*ddp.Conn)
	onEvent func(ddp.Event)
}

func (h *told) line(s string) {
	h.lines = append(h.lines, s)
	h.at = append(h.at, time.Since(h.start))
}

func (h *told) Connected() { h.line("connected") }

func (h *told) Ready(c *ddp.Conn) {
	h.line("ready")
	h.conn = c
	if h.onReady != nil {
		h.onReady(c)
	}
}

func (h *told) Event(e ddp.Event) {
	var m struct {
		ID string `json:"_id"`
	}
	if len(e.Args) > 0 {
		_ = json.Unmarshal(e.Args[0], &m)
	}
	h.line("event " + m.ID)
	h.events = append(h.events, e)
	if h.onEvent != nil {
		h.onEvent(e)
	}
}

func event(id string) string {
	return `{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[{"_id":"` + id + `"},{"roomParticipant":true}]}}`
}

// wantEnd compares an End without its sentence, which has to hold all of says.
func wantEnd(t *testing.T, got *ddp.End, want ddp.End, says ...string) {
	t.Helper()
	text := got.Error()
	bare := *got
	bare.Err = nil
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Errorf("the end, %s:\n%s", text, diff)
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("%q does not say %q", text, s)
		}
	}
	if strings.Contains(text, token) {
		t.Errorf("%q shows the token", text)
	}
}

func wantAfter(t *testing.T, h *told, want time.Duration) {
	t.Helper()
	if h.ended != want {
		t.Errorf("ended after %s, want %s", h.ended, want)
	}
}

func closeCode(err error) int {
	if c, ok := errors.AsType[*websocket.CloseError](err); ok {
		return c.Code
	}
	return 0
}

package pretend

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// world is a server over TCP with a bot, a person and a channel.
type world struct {
	*Server
	t          testing.TB
	url        string
	bot, alice User
	lab        Room
	http       *http.Client
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	s := New(o)
	w := &world{Server: s, t: t, http: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	var err error
	if w.url, err = s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); w.http.CloseIdleConnections() })
	w.people()
	return w
}

func (w *world) people() {
	w.bot = w.AddUser("hermes", UserOptions{Bot: true})
	w.alice = w.AddUser("alice", UserOptions{Password: "secret"})
	w.lab = w.AddChannel("lab", w.alice, w.bot)
}

// answer is a REST answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) get(path string) any {
	var v any
	if json.Unmarshal(a.body, &v) != nil {
		return nil
	}
	for k := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[k]
		case []any:
			i := int(k[0] - '0')
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (w *world) do(u User, method, path string, body any) answer {
	w.t.Helper()
	a, err := w.try(u, method, path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) try(u User, method, path string, body any) (answer, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, w.url+path, r)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if u.Token != "" {
		req.Header.Set("X-User-Id", u.ID)
		req.Header.Set("X-Auth-Token", u.Token)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, b}, err
}

func (w *world) get(u User, route string) answer {
	w.t.Helper()
	return w.do(u, "GET", "/api/v1/"+route, nil)
}

func (w *world) post(u User, route string, body any) answer {
	w.t.Helper()
	return w.do(u, "POST", "/api/v1/"+route, body)
}

type object = map[string]any

// socket is a raw DDP client: it sees every frame.
type socket struct {
	t    testing.TB
	conn *websocket.Conn
}

func (w *world) dial() *socket {
	w.t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(w.url, "http")+"/websocket", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return &socket{w.t, conn}
}

func (k *socket) send(frame string) {
	k.t.Helper()
	if err := k.conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		k.t.Fatal(err)
	}
}

// next is the next frame, as text.
func (k *socket) next() string {
	k.t.Helper()
	k.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, b, err := k.conn.ReadMessage()
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

func (k *socket) want(frame string) {
	k.t.Helper()
	if got := k.next(); got != frame {
		k.t.Fatalf("got  %s\nwant %s", got, frame)
	}
}

// until skips frames up to one that holds part.
func (k *socket) until(part string) string {
	k.t.Helper()
	for {
		if f := k.next(); strings.Contains(f, part) {
			return f
		}
	}
}

// closed reads to the end and returns the close code.
func (k *socket) closed() int {
	k.t.Helper()
	k.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	for {
		if _, _, err := k.conn.ReadMessage(); err != nil {
			if c, ok := err.(*websocket.CloseError); ok {
				return c.Code
			}
			return websocket.CloseAbnormalClosure
		}
	}
}

func (k *socket) connect() {
	k.t.Helper()
	k.next() // hello
	k.send(`{"msg":"connect","version":"1","support":["1"]}`)
	k.until(`"connected"`)
}

func (k *socket) login(u User) string {
	k.t.Helper()
	k.connect()
	k.send(`{"msg":"method","method":"login","id":"m1","params":[{"resume":"` + u.Token + `"}]}`)
	return k.until(`"result"`)
}

func (k *socket) online(u User) {
	k.t.Helper()
	k.login(u)
	k.send(`{"msg":"sub","id":"s1","name":"stream-room-messages","params":["__my_messages__",false]}`)
	k.until(`"ready"`)
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}

// quiet proves that nothing is on its way: a ping's answer comes next.
func (k *socket) quiet(what string) {
	k.t.Helper()
	k.send(`{"msg":"ping","id":"quiet"}`)
	if f := k.next(); f != `{"msg":"pong","id":"quiet"}` {
		k.t.Errorf("%s, but there came %s", what, f)
	}
}

// field reads a value out of a frame, by a path such as "fields.args.0._id".
func valueAt(frame, path string) any { return answer{body: []byte(frame)}.get(path) }

// each runs f for every version.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for _, v := range Versions() {
		t.Run(string(v), func(t *testing.T) { f(t, newWorld(t, Options{Version: v, NoLimits: true})) })
	}
}

// trusting is a client that trusts one certificate.
func trusting(t *testing.T, pem []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

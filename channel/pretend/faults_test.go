package pretend

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

const ping = `{"msg":"ping","id":"p"}`

// nothing proves that nothing comes for so long of the fake clock.
func (k *socket) nothing(d time.Duration) {
	k.t.Helper()
	k.conn.SetReadDeadline(time.Now().Add(d))
	_, b, err := k.conn.ReadMessage()
	if e, ok := err.(net.Error); !ok || !e.Timeout() {
		k.t.Errorf("there came %s, %v", b, err)
	}
}

func TestSilent(t *testing.T) {
	for _, kind := range []Kind{Silent, HalfOpen} {
		for _, v := range Versions() {
			bubble(t, Options{Version: v}, func(t *testing.T, w *world, dial func() *socket) {
				k, other := dial(), dial()
				k.online(w.bot)
				other.online(w.alice)
				w.Break(Fault{Kind: kind, User: "hermes"})
				k.send(ping)
				w.Say(w.alice, w.lab, "@hermes hello")
				other.until("hello") // nobody else is concerned
				other.conn.Close()
				// Not a frame, nor a close, for as long as one likes.
				k.nothing(10 * time.Minute)
				if opened, ended := w.Sockets(); opened != 2 || ended != 1 {
					t.Errorf("%d sockets opened, %d ended", opened, ended)
				}
			})
		}
	}
}

// TestHalfOpenClose: a dead link doesn't answer a close, and doesn't end.
func TestHalfOpenClose(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		w.Break(Fault{Kind: HalfOpen})
		msg := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		if err := k.conn.WriteMessage(websocket.CloseMessage, msg); err != nil {
			t.Fatal(err)
		}
		k.nothing(time.Minute)
	})
}

// TestMended: after a silence with an end the socket speaks again.
func TestMended(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		w.Break(Fault{Kind: Silent, For: Duration(20 * time.Second)})
		k.send(ping)
		time.Sleep(21 * time.Second)
		if n := len(w.Faults()); n != 0 {
			t.Errorf("%d faults still in force", n)
		}
		k.send(`{"msg":"ping","id":"after"}`)
		k.want(`{"msg":"pong","id":"after"}`)
	})
}

func TestDeaf(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	mend := w.Break(Fault{Kind: Deaf, User: w.bot.ID})
	w.Say(w.alice, w.lab, "lost")
	k.quiet("deaf")
	mend()
	w.Say(w.alice, w.lab, "heard")
	k.until("heard")
	w.Break(Fault{Kind: Deaf, Count: 1})
	w.Say(w.alice, w.lab, "one is lost")
	w.Say(w.alice, w.lab, "the next isn't")
	if f := k.next(); !strings.Contains(f, "the next") {
		t.Error(f)
	}
}

func TestPongs(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	w.Break(Fault{Kind: StalePong, Count: 1})
	k.send(ping)
	k.want(`{"msg":"pong","id":"stale-p"}`)
	w.Break(Fault{Kind: NoPong, Count: 1})
	k.send(ping)
	k.quiet("no pong")
}

func TestDrop(t *testing.T) {
	w := newWorld(t, Options{})
	stays := w.dial()
	stays.online(w.alice)
	for _, code := range []int{0, 1006, 1000, 1001, 1011, 4000} {
		k := w.dial()
		k.online(w.bot)
		w.Break(Fault{Kind: Drop, User: "hermes", Code: code, Text: "gone"})
		want := code
		if code == 0 {
			want = 1006
		}
		if got := k.closed(); got != want {
			t.Errorf("code %d: closed with %d", code, got)
		}
	}
	stays.quiet("another's socket")
	if _, err := w.TryBreak(Fault{Kind: Drop, Code: 999}); err == nil {
		t.Error("999 is no close code")
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		user string
		part string
	}{{HoldConnected, "", "connected"}, {HoldLogin, "hermes", "result"}, {HoldReady, "hermes", "ready"}} {
		bubble(t, Options{Version: V7}, func(t *testing.T, w *world, dial func() *socket) {
			w.Break(Fault{Kind: c.kind, User: c.user})
			k := dial()
			k.next()
			k.send(`{"msg":"connect","version":"1","support":["1"]}`)
			k.send(`{"msg":"method","method":"login","id":"m1","params":[{"resume":"` + w.bot.Token + `"}]}`)
			k.send(subMine)
			time.Sleep(10 * time.Second)
			w.MendAll(c.kind)
			var frames []string
			k.conn.SetReadDeadline(time.Now().Add(time.Second))
			for {
				_, b, err := k.conn.ReadMessage()
				if err != nil {
					break
				}
				frames = append(frames, string(b))
			}
			if f := frames[len(frames)-1]; !strings.Contains(f, c.part) {
				t.Errorf("%s: the held frame should come last: %s", c.kind, strings.Join(frames, "\n"))
			}
		})
	}
}

func TestFailed(t *testing.T) {
	w := newWorld(t, Options{})
	w.Break(Fault{Kind: Failed, Count: 1})
	k := w.dial()
	k.next()
	k.send(`{"msg":"connect","version":"1","support":["1"]}`)
	k.want(`{"msg":"failed","version":"1"}`)
	if code := k.closed(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	w.dial().online(w.bot)
}

func TestLoginFaults(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct {
		f    Fault
		path string
		want any
		me   int
	}{
		{Fault{Kind: RefuseToken}, "error.error", 403.0, 401},
		{Fault{Kind: Transient403, Count: 1}, "error.error", 403.0, 200},
		{Fault{Kind: LoginError}, "error.reason", "Internal server error", 200},
		{Fault{Kind: LoginError, Code: 501, Text: "odd"}, "error.error", 501.0, 200},
		{Fault{Kind: LoginRateLimited, Delay: Duration(3300 * time.Millisecond)}, "error.details.timeToReset", 3300.0, 200},
	} {
		c.f.User = "hermes"
		mend := w.Break(c.f)
		if f := w.dial().login(w.bot); valueAt(f, c.path) != c.want {
			t.Errorf("%s: %s", c.f.Kind, f)
		}
		if a := w.get(w.bot, "me"); a.status != c.me {
			t.Errorf("%s: me is %d", c.f.Kind, a.status)
		}
		if f := w.dial().login(w.alice); valueAt(f, "result.id") != w.alice.ID {
			t.Errorf("%s concerns alice: %s", c.f.Kind, f)
		}
		mend()
		if f := w.dial().login(w.bot); valueAt(f, "result.id") != w.bot.ID {
			t.Errorf("after %s: %s", c.f.Kind, f)
		}
	}
	w.Break(Fault{Kind: WrongID, Count: 1})
	if f := w.dial().login(w.bot); valueAt(f, "result.id") == w.bot.ID || valueAt(f, "result.token") != w.bot.Token {
		t.Error(f)
	}
}

func TestNosubFaults(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct {
		f    Fault
		path string
		want any
	}{
		{Fault{Kind: Nosub, Count: 1}, "error", nil},
		{Fault{Kind: NosubError, Count: 1}, "error.error", "not-allowed"},
		{Fault{Kind: NosubRateLimited, Count: 1, Delay: Duration(34 * time.Second)}, "error.details.timeToReset", 34000.0},
	} {
		w.Break(c.f)
		k := w.dial()
		k.login(w.bot)
		k.until("updated")
		k.send(subMine)
		if f := k.next(); valueAt(f, "msg") != "nosub" || valueAt(f, c.path) != c.want {
			t.Errorf("%s: %s", c.f.Kind, f)
		}
		k.send(subMine)
		k.want(`{"msg":"ready","subs":["s1"]}`)
	}
}

func TestLate(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		w.Break(Fault{Kind: NosubLate, Delay: Duration(20 * time.Second), Count: 1})
		k := dial()
		k.online(w.bot)
		start := time.Now()
		k.conn.SetReadDeadline(time.Time{})
		_, b, err := k.conn.ReadMessage()
		if err != nil || string(b) != `{"msg":"nosub","id":"s1"}` || time.Since(start) != 20*time.Second {
			t.Errorf("%s %v after %v", b, err, time.Since(start))
		}
		w.Break(Fault{Kind: Flap, Delay: Duration(5 * time.Second)})
		for range 3 {
			k := dial()
			k.online(w.bot)
			start := time.Now()
			if code := k.closed(); code != 1006 || time.Since(start) != 5*time.Second {
				t.Errorf("closed with %d after %v", code, time.Since(start))
			}
		}
		w.MendAll()
		w.Break(Fault{Kind: Delay, Delay: Duration(4 * time.Second)})
		k = dial()
		k.next()
		k.send(`{"msg":"connect","version":"1","support":["1"]}`)
		start = time.Now()
		k.until("connected")
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("delayed by %v", d)
		}
	})
}

func TestOddOutput(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	for kind, want := range map[Kind]string{BadJSON: `{"msg":"changed"`, UnknownFrame: `{"msg":"teapot"`, Binary: "\x00\x01\x02\xff", OddFrame: `["odd"]`, HugeFrame: `{"msg":"changed","collection":"x"`} {
		w.Break(Fault{Kind: kind, Text: `["odd"]`})
		f := k.next()
		if !strings.HasPrefix(f, want) {
			t.Errorf("%s: %.80s", kind, f)
		}
		if kind == HugeFrame && len(f) < 5<<20 {
			t.Errorf("a huge frame of %d bytes", len(f))
		}
	}
	w.Break(Fault{Kind: NestedArgs, Count: 1})
	w.Say(w.alice, w.lab, "nested")
	if f := k.next(); valueAt(f, "fields.args.0.0.msg") != "nested" || valueAt(f, "fields.args.0.1.roomType") != "c" {
		t.Error(f)
	}
	w.Break(Fault{Kind: NoContext, Count: 1})
	w.Say(w.alice, w.lab, "bare")
	if f := k.next(); valueAt(f, "fields.args.0.msg") != "bare" || valueAt(f, "fields.args.1") != nil {
		t.Error(f)
	}
	w.Break(Fault{Kind: Duplicate, Count: 1})
	w.Say(w.alice, w.lab, "twice")
	if a, b := k.next(), k.next(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	k.quiet("all said")
}

// TestSlowReader: what the client writes piles up, and it goes on when mended.
func TestSlowReader(t *testing.T) {
	bubble(t, Options{Version: V7}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		w.Break(Fault{Kind: SlowReader})
		k.conn.SetWriteDeadline(time.Now().Add(50 * time.Second))
		var err error
		n := 0
		for err == nil && n < 1000 {
			err = k.conn.WriteMessage(websocket.TextMessage, []byte(`{"msg":"ping","id":"`+strings.Repeat("x", 1000)+`"}`))
			n++
		}
		if e, ok := err.(net.Error); !ok || !e.Timeout() || n < 60 {
			t.Errorf("after %d frames: %v", n, err)
		}
		w.MendAll()
		k.until(`"pong"`)
	})
}

// TestSlowClient: a client that reads nothing stalls nobody else.
func TestSlowClient(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		stuck, k := dial(), dial()
		stuck.online(w.alice)
		k.online(w.bot)
		for range 100 {
			w.Say(w.alice, w.lab, strings.Repeat("x", 4000)) // 400 kB, a pipe holds 64
		}
		for range 100 {
			k.until("xxxx")
		}
		k.quiet("all heard")
	})
}

// TestGateway: a bad gateway answers the socket's handshake too.
// TestAbrupt: a cut connection is a reset, not an end.
func TestAbrupt(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	w.Break(Fault{Kind: Drop})
	_, err := io.ReadAll(k.conn.NetConn())
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
}

// TestCloseUnderLoad: Close ends everything whatever state it is in.
func TestCloseUnderLoad(t *testing.T) {
	s := New(Options{})
	w := &world{Server: s, t: t, http: &http.Client{Transport: &http.Transport{}}}
	w.people()
	var err error
	if w.url, err = s.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Kind{Silent, SlowReader, HoldReady, Delay, Flap} {
		k1 := w.dial()
		k1.connect()
		s.Break(Fault{Kind: k, User: "hermes", Delay: Duration(time.Hour), For: Duration(time.Hour)})
		k1.send(`{"msg":"method","method":"login","id":"m1","params":[{"resume":"` + w.bot.Token + `"}]}`)
		k1.send(subMine)
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	slow := make(chan error, 1)
	s.Break(Fault{Kind: Slow, Delay: Duration(time.Hour)})
	go func() {
		_, err := w.try(w.alice, "GET", "/api/v1/me", nil)
		slow <- err
	}()
	c, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Await(c, func() bool { return s.Total("method login") == 5 }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if err := <-slow; err == nil {
		t.Error("an answer after Close")
	}
	if _, err := s.Listen("127.0.0.1:0"); err == nil {
		t.Error("listening after Close")
	}
	w.http.CloseIdleConnections()
}

// TestMenu: every kind is in the menu once, says what it does, and can be put
// in force and mended.
func TestMenu(t *testing.T) {
	w := newWorld(t, Options{})
	seen := map[Kind]bool{}
	for _, e := range Menu() {
		if seen[e.Kind] || e.Does == "" || e.Group == "" {
			t.Errorf("%+v", e)
		}
		seen[e.Kind] = true
		id, err := w.TryBreak(Fault{Kind: e.Kind, URL: "http://elsewhere.invalid/", Delay: Duration(time.Millisecond)})
		if err != nil || (id == 0) != e.Once {
			t.Errorf("%s: %d %v", e.Kind, id, err)
		}
		if id != 0 && (!w.Mend(id) || w.Mend(id)) {
			t.Errorf("%s can't be mended once", e.Kind)
		}
		if _, err := w.TryBreak(Fault{Kind: e.Kind, User: "nobody"}); err == nil {
			t.Errorf("%s for nobody", e.Kind)
		}
		if _, err := w.TryBreak(Fault{Kind: e.Kind, User: "hermes", URL: "http://x/"}); (err != nil) != e.All {
			t.Errorf("%s for one user: %v", e.Kind, err)
		}
	}
}

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/dial"
)

var (
	meOK     = says(200, asJSON, `{"_id":"`+testUser+`","username":"hermes","active":true,"success":true}`)
	sentOK   = says(200, asJSON, `{"message":{"_id":"m1","rid":"r1","msg":"hi","ts":"2026-11-30T12:00:00.000Z","u":{"_id":"`+testUser+`","username":"hermes"}},"success":true}`)
	succeeds = says(200, asJSON, `{"success":true}`)
	full     = says(503, "text/html", "<h1>503</h1>")
)

// The calls, each with how often it may be made when the server is away.
var everyCall = []struct {
	name  string
	route string
	again bool
	make  func(context.Context, *Client) error
}{
	{"me", RouteMe, true, func(ctx context.Context, c *Client) error { _, err := c.Me(ctx); return err }},
	{"info", RouteInfo, true, func(ctx context.Context, c *Client) error { _, err := c.Info(ctx); return err }},
	{"send", RouteSend, false, func(ctx context.Context, c *Client) error {
		_, err := c.SendMessage(ctx, Outgoing{ID: "m1", Room: "r1", Text: "what Alice wrote"})
		return err
	}},
	{"message", RouteMessage, true, func(ctx context.Context, c *Client) error { _, err := c.Message(ctx, "m1"); return err }},
	{"update", RouteUpdate, true, func(ctx context.Context, c *Client) error { return c.Update(ctx, "r1", "m1", "what Alice wrote") }},
	{"delete", RouteDelete, false, func(ctx context.Context, c *Client) error { return c.Delete(ctx, "r1", "m1") }},
	{"react", RouteReact, true, func(ctx context.Context, c *Client) error { return c.React(ctx, "m1", ":eyes:", true) }},
	{"room", RouteRoom, true, func(ctx context.Context, c *Client) error { _, err := c.Room(ctx, "r1"); return err }},
	{"rooms", RouteRooms, true, func(ctx context.Context, c *Client) error {
		_, _, err := c.Rooms(ctx, time.Time{})
		return err
	}},
	{"subscriptions", RouteSubscriptions, true, func(ctx context.Context, c *Client) error {
		_, _, err := c.Subscriptions(ctx, time.Time{})
		return err
	}},
	{"history", RouteDirectHistory, true, func(ctx context.Context, c *Client) error {
		_, err := c.History(ctx, HistoryQuery{Kind: "d", Room: "r1"})
		return err
	}},
	{"thread", RouteThread, true, func(ctx context.Context, c *Client) error { _, err := c.ThreadMessages(ctx, "m1", 5); return err }},
	{"user", RouteUser, true, func(ctx context.Context, c *Client) error {
		_, err := c.User(ctx, UserQuery{ID: "u1"})
		return err
	}},
	{"direct", RouteDirect, true, func(ctx context.Context, c *Client) error { _, err := c.DirectRoom(ctx, "alice"); return err }},
	{"settings", RouteSettings, true, func(ctx context.Context, c *Client) error { _, err := c.Settings(ctx, "A"); return err }},
	{"upload", RouteMedia, false, func(ctx context.Context, c *Client) error { _, err := c.Upload(ctx, "r1", text("f", "x")); return err }},
	// R77 (RC#41886): a confirmation that is repeated posts twice.
	{"confirm", RouteConfirm, false, func(ctx context.Context, c *Client) error {
		_, err := c.Confirm(ctx, "r1", "f1", ConfirmOptions{})
		return err
	}},
	{"old upload", RouteUpload, false, func(ctx context.Context, c *Client) error {
		_, err := c.OldUpload(ctx, "r1", text("f", "x"), ConfirmOptions{})
		return err
	}},
	{"download", RouteFile, false, func(ctx context.Context, c *Client) error {
		d, err := c.Download(ctx, "/file-upload/f1/a.txt", 100)
		if err == nil {
			err = d.Close()
		}
		return err
	}},
}

func text(name, content string) File {
	return File{Name: name, Type: "text/plain", Size: int64(len(content)), Content: strings.NewReader(content)}
}

func TestOnlyWhatCannotDoubleIsRepeated(t *testing.T) {
	for _, answer := range []struct {
		name   string
		h      http.HandlerFunc
		repeat bool
	}{
		{"502", says(502, "text/html", ""), true},
		{"503", full, true},
		{"503 for a while", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(503)
		}, false},
		{"504", says(504, "text/html", ""), false},
		{"500", says(500, asJSON, `{"success":false}`), false},
		{"429", says(429, asJSON, `{"success":false}`), false},
		{"400", says(400, asJSON, `{"success":false,"error":"x"}`), false},
		{"401", says(401, asJSON, `{"status":"error","message":"You must be logged in to do this."}`), false},
		{"the connection ends", hangUp, true},
	} {
		for _, call := range everyCall {
			t.Run(answer.name+"/"+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, b, _, stop := bubble(t, answer.h, nil)
					defer stop()
					err := call.make(t.Context(), c)
					if err == nil {
						t.Fatal("no error")
					}
					want := 1
					if call.again && answer.repeat {
						want = attempts
					}
					if n := b.count(); n != want {
						t.Errorf("asked %d times, want %d (%v)", n, want, err)
					}
					showsNothing(t, err, "")
				})
			})
		}
	}
}

// Who asks whether a server is there asks once, and again when it likes.
func TestOnceIsOnce(t *testing.T) {
	for _, answer := range []http.HandlerFunc{hangUp, full} {
		for _, call := range everyCall {
			synctest.Test(t, func(t *testing.T) {
				c, b, _, stop := bubble(t, answer, func(c *Config) { c.Once = true })
				defer stop()
				began := time.Now()
				if err := call.make(t.Context(), c); err == nil {
					t.Fatal("no error")
				}
				if n := b.count(); n != 1 || time.Since(began) > 0 {
					t.Errorf("%s: asked %d times in %v", call.name, n, time.Since(began))
				}
			})
		}
	}
}

func TestARepeatThatIsAnsweredCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b, _, stop := bubble(t, inTurn(full, hangUp, meOK), nil)
		defer stop()
		start := time.Now()
		if _, err := c.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.count() != 3 {
			t.Errorf("asked %d times", b.count())
		}
		// Two pauses of 0.3 s and 0.6 s, each half to one and a half as long.
		if took := time.Since(start); took < 450*time.Millisecond || took > 1350*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// R7, P34: nothing listens. The call says so, and says that nothing was sent.
func TestNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, p, stop := bubble(t, succeeds, nil)
		defer stop()
		p.Close()
		for _, call := range everyCall {
			e := mustBe(t, call.make(t.Context(), c), ErrUnavailable)
			if e.Uncertain || e.Status != 0 || !strings.HasSuffix(e.Error(), "not available: connection refused") {
				t.Errorf("%s: %v, sent %v", call.name, e, e.Uncertain)
			}
		}
	})
}

func TestNobodyListensForReal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	b := &backend{url: "http://" + l.Addr().String()}
	e := mustBe(t, once(t.Context(), b.client(t, nil), RouteSend), ErrUnavailable)
	if e.Uncertain || !strings.HasSuffix(e.Error(), "connection refused") {
		t.Errorf("%v, uncertain %v", e, e.Uncertain)
	}
}

func TestACertificateIsNotAskedTwice(t *testing.T) {
	b := secure(t, meOK)
	var dials atomic.Int32
	c := b.client(t, func(cfg *Config) {
		cfg.Network = &dial.Network{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}} // without the test's authority
	})
	_, err := c.Me(t.Context())
	e := mustBe(t, err, ErrUnavailable)
	if _, ok := errors.AsType[*dial.CertificateError](err); !ok || e.Uncertain {
		t.Errorf("got %v, uncertain %v", err, e.Uncertain)
	}
	if dials.Load() != 1 || b.count() != 0 {
		t.Errorf("%d dials, %d requests", dials.Load(), b.count())
	}
}

// A lost reply after the server has done what was asked is told apart from a
// call that never left.
func TestALostReplyIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, hangUp, nil)
		defer stop()
		for _, call := range everyCall {
			if e := mustBe(t, call.make(t.Context(), c), ErrUnavailable); !e.Uncertain {
				t.Errorf("%s: not uncertain", call.name)
			}
		}
	})
}

// What a server says that isn't HTTP isn't quoted: it could be anything, the
// token too.
func TestGarbageIsNotQuoted(t *testing.T) {
	for name, raw := range map[string]string{
		"no HTTP at all":      "SSH-2.0-" + testToken + "\r\n\r\n",
		"a bad header":        "HTTP/1.1 200 OK\r\n" + testToken + "\r\n\r\n",
		"a bad length":        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + testToken + "\r\n\r\n",
		"a bad chunk":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + testToken + "\r\n",
		"a bad status":        "HTTP/1.1 " + testToken + "\r\n\r\n",
		"a longer header":     "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat(testToken, 4000) + "\r\n\r\n",
		"a body that ends":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"a\":\"" + testToken,
		"nothing":             "",
		"half a header":       "HTTP/1.1 200 OK\r\nContent-Ty",
		"an odd encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + testToken + "\r\n\r\n",
		"compressed unasked":  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"a switch of protcol": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + testToken,
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.ReadAtLeast(conn, make([]byte, 4096), 1)
					io.WriteString(conn, raw)
					conn.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, conn)
					conn.Close()
				}
			})
			b := &backend{url: "http://" + l.Addr().String()}
			c := b.client(t, nil)
			_, err = c.SendMessage(t.Context(), Outgoing{ID: "m1", Room: "r1", Text: "what Alice wrote"})
			if _, ok := failed(err); !ok {
				t.Fatalf("got %v", err)
			}
			showsNothing(t, err, raw)
			c.Close()
			l.Close()
			wg.Wait()
		})
	}
}

func TestTheCallersContextComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		defer stop()
		for _, call := range everyCall {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			start := time.Now()
			err := call.make(ctx, c)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
				t.Errorf("%s: %v after %v", call.name, err, time.Since(start))
			}
			if !strings.HasPrefix(err.Error(), call.route+": ") {
				t.Errorf("%s: %v names no route", call.name, err)
			}
		}
	})
}

// A server that takes the call and never answers: 30 s, and not 30 s three
// times.
func TestNoAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b, _, stop := bubble(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		defer stop()
		for _, call := range everyCall {
			before, start := b.count(), time.Now()
			e := mustBe(t, call.make(t.Context(), c), ErrUnavailable)
			if took := time.Since(start); took != 30*time.Second {
				t.Errorf("%s: after %v", call.name, took)
			}
			if n := b.count() - before; n != 1 {
				t.Errorf("%s: asked %d times", call.name, n)
			}
			if !strings.HasSuffix(e.Error(), " in time") {
				t.Errorf("%s: %v", call.name, e)
			}
		}
	})
}

// RATE_LIMITER_SLOWDOWN_RATE: a server that sleeps before it answers is waited
// for.
func TestASlowServerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(25 * time.Second)
			meOK(w, r)
		}, nil)
		defer stop()
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A body that trickles is cut off by the call's time, however lively it is.
func TestATricklingBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			io.WriteString(w, `{"success":true,"a":"`)
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, nil)
		defer stop()
		start := time.Now()
		_, err := c.Message(t.Context(), "m1")
		mustBe(t, err, ErrUnavailable)
		if took := time.Since(start); took > 31*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

func TestBodiesAreBounded(t *testing.T) {
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			w.WriteHeader(status)
			io.WriteString(w, `{"success":true,"a":"`)
			chunk := []byte(strings.Repeat("x", 64<<10))
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   Kind
	}{
		{"endless", endless(200), ErrTooLarge},
		{"announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", asJSON)
			w.Header().Set("Content-Length", "99999999999")
			io.WriteString(w, `{"success":true`)
		}, ErrTooLarge},
		{"an endless refusal", endless(400), ErrNotJSON},
		{"an endless 401", endless(401), ErrNotJSON},
		{"an endless 500", endless(500), ErrUnavailable},
		{"an endless 429", endless(429), ErrRateLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := secure(t, c.answer)
			err := once(t.Context(), b.client(t, nil), RouteSend)
			mustBe(t, err, c.kind)
			if refused, _ := b.client(t, nil).Refusal(t.Context()); refused {
				t.Error("taken for a refusal")
			}
		})
	}
}

// A list may be larger than another answer.
func TestALongHistoryFits(t *testing.T) {
	long := `{"messages":[{"_id":"a","rid":"r","msg":"` + strings.Repeat("x", 3<<20) + `"}],"success":true}`
	b := secure(t, says(200, asJSON, long))
	c := b.client(t, nil)
	got, err := c.History(t.Context(), HistoryQuery{Kind: "c", Room: "r"})
	if err != nil || len(got) != 1 || len(got[0].Text) != 3<<20 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	_, err = c.Message(t.Context(), "a")
	mustBe(t, err, ErrTooLarge)
}

// The credentials stay with the sealed server, whatever it answers.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := secure(t, meOK)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, target := range []string{"/elsewhere", other.url + "/api/v1/me"} {
			b := secure(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", target)
				w.WriteHeader(status)
			})
			c := b.client(t, nil)
			for _, call := range everyCall {
				err := call.make(t.Context(), c)
				mustBe(t, err, ErrRedirected)
				if strings.Contains(err.Error(), "127.0.0.1") {
					t.Errorf("%v names the address", err)
				}
			}
			if n := b.count(); n != len(everyCall) {
				t.Errorf("%d: asked %d times for %d calls", status, n, len(everyCall))
			}
		}
	}
	if n := other.count(); n != 0 {
		t.Fatalf("the other server was asked %d times", n)
	}
}

// P64: the token is in one header of a request to the sealed server, and
// nowhere else.
func TestWhereTheTokenGoes(t *testing.T) {
	b := secure(t, succeeds)
	log, lines := debugLog()
	for _, call := range everyCall {
		before := b.count()
		call.make(t.Context(), b.client(t, func(c *Config) { c.Log = log }))
		if b.count() == before {
			t.Fatalf("%s made no request", call.name)
		}
		got := b.last(t)
		for name, values := range got.header {
			for _, v := range values {
				if strings.Contains(v, testToken) && name != "X-Auth-Token" {
					t.Errorf("%s: token in %s", call.name, name)
				}
			}
		}
		if strings.Contains(got.path+"?"+got.query+got.body, testToken) || strings.Contains(got.path+"?"+got.query, testUser) {
			t.Errorf("%s: a credential in the address or body", call.name)
		}
		if strings.Contains(got.path, "login") { // P32 (RC#24826): a login a call pushes others out
			t.Errorf("%s logs in", call.name)
		}
		wantToken, wantUser := testToken, testUser
		if call.route == RouteInfo {
			wantToken, wantUser = "", ""
		}
		if got.header.Get("X-Auth-Token") != wantToken || got.header.Get("X-User-Id") != wantUser {
			t.Errorf("%s: sent as %q", call.name, got.header.Get("X-User-Id"))
		}
		if len(got.header["X-Auth-Token"]) > 1 || got.header.Get("Cookie") != "" || got.header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: headers %v", call.name, got.header)
		}
	}
	for _, hidden := range []string{testToken, testUser, "what Alice wrote", "r1", "m1", "alice", "a.txt"} {
		if strings.Contains(lines.String(), `"`+hidden) {
			t.Errorf("the log shows %q", hidden)
		}
	}
	if n := strings.Count(lines.String(), "rest call"); n < len(everyCall) {
		t.Errorf("%d lines for %d calls", n, len(everyCall))
	}
}

func TestTheEnvironmentHasNoSay(t *testing.T) {
	proxy := secure(t, meOK)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.url)
	}
	t.Setenv("NO_PROXY", "")
	b := secure(t, meOK)
	if _, err := b.client(t, nil).Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	if proxy.count() != 0 || b.count() != 1 {
		t.Error("went through the proxy")
	}
}

func TestTheBasePathIsKept(t *testing.T) {
	b := secure(t, inTurn(meOK, says(200, asJSON, `{"version":"3.4.0"}`), sentOK, says(200, "text/plain", "x")))
	c := b.client(t, func(cfg *Config) { cfg.Server += "/chat" })
	var paths []string
	for _, name := range []string{"me", "info", "confirm", "download"} {
		for _, call := range everyCall {
			if call.name == name {
				if err := call.make(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, b.last(t).path)
			}
		}
	}
	if got := strings.Join(paths, " "); got != "/chat/api/v1/me /chat/api/info /chat/api/v1/rooms.mediaConfirm/r1/f1 /chat/file-upload/f1/a.txt" {
		t.Error(got)
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{Server: "https://chat.example.org", UserID: testUser, Token: secretOf(testToken)}
	for name, change := range map[string]func(*Config){
		"no server":            func(c *Config) { c.Server = "" },
		"plain http to a name": func(c *Config) { c.Server = "http://chat.example.org" },
		"not canonical":        func(c *Config) { c.Server = "https://Chat.Example.org" },
		"a slash at the end":   func(c *Config) { c.Server = "https://chat.example.org/" },
		"a query":              func(c *Config) { c.Server = "https://chat.example.org?x=1" },
		"no token":             func(c *Config) { c.Token = secretOf("") },
		"a line in the token":  func(c *Config) { c.Token = secretOf(testToken + "\r\nHost: evil") },
		"no user id":           func(c *Config) { c.UserID = "" },
		"a space in the id":    func(c *Config) { c.UserID = "a b" },
	} {
		cfg := good
		change(&cfg)
		c, err := New(cfg)
		if err == nil {
			c.Close()
			t.Errorf("%s: taken", name)
			continue
		}
		showsNothing(t, err, "")
	}
	c, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// After any burst an idle bot holds no connection and no goroutine.
func TestIdleHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int32
		c, _, p, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			n := open.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(100 * time.Millisecond)
			open.Add(-1)
			meOK(w, r)
		}, nil)
		defer stop()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := c.Me(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most.Load() != connections || p.dials() != connections {
			t.Errorf("%d at once over %d connections", most.Load(), p.dials())
		}
		time.Sleep(idleTime - time.Millisecond)
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
		if p.dials() != connections {
			t.Error("a connection was not used again")
		}
		time.Sleep(idleTime + time.Millisecond)
		if _, err := c.Me(t.Context()); err != nil {
			t.Error(err)
		}
		if p.dials() != connections+1 {
			t.Error("an idle connection was kept")
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		defer stop()
		errs := make(chan error, len(everyCall))
		for _, call := range everyCall {
			go func() { errs <- call.make(t.Context(), c) }()
		}
		synctest.Wait()
		start := time.Now()
		c.Close()
		for range everyCall {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
		c.Close()
		for _, call := range everyCall {
			if err := call.make(t.Context(), c); !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", call.name, err)
			}
		}
	})
}

// A dial outlives the call that gave up on it, in the transport's goroutine.
// Close ends it and waits for it.
func TestCloseWaitsForADial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		c, err := New(Config{
			Server: "http://127.0.0.1:1", UserID: testUser, Token: secretOf(testToken),
			Network: &dial.Network{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				ended.Store(true)
				return nil, ctx.Err()
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Me(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		c.Close()
		if !ended.Load() {
			t.Error("Close came back before the dial did")
		}
	})
}

func TestTheBudgetIsAskedForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var routes []string
		c, b, _, stop := bubble(t, full, func(cfg *Config) {
			cfg.Allow = func(_ context.Context, route string) error {
				routes = append(routes, route)
				time.Sleep(time.Minute) // longer than a call may take
				return nil
			}
		})
		defer stop()
		for _, call := range everyCall {
			if call.again {
				continue
			}
			routes = nil
			before := b.count()
			mustBe(t, call.make(t.Context(), c), ErrUnavailable)
			if fmt.Sprint(routes) != "["+call.route+"]" || b.count()-before != 1 {
				t.Errorf("%s: asked for %v, %d requests", call.name, routes, b.count()-before)
			}
		}
	})
}

func TestABudgetThatSaysNo(t *testing.T) {
	b := secure(t, succeeds)
	no := errors.New("the host has no more of it")
	for _, call := range everyCall {
		c := b.client(t, func(cfg *Config) {
			cfg.Allow = func(context.Context, string) error { return no }
		})
		if err := call.make(t.Context(), c); !errors.Is(err, no) {
			t.Errorf("%s: %v", call.name, err)
		}
	}
	if b.count() != 0 {
		t.Errorf("asked %d times", b.count())
	}
}

// A budget that is waited for ends with the client.
func TestCloseEndsAWaitForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, meOK, func(cfg *Config) {
			cfg.Allow = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		})
		defer stop()
		errs := make(chan error, len(everyCall))
		for _, call := range everyCall {
			go func() { errs <- call.make(t.Context(), c) }()
		}
		synctest.Wait()
		c.Close()
		for range everyCall {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Many goroutines, one client: for the race detector.
func TestOneClientManyGoroutines(t *testing.T) {
	b := secure(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "me"):
			meOK(w, r)
		case strings.Contains(r.URL.Path, "file-upload"):
			io.WriteString(w, "content")
		case strings.Contains(r.URL.Path, "chat.react"):
			says(429, asJSON, `{"success":false}`)(w, r)
		default:
			succeeds(w, r)
		}
	})
	c := b.client(t, nil)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			everyCall[i%len(everyCall)].make(t.Context(), c)
			c.ClockOffset()
			if d, err := c.Download(t.Context(), "/file-upload/a/"+url.PathEscape("b c"), 10); err == nil {
				io.Copy(io.Discard, d)
				d.Close()
			}
		})
	}
	wg.Wait()
}

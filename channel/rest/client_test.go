package rest

import (
	"context"
	"errors"
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

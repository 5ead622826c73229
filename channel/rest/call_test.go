package rest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
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

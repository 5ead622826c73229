package pretend

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestRestart(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		w.get(w.bot, "me")
		w.Break(Fault{Kind: Restart, Delay: Duration(30 * time.Second)})
		if code := k.closed(); code != 1006 {
			t.Errorf("closed with %d", code)
		}
		if _, err := w.try(w.bot, "GET", "/api/info", nil); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while it is away: %v", err)
		}
		time.Sleep(31 * time.Second)
		if a := w.get(w.bot, "me"); a.status != 200 {
			t.Errorf("after: %d", a.status)
		}
		dial().online(w.bot)
	})
}

func TestUnreachableTCP(t *testing.T) {
	w := newWorld(t, Options{})
	w.get(w.bot, "me")
	mend := w.Break(Fault{Kind: Unreachable})
	for range 3 {
		if a, err := w.try(w.bot, "GET", "/api/info", nil); err == nil {
			t.Errorf("answered %d", a.status)
		}
	}
	mend()
	if a := w.get(w.bot, "me"); a.status != 200 {
		t.Error(a.status)
	}
}

func TestRESTFaults(t *testing.T) {
	w := newWorld(t, Options{Version: V7})
	for _, c := range []struct {
		f      Fault
		status int
		kind   string
		part   string
	}{
		{Fault{Kind: BadGateway}, 502, "text/html", "nginx"},
		{Fault{Kind: BadGateway, Code: 503}, 503, "text/html", "nginx"},
		{Fault{Kind: HTML}, 200, "text/html", "<title>"},
		{Fault{Kind: ServerError}, 500, "application/json", "Internal server error"},
		{Fault{Kind: Refused401}, 401, "application/json", "must be logged in"},
		{Fault{Kind: RedirectREST, URL: "http://elsewhere.invalid/x"}, 302, "text/html; charset=utf-8", "elsewhere.invalid"},
		{Fault{Kind: RateLimit, Delay: Duration(21 * time.Second)}, 429, "application/json", "You must wait 21 seconds before trying this endpoint again. [error-too-many-requests]"},
	} {
		c.f.Route, c.f.Count, c.f.User = "me", 1, "hermes"
		w.Break(c.f)
		if a := w.get(w.bot, "subscriptions.get"); a.status != 200 {
			t.Errorf("%s: another route answers %d", c.f.Kind, a.status)
		}
		if a := w.get(w.alice, "me"); a.status != 200 {
			t.Errorf("%s: another user gets %d", c.f.Kind, a.status)
		}
		a := w.get(w.bot, "me")
		if kind := a.header.Get("Content-Type"); a.status != c.status || !strings.HasPrefix(kind, c.kind) || !strings.Contains(string(a.body), c.part) {
			t.Errorf("%s: %d %s %s", c.f.Kind, a.status, kind, a.body)
		}
		if a := w.get(w.bot, "me"); a.status != 200 {
			t.Errorf("after %s: %d", c.f.Kind, a.status)
		}
	}
	w.Break(Fault{Kind: Cut, Count: 1})
	if a, err := w.try(w.bot, "GET", "/api/v1/me", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %d %v", a.status, err)
	}
}

func TestGateway(t *testing.T) {
	w := newWorld(t, Options{})
	address := "ws" + strings.TrimPrefix(w.url, "http") + "/websocket"
	for _, f := range []Fault{{Kind: BadGateway}, {Kind: RedirectSocket, URL: "http://elsewhere.invalid/websocket"}} {
		mend := w.Break(f)
		_, res, err := websocket.DefaultDialer.Dial(address, nil)
		if !errors.Is(err, websocket.ErrBadHandshake) {
			t.Fatalf("%s: %v", f.Kind, err)
		}
		res.Body.Close()
		if want := map[Kind]int{BadGateway: 502, RedirectSocket: 302}[f.Kind]; res.StatusCode != want {
			t.Errorf("%s: %d", f.Kind, res.StatusCode)
		}
		mend()
	}
	w.dial().connect()
}

func TestMessageFaults(t *testing.T) {
	w := newWorld(t, Options{})
	other := w.AddChannel("other", w.bot)
	send := func(id string) answer {
		return w.post(w.bot, "chat.sendMessage", object{"message": object{"_id": id, "rid": w.lab.ID, "msg": "said"}})
	}
	w.Break(Fault{Kind: LoseReply, Count: 1})
	if _, err := w.try(w.bot, "POST", "/api/v1/chat.sendMessage", object{"message": object{"_id": "lost", "rid": w.lab.ID, "msg": "said"}}); err == nil {
		t.Error("lose-reply: there came a reply")
	}
	if m, ok := w.Message("lost"); !ok || m.Text != "said" {
		t.Error("lose-reply: the message should be there")
	}
	w.Break(Fault{Kind: Swallow, Count: 1})
	if a := send("gone"); a.status != 400 || !strings.Contains(string(a.body), "starred") {
		t.Errorf("swallow: %d %s", a.status, a.body)
	}
	if _, ok := w.Message("gone"); ok {
		t.Error("swallow: the message is there")
	}
	w.Break(Fault{Kind: Rewrite, Count: 1, Text: "milder"})
	if a := send("bad"); a.get("message.msg") != "milder" {
		t.Errorf("rewrite: %s", a.body)
	}
	w.Break(Fault{Kind: ForeignID, Count: 1})
	if a := send("taken"); a.status != 400 || !strings.Contains(string(a.body), "starred") {
		t.Errorf("foreign-id: %s", a.body)
	}
	if m, _ := w.Message("taken"); m.User.ID != "rocket.cat" {
		t.Errorf("foreign-id: it is %s's", m.User.ID)
	}
	w.Break(Fault{Kind: Misroute, Count: 1, Text: "other"})
	if a := send("stray"); a.get("message.rid") != other.ID {
		t.Errorf("misroute: %s", a.body)
	}
}

func TestClockSkew(t *testing.T) {
	w := newWorld(t, Options{})
	w.Break(Fault{Kind: ClockSkew, Delay: Duration(-time.Hour)})
	a := w.get(w.bot, "me")
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil || time.Since(date) < 59*time.Minute {
		t.Errorf("Date is %s", a.header.Get("Date"))
	}
	if m := w.Say(w.alice, w.lab, "then"); time.Since(m.Time) < 59*time.Minute {
		t.Errorf("ts is %v", m.Time)
	}
}

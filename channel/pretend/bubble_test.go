package pretend

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// bubble runs f with a server that is reached by pipe, on a fake clock.
func bubble(t *testing.T, o Options, f func(t *testing.T, w *world, dial func() *socket)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(o)
		pipe := s.Pipe()
		tr := &http.Transport{DialContext: pipe}
		w := &world{Server: s, t: t, url: "http://localhost", http: &http.Client{Transport: tr}}
		w.people()
		d := websocket.Dialer{NetDialContext: pipe}
		var open []*websocket.Conn
		t.Cleanup(func() {
			for _, c := range open {
				c.Close()
			}
			tr.CloseIdleConnections()
			s.Close()
		})
		f(t, w, func() *socket {
			conn, _, err := d.DialContext(t.Context(), "ws://localhost/websocket", nil)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, conn)
			return &socket{t, conn}
		})
	})
}

// readAll follows a socket to its end and tells when what came.
func (k *socket) readAll(start time.Time, answer bool, until time.Duration) (lines []string, code int) {
	k.conn.SetReadDeadline(start.Add(until))
	for {
		_, b, err := k.conn.ReadMessage()
		if err != nil {
			if c, ok := err.(*websocket.CloseError); ok {
				return append(lines, time.Since(start).String()+" closed"), c.Code
			}
			return lines, 0
		}
		lines = append(lines, time.Since(start).String()+" "+string(b))
		if answer && strings.Contains(string(b), `"ping"`) {
			k.send(`{"msg":"pong"}`)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	const ping = `{"msg":"ping"}`
	for _, c := range []struct {
		v      Version
		answer bool
		want   []string
		code   int
	}{
		{V34, false, []string{"15s " + ping, "30s closed"}, 1000},
		{V7, false, []string{"15s " + ping, "30s closed"}, 1000},
		{V9, false, []string{"30s " + ping, "1m0s closed"}, 4000},
		{V34, true, []string{"15s " + ping, "45s " + ping, "1m15s " + ping, "1m45s " + ping}, 0},
		{V9, true, []string{"30s " + ping, "1m0s " + ping, "1m30s " + ping}, 0},
	} {
		bubble(t, Options{Version: c.v}, func(t *testing.T, w *world, dial func() *socket) {
			k := dial()
			k.connect()
			got, code := k.readAll(time.Now(), c.answer, 110*time.Second)
			if code != c.code || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s answering %v: code %d, want %d; got\n%s\nwant\n%s", c.v, c.answer, code, c.code, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestBubbleConversation(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		w.Say(w.alice, w.lab, "@hermes hello")
		k.until("changed")
		if a := w.get(w.bot, "me"); a.status != 200 || a.get("_id") != w.bot.ID {
			t.Errorf("me: %d %s", a.status, a.body)
		}
		start := time.Now()
		w.Break(Fault{Kind: Slow, Delay: Duration(20 * time.Second), Count: 1})
		w.get(w.bot, "me")
		if d := time.Since(start); d != 20*time.Second {
			t.Errorf("a slow answer took %v of the fake clock", d)
		}
		c, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Await(c, func() bool { return false }); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

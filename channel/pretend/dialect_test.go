package pretend

import (
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// The frames below are those seen on a real 3.4.0, or read from ddp-streamer's
// source; the ids are ours.

func TestHello(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want := `{"server_id":"0"}`
		if w.Version() == V9 {
			want = `{"msg":"server_id","server_id":"0"}`
		}
		k := w.dial()
		k.want(want)
		k.send(`{"msg":"connect","version":"1","support":["1","pre2","pre1"]}`)
		f := k.next()
		if id, _ := valueAt(f, "session").(string); len(id) != 17 || f != `{"msg":"connected","session":"`+id+`"}` {
			t.Errorf("connected: %s", f)
		}
	})
}

func TestConnectVersions(t *testing.T) {
	for _, c := range []struct {
		v             Version
		frame, answer string
		code          int // 0: stays
	}{
		{V34, `{"msg":"connect","version":"7","support":["7"]}`, `{"msg":"failed","version":"1"}`, 1000},
		{V7, `{"msg":"connect","version":"1","support":["pre1","1"]}`, `{"msg":"failed","version":"pre1"}`, 1000},
		{V7, `{"msg":"connect","version":"pre2","support":["pre2"]}`, `"connected"`, 0},
		{V9, `{"msg":"connect","version":"7","support":["7"]}`, `"connected"`, 0},
	} {
		w := newWorld(t, Options{Version: c.v})
		k := w.dial()
		k.next()
		k.send(c.frame)
		if f := k.next(); !strings.Contains(f, c.answer) {
			t.Errorf("%s %s: %s", c.v, c.frame, f)
		}
		if c.code == 0 {
			k.quiet("connected")
		} else if code := k.closed(); code != c.code {
			t.Errorf("%s: closed with %d", c.v, code)
		}
	}
}

// TestOddFrames: Meteor answers an error and goes on, the streamer closes.
func TestOddFrames(t *testing.T) {
	for _, c := range []struct {
		name      string
		connected bool
		frame     string
		meteor    string
		streamer  int // the close code; 0: nothing happens
	}{
		{"sub before connect", false, `{"msg":"sub","id":"1","name":"x"}`, `{"msg":"error","reason":"Must connect first","offendingMessage":{"msg":"sub","id":"1","name":"x"}}`, 1002},
		{"ping before connect", false, `{"msg":"ping"}`, `{"msg":"error","reason":"Must connect first","offendingMessage":{"msg":"ping"}}`, 1002},
		{"no JSON before connect", false, `nonsense`, `{"msg":"error","reason":"Bad request"}`, 1007},
		{"no JSON", true, `{"msg":`, `{"msg":"error","reason":"Bad request"}`, 1007},
		{"a list", true, `[1]`, `{"msg":"error","reason":"Bad request"}`, 1007},
		{"null", true, `null`, `{"msg":"error","reason":"Bad request"}`, 1007},
		{"an id that is a number", true, `{"msg":"method","id":1,"method":"login"}`, `{"msg":"error","reason":"Bad request"}`, 1007},
		{"unknown msg", true, `{"msg":"teapot"}`, `{"msg":"error","reason":"Bad request","offendingMessage":{"msg":"teapot"}}`, 0},
		{"connect again", true, `{"msg":"connect","version":"1","support":["1"]}`, `{"msg":"error","reason":"Already connected","offendingMessage":{"msg":"connect","version":"1","support":["1"]}}`, 0},
		{"method without id", true, `{"msg":"method","method":"login"}`, `{"msg":"error","reason":"Malformed method invocation","offendingMessage":{"msg":"method","method":"login"}}`, 1002},
		{"sub without name", true, `{"msg":"sub","id":"1"}`, `{"msg":"error","reason":"Malformed subscription","offendingMessage":{"msg":"sub","id":"1"}}`, 1002},
	} {
		each(t, func(t *testing.T, w *world) {
			k := w.dial()
			if c.connected {
				k.connect()
			} else {
				k.next()
			}
			k.send(c.frame)
			switch {
			case w.Version() != V9:
				k.want(c.meteor)
			case c.streamer == 0:
				k.quiet(c.name)
			default:
				if code := k.closed(); code != c.streamer {
					t.Errorf("%s: closed with %d, want %d", c.name, code, c.streamer)
				}
			}
		})
	}
}

func TestBinaryFrame(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.connect()
		if err := k.conn.WriteMessage(websocket.BinaryMessage, []byte(`{"msg":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		if w.Version() == V9 {
			if code := k.closed(); code != 1007 {
				t.Errorf("closed with %d", code)
			}
			return
		}
		k.want(`{"msg":"error","reason":"Bad request"}`)
	})
}

func TestPingPong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.connect()
		k.send(`{"msg":"ping","id":"x1"}`)
		k.want(`{"msg":"pong","id":"x1"}`)
		k.send(`{"msg":"ping"}`)
		k.want(`{"msg":"pong"}`)
		// A ping of the WebSocket itself is answered by the WebSocket itself.
		got := ""
		k.conn.SetPongHandler(func(s string) error { got = s; return nil })
		if err := k.conn.WriteMessage(websocket.PingMessage, []byte("ws")); err != nil {
			t.Fatal(err)
		}
		k.quiet("after a WebSocket ping")
		if got != "ws" {
			t.Errorf("the WebSocket's pong held %q", got)
		}
	})
}

func TestLoginFrames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, token := w.bot.ID, w.bot.Token
		k := w.dial()
		k.connect()
		k.send(`{"msg":"method","method":"login","id":"m2","params":[{"resume":"` + token + `"}]}`)
		if w.Version() == V9 {
			k.want(`{"msg":"result","id":"m2","result":{"id":"` + id + `","token":"` + token + `","type":"resume"}}`)
		} else {
			k.want(`{"msg":"added","collection":"users","id":"` + id + `","fields":{"emails":[{"address":"hermes@example.org","verified":true}],"username":"hermes"}}`)
			k.want(`{"msg":"result","id":"m2","result":{"id":"` + id + `","token":"` + token + `","tokenExpires":{"$date":null},"type":"resume"}}`)
		}
		k.want(`{"msg":"updated","methods":["m2"]}`)
		if n := w.Count(w.bot, "login"); n != 1 {
			t.Errorf("%d logins counted", n)
		}
	})
}

// TestLoginRefused: 403 with the dialect's own words, updated before the
// result on Meteor alone, and the socket stays.
func TestLoginRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		off := w.AddUser("off", UserOptions{Bot: true})
		w.Deactivate(off)
		reason := "You've been logged out by the server. Please log in again."
		if w.Version() == V9 {
			reason = strings.TrimSuffix(reason, ".")
		}
		result := `{"msg":"result","id":"m","error":{"isClientSafe":true,"error":403,"reason":"` + reason + `","message":"` + reason + ` [403]","errorType":"Meteor.Error"}}`
		for _, token := range []string{"unknown", off.Token} {
			k := w.dial()
			k.connect()
			k.send(`{"msg":"method","method":"login","id":"m","params":[{"resume":"` + token + `"}]}`)
			frames := []string{`{"msg":"updated","methods":["m"]}`, result}
			if w.Version() == V9 {
				frames[0], frames[1] = frames[1], frames[0]
			}
			k.want(frames[0])
			k.want(frames[1])
			k.quiet("a refused login")
		}
	})
}

func TestLoginByPassword(t *testing.T) {
	const sha = `{"digest":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","algorithm":"sha-256"}`
	each(t, func(t *testing.T, w *world) {
		for _, password := range []string{`"secret"`, sha} {
			k := w.dial()
			k.connect()
			k.send(`{"msg":"method","method":"login","id":"m","params":[{"user":{"username":"alice"},"password":` + password + `}]}`)
			f := k.until(`"result"`)
			if valueAt(f, "result.id") != w.alice.ID || valueAt(f, "result.type") != "password" {
				t.Error(f)
			}
			if _, ok := valueAt(f, "result.tokenExpires.$date").(float64); !ok {
				t.Errorf("a session's token has an end: %s", f)
			}
		}
		for _, cred := range []string{
			`{"user":{"username":"alice"},"password":"wrong"}`, `{"user":{"username":"nobody"},"password":"secret"}`,
			`{"user":{"username":"hermes"},"password":""}`, `{}`, `7`,
		} {
			k := w.dial()
			k.connect()
			k.send(`{"msg":"method","method":"login","id":"m","params":[` + cred + `]}`)
			if f := k.until(`"result"`); valueAt(f, "error.error") != 403.0 || valueAt(f, "error.reason") != "User not found" {
				t.Errorf("%s: %s", cred, f)
			}
		}
	})
}

func TestUnknownMethod(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.login(w.bot)
		k.until("updated")
		k.send(`{"msg":"method","method":"teapot","id":"t","params":[]}`)
		f := k.until(`"result"`)
		if valueAt(f, "error.error") != 404.0 || valueAt(f, "error.reason") != "Method 'teapot' not found" {
			t.Error(f)
		}
	})
}

// TestMethodsGone: 9.0 keeps login and the streams of the realtime API.
func TestMethodsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.login(w.bot)
		k.send(`{"msg":"method","method":"getRoomIdByNameOrId","id":"t","params":["lab"]}`)
		f := k.until(`"id":"t"`)
		if w.Version() == V9 {
			if !strings.Contains(f, "not found") && !strings.Contains(k.until(`"result"`), "not found") {
				t.Error(f)
			}
			return
		}
		if valueAt(f, "result") != w.lab.ID {
			t.Error(f)
		}
	})
}

func TestLogout(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		k.send(`{"msg":"method","method":"logout","id":"o","params":[]}`)
		if w.Version() == V9 {
			if code := k.closed(); code != 1002 {
				t.Errorf("closed with %d", code)
			}
			return
		}
		k.until(`"id":"o"`)
		k.until("updated")
		w.Say(w.alice, w.lab, "@hermes are you there?")
		k.quiet("logged out")
		if w.Online(w.bot) || len(w.Connections(w.bot)) != 0 || len(w.Connections(User{})) != 1 {
			t.Error("the socket should be anonymous")
		}
	})
}

func TestSockJS(t *testing.T) {
	w := newWorld(t, Options{Version: V34})
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(w.url, "http")+"/sockjs/123/abcdefgh/websocket", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	k := &socket{t, conn}
	k.want("o")
	k.want(`a["{\"server_id\":\"0\"}"]`)
	k.send(`["{\"msg\":\"connect\",\"version\":\"1\",\"support\":[\"1\"]}","{\"msg\":\"ping\",\"id\":\"p\"}"]`)
	if f := k.next(); !strings.HasPrefix(f, `a["{\"msg\":\"connected\"`) {
		t.Error(f)
	}
	k.want(`a["{\"msg\":\"pong\",\"id\":\"p\"}"]`)
	k.send(`no list`)
	if code := k.closed(); code != 1007 {
		t.Errorf("closed with %d", code)
	}
}

// TestClientCloses: a close frame is answered with its own code.
func TestClientCloses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		msg := websocket.FormatCloseMessage(websocket.CloseGoingAway, "bye")
		if err := k.conn.WriteMessage(websocket.CloseMessage, msg); err != nil {
			t.Fatal(err)
		}
		if code := k.closed(); code != websocket.CloseGoingAway {
			t.Errorf("answered with %d", code)
		}
		if err := w.Await(ctx(t), func() bool { return !w.Online(w.bot) }); err != nil {
			t.Error(err)
		}
	})
}

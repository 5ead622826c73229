package pretend

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestUnauthorized(t *testing.T) {
	want := map[Version]string{
		V34: `{"status":"error","message":"You must be logged in to do this."}`,
		V7:  `{"status":"error","message":"You must be logged in to do this.","success":false,"error":"You must be logged in to do this."}`,
		V9:  `{"success":false,"error":"You must be logged in to do this."}`,
	}
	each(t, func(t *testing.T, w *world) {
		for name, u := range map[string]User{
			"nobody": {}, "another's token": {ID: w.alice.ID, Token: w.bot.Token}, "no such token": {ID: w.alice.ID, Token: "x"},
		} {
			if a := w.get(u, "me"); a.status != 401 || string(a.body) != want[w.Version()] {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
	})
}

// TestErrorShapes: what each version says to the same mistakes. The bodies of
// 3.4 were seen live.
func TestErrorShapes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret := w.AddGroup("secret", w.alice)
		quiet := w.AddChannel("quiet", w.alice, w.bot)
		w.SetReadOnly(quiet, true)
		closed := w.AddChannel("closed", w.alice, w.bot)
		w.Archive(closed, true)
		m := w.Say(w.alice, w.lab, "hello")
		hidden := w.Say(w.alice, secret, "hidden")
		forbidden := w.Version() == V9
		pick := func(old, new9 string) string {
			if forbidden {
				return new9
			}
			return old
		}
		denied := 400
		if forbidden {
			denied = 403
		}
		send := func(rid string) object { return object{"message": object{"rid": rid, "msg": "x"}} }
		for _, c := range []struct {
			name, route string
			body        object
			status      int
			kind, text  string
		}{
			{"unknown room, post", "chat.postMessage", object{"roomId": "none", "text": "x"}, 400, "invalid-channel", ""},
			{"unknown user, post", "chat.postMessage", object{"channel": "@none", "text": "x"}, 400, "invalid-channel", ""},
			{"no room, post", "chat.postMessage", object{"text": "x"}, 400, "invalid-channel", ""},
			{"private room, post", "chat.postMessage", object{"roomId": secret.ID, "text": "x"}, denied, pick("", "error-forbidden"), pick("error-not-allowed", "")},
			{"private room, send", "chat.sendMessage", send(secret.ID), denied, pick("", "error-forbidden"), ""},
			{"read-only", "chat.sendMessage", send(quiet.ID), 400, "", "You can't send messages because the room is readonly."},
			{"archived", "chat.sendMessage", send(closed.ID), 400, "", ""},
			{"unknown room, send", "chat.sendMessage", send("none"), 400, "error-invalid-room", ""},
			{"no room, send", "chat.sendMessage", object{"message": object{"msg": "x"}}, 400, "", "The 'rid' property on the message object is missing."},
			{"no message", "chat.sendMessage", object{}, 400, "error-invalid-params", ""},
			{"system message", "chat.sendMessage", object{"message": object{"rid": w.lab.ID, "t": "uj"}}, 400, "", "Cannot send system messages using 'chat.sendMessage'"},
			{"clock off", "chat.sendMessage", object{"message": object{"rid": w.lab.ID, "msg": "x", "ts": time.Now().Add(-2 * time.Minute).Format(time.RFC3339)}}, 400, "error-message-ts-out-of-sync", ""},
			{"another's message, edit", "chat.update", object{"roomId": w.lab.ID, "msgId": m.ID, "text": "x"}, denied, pick("error-action-not-allowed", "error-forbidden"), ""},
			{"another's message, delete", "chat.delete", object{"roomId": w.lab.ID, "msgId": m.ID}, denied, pick("error-action-not-allowed", "error-forbidden"), ""},
			{"unknown message, edit", "chat.update", object{"roomId": w.lab.ID, "msgId": "none", "text": "x"}, 400, "", `No message found with the id of "none".`},
			{"wrong room, edit", "chat.update", object{"roomId": quiet.ID, "msgId": m.ID, "text": "x"}, 400, "", "The room id provided does not match where the message is from."},
			{"unknown message, react", "chat.react", object{"messageId": "none", "emoji": ":eyes:"}, 400, "error-message-not-found", ""},
			{"bad emoji", "chat.react", object{"messageId": m.ID, "emoji": "no emoji"}, 400, "error-not-allowed", ""},
			{"hidden message, react", "chat.react", object{"messageId": hidden.ID, "emoji": ":eyes:"}, denied, pick("error-not-allowed", "error-forbidden"), ""},
			{"unknown command", "commands.run", object{"command": "/me", "roomId": w.lab.ID, "params": "waves"}, 400, "", "The command provided does not exist (or is disabled)."},
			{"join a private room", "channels.join", object{"roomId": secret.ID}, 400, "error-room-not-found", ""},
			{"unknown person", "im.create", object{"username": "none"}, 400, "error-invalid-user", ""},
			{"a name that is taken", "channels.create", object{"name": "lab"}, 400, "error-duplicate-channel-name", ""},
			{"a bot makes a token", "users.generatePersonalAccessToken", object{"tokenName": "x"}, denied, pick("not-authorized", "error-forbidden"), ""},
		} {
			a := w.post(w.bot, c.route, c.body)
			kind, _ := a.get("errorType").(string)
			text, _ := a.get("error").(string)
			if a.status != c.status || kind != c.kind || a.get("success") != false || (c.text != "" && !strings.HasPrefix(text, c.text)) {
				t.Errorf("%s: %d %s", c.name, a.status, a.body)
			}
			if kind != "" && !strings.Contains(text, kind) {
				t.Errorf("%s: the kind belongs into the text: %s", c.name, a.body)
			}
		}
		if a := w.get(w.bot, "chat.getMessage?msgId=none"); a.status != 400 || string(a.body) != `{"success":false}` {
			t.Errorf("a missing message: %d %s", a.status, a.body)
		}
		if a := w.get(w.bot, "chat.getMessage?msgId="+hidden.ID); a.status != 400 || string(a.body) != `{"success":false}` {
			t.Errorf("a message of a room one isn't in: %d %s", a.status, a.body)
		}
		if a := w.get(w.bot, "users.list"); a.status != denied {
			t.Errorf("users.list is for administrators: %d", a.status)
		}
		if a := w.get(w.bot, "rooms.info?roomId="+secret.ID); a.status != 400 || a.get("errorType") != "error-room-not-found" {
			t.Errorf("a room one isn't in: %d %s", a.status, a.body)
		}
	})
}

func TestUnknownRoute(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.get(w.bot, "teapot.brew")
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		switch {
		case w.Version() == V34 && (a.status != 200 || kind != "text/html"):
			t.Errorf("3.4 answers with its web client: %d %s", a.status, kind)
		case w.Version() != V34 && (a.status != 404 || kind != "application/json"):
			t.Errorf("%d %s %s", a.status, kind, a.body)
		}
		if a := w.do(w.bot, "GET", "/api/me", nil); a.status == 200 && w.Version() != V34 {
			t.Error("only info has no v1 before it")
		}
	})
}

func TestBadJSON(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r, err := http.NewRequest("POST", w.url+"/api/v1/chat.sendMessage", strings.NewReader(`{"message":`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-User-Id", w.bot.ID)
		r.Header.Set("X-Auth-Token", w.bot.Token)
		res, err := w.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != 400 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
		}
	})
}

func TestStrictBodies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.post(w.bot, "chat.postMessage", object{"roomId": w.lab.ID, "text": "x", "teapot": true})
		if strict := w.Version() == V9; strict != (a.status == 400) {
			t.Errorf("an unknown key: %d %s", a.status, a.body)
		}
		a = w.get(User{}, `settings.public?query={"_id":{"$in":["Site_Name","Message_MaxAllowedSize"]}}`)
		if w.Version() == V9 {
			if a.status != 400 {
				t.Errorf("query= is gone from 9.0: %d", a.status)
			}
		} else if a.get("total") != 2.0 {
			t.Errorf("query=: %s", a.body)
		}
		a = w.get(User{}, "settings.public?_id=Message_MaxAllowedSize")
		if a.get("settings.0.value") != 5000.0 || a.get("count") != 1.0 {
			t.Errorf("_id=: %s", a.body)
		}
	})
}

// TestSameID: a repeated id is a 400 whoever owns it, and posts nothing.
func TestSameID(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		word := "properties of undefined (reading 'starred')"
		if w.Version() == V34 {
			word = "property 'starred' of undefined"
		}
		body := object{"message": object{"_id": "mine", "rid": w.lab.ID, "msg": "once"}}
		if a := w.post(w.bot, "chat.sendMessage", body); a.status != 200 || a.get("message._id") != "mine" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, u := range []User{w.bot, w.alice} {
			a := w.post(u, "chat.sendMessage", body)
			if a.status != 400 || a.get("error") != "Cannot read "+word {
				t.Errorf("%s: %d %s", u.Username, a.status, a.body)
			}
		}
		if n := len(w.Messages(w.lab)); n != 1 {
			t.Errorf("%d messages", n)
		}
		if a := w.get(w.bot, "chat.getMessage?msgId=mine"); a.get("message.u._id") != w.bot.ID || a.get("message.msg") != "once" {
			t.Errorf("getMessage: %s", a.body)
		}
	})
}

// TestSize counts UTF-16 code units; 3.4 has no limit.
func TestSize(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		fits, tooLong := strings.Repeat("😀", 2500), strings.Repeat("😀", 2500)+"x"
		if a := w.post(w.bot, "chat.sendMessage", object{"message": object{"rid": w.lab.ID, "msg": fits}}); a.status != 200 {
			t.Errorf("5000 units: %s", a.body)
		}
		m := w.Say(w.bot, w.lab, "short")
		for route, body := range map[string]object{
			"chat.sendMessage": {"message": object{"rid": w.lab.ID, "msg": tooLong}},
			"chat.postMessage": {"roomId": w.lab.ID, "text": tooLong},
			"chat.update":      {"roomId": w.lab.ID, "msgId": m.ID, "text": tooLong},
		} {
			a := w.post(w.bot, route, body)
			if w.Version() == V34 {
				if a.status != 200 {
					t.Errorf("3.4, %s: %s", route, a.body)
				}
			} else if a.status != 400 || a.get("errorType") != "error-message-size-exceeded" {
				t.Errorf("%s: %d %s", route, a.status, a.body)
			}
		}
	})
}

// TestThreadRoom: sendMessage puts a reply into its root's room, whatever rid
// says; postMessage stores the tmid as it is given.
func TestThreadRoom(t *testing.T) {
	w := newWorld(t, Options{})
	other := w.AddChannel("other", w.alice, w.bot)
	root := w.Say(w.alice, w.lab, "root")
	a := w.post(w.bot, "chat.sendMessage", object{"message": object{"rid": other.ID, "tmid": root.ID, "msg": "reply"}})
	if a.get("message.rid") != w.lab.ID || a.get("message.tmid") != root.ID {
		t.Errorf("sendMessage: %s", a.body)
	}
	a = w.post(w.bot, "chat.postMessage", object{"roomId": other.ID, "tmid": root.ID, "text": "stray"})
	if a.get("message.rid") != other.ID || a.get("message.tmid") != root.ID {
		t.Errorf("postMessage: %s", a.body)
	}
	a = w.post(w.bot, "chat.sendMessage", object{"message": object{"rid": other.ID, "tmid": "none", "msg": "unknown root"}})
	if a.status != 200 || a.get("message.rid") != other.ID {
		t.Errorf("an unknown tmid is taken: %s", a.body)
	}
	if m, _ := w.Message(root.ID); m.ThreadCount != 2 || len(m.Followers) != 2 {
		t.Errorf("the root: %+v", m)
	}
	a = w.get(w.bot, "chat.getThreadMessages?tmid="+root.ID)
	if a.get("total") != 1.0 || a.get("messages.0.msg") != "reply" {
		t.Errorf("getThreadMessages: %s", a.body)
	}
}

// TestPostMessage names rooms in its several ways, joins and makes them.
func TestPostMessage(t *testing.T) {
	w := newWorld(t, Options{Version: V7})
	other := w.AddChannel("other", w.alice)
	for _, to := range []any{other.ID, "other", "#other", []string{"#other", "@alice"}} {
		if a := w.post(w.bot, "chat.postMessage", object{"channel": to, "text": fmt.Sprint(to), "alias": "Zoidberg"}); a.status != 200 || a.get("message.alias") != "Zoidberg" {
			t.Errorf("%v: %s", to, a.body)
		}
	}
	list := w.Messages(other)
	if len(list) != 5 || list[0].Type != "uj" || list[0].Text != "hermes" {
		t.Errorf("the first post joins: %+v", list)
	}
	direct := w.AddDirect(w.alice, w.bot)
	if n := len(w.Messages(direct)); n != 1 {
		t.Errorf("%d direct messages", n)
	}
	nine := newWorld(t, Options{})
	if a := nine.post(nine.bot, "chat.postMessage", object{"channel": "lab", "text": "x", "tmid": "y"}); a.status != 400 {
		t.Errorf("a tmid goes with a roomId: %s", a.body)
	}
	if a := w.post(w.alice, "chat.postMessage", object{"channel": "lab", "text": "x", "alias": "admin"}); a.status != 400 {
		t.Errorf("an ordinary user has no alias: %s", a.body)
	}
}

// TestClientTime: within 10 s kept, to 60 s replaced, beyond refused.
func TestClientTime(t *testing.T) {
	w := newWorld(t, Options{})
	for off, kept := range map[time.Duration]bool{-5 * time.Second: true, -30 * time.Second: false} {
		ts := time.Now().Add(off).UTC().Truncate(time.Millisecond)
		a := w.post(w.bot, "chat.sendMessage", object{"message": object{"rid": w.lab.ID, "msg": "x", "ts": ts}})
		got, err := time.Parse(time.RFC3339, a.get("message.ts").(string))
		if err != nil || got.Equal(ts) != kept {
			t.Errorf("%v: ts %v for %v", off, got, ts)
		}
	}
}

// TestReact toggles without shouldReact.
func TestReact(t *testing.T) {
	w := newWorld(t, Options{})
	m := w.Say(w.alice, w.lab, "hello")
	for _, c := range []struct {
		body object
		want int
	}{
		{object{"messageId": m.ID, "emoji": ":eyes:"}, 1},
		{object{"messageId": m.ID, "emoji": "eyes"}, 0},
		{object{"messageId": m.ID, "emoji": ":eyes:", "shouldReact": true}, 1},
		{object{"messageId": m.ID, "emoji": ":eyes:", "shouldReact": true}, 1},
		{object{"messageId": m.ID, "emoji": ":eyes:", "shouldReact": false}, 0},
	} {
		if a := w.post(w.bot, "chat.react", c.body); a.status != 200 {
			t.Errorf("%v: %s", c.body, a.body)
		}
		if now, _ := w.Message(m.ID); len(now.Reactions) != c.want || now.Reactions == nil {
			t.Errorf("%v: %+v", c.body, now.Reactions)
		}
	}
}

func TestEditAndDelete(t *testing.T) {
	w := newWorld(t, Options{})
	m := w.Say(w.bot, w.lab, "one")
	a := w.post(w.bot, "chat.update", object{"roomId": w.lab.ID, "msgId": m.ID, "text": "two @alice"})
	if a.get("message.msg") != "two @alice" || a.get("message.editedBy._id") != w.bot.ID || a.get("message.mentions.0.username") != "alice" {
		t.Errorf("update: %s", a.body)
	}
	a = w.post(w.bot, "chat.delete", object{"roomId": w.lab.ID, "msgId": m.ID})
	if a.status != 200 || a.get("_id") != m.ID {
		t.Errorf("delete: %s", a.body)
	}
	if _, there := w.Message(m.ID); there {
		t.Error("the message is still there")
	}
	since := m.Time.Add(-time.Second).UTC().Format(time.RFC3339Nano)
	a = w.get(w.bot, "chat.syncMessages?roomId="+w.lab.ID+"&lastUpdate="+since)
	if a.get("result.deleted.0._id") != m.ID {
		t.Errorf("syncMessages: %s", a.body)
	}
	a = w.get(w.bot, "chat.syncMessages?roomId="+w.lab.ID+"&type=DELETED&next=0")
	if a.get("result.deleted.0._id") != m.ID || a.get("result.cursor.next") != nil {
		t.Errorf("syncMessages by cursor: %s", a.body)
	}
	boss := w.AddUser("boss", UserOptions{Roles: []string{"admin"}})
	n := w.Say(w.alice, w.lab, "three")
	if a := w.post(boss, "chat.delete", object{"roomId": w.lab.ID, "msgId": n.ID}); a.status != 200 {
		t.Errorf("an administrator may: %s", a.body)
	}
}

// TestKinds: a room is there only for its own kind of call.
func TestInfo(t *testing.T) {
	for v, want := range map[Version]string{V34: "3.4.0", V7: "7.10", V9: "9.0"} {
		w := newWorld(t, Options{Version: v, BasePath: "/chat/"})
		a := w.do(User{}, "GET", "/api/info", nil)
		if a.get("version") != want || a.get("success") != true {
			t.Errorf("%s: %s", v, a.body)
		}
		if !strings.HasSuffix(w.url, "/chat") {
			t.Errorf("url %s", w.url)
		}
		res, err := http.Get(strings.TrimSuffix(w.url, "/chat") + "/api/info")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 404 {
			t.Errorf("outside the base path: %d", res.StatusCode)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// TestMe: 3.4 shows a password hash, so no client may log such a body.
func TestTLS(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	url, pem, err := s.ListenTLS("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := trusting(t, pem)
	defer client.CloseIdleConnections()
	res, err := client.Get(url + "/api/info")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); !bytes.Contains(b, []byte("9.0")) {
		t.Errorf("%s", b)
	}
	if _, err := s.Listen("0.0.0.0:0"); err == nil {
		t.Error("an address that isn't loopback was taken")
	}
}

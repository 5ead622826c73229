package pretend

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func (w *world) control(method, path string, body any) answer {
	w.t.Helper()
	return w.do(User{}, method, "/_pretend/"+path, body)
}

func TestControl(t *testing.T) {
	w := newWorld(t, Options{BasePath: "chat"})
	a := w.control("GET", "", nil)
	if !strings.Contains(string(a.body), "gives its tokens away") || !strings.Contains(string(a.body), "POST /chat/_pretend/faults") || !strings.Contains(string(a.body), "half-open") {
		t.Errorf("%s", a.body)
	}
	if a := w.control("POST", "users", object{"username": "bender", "bot": true}); len(a.get("token").(string)) != 43 || a.get("roles.0") != "bot" {
		t.Errorf("users: %s", a.body)
	}
	if a := w.control("POST", "rooms", object{"name": "den", "t": "p", "members": []string{"bender", "alice"}}); len(a.get("members").([]any)) != 2 {
		t.Errorf("rooms: %s", a.body)
	}
	said := w.control("POST", "say", object{"user": "alice", "room": "den", "text": "@bender hello"})
	if said.get("mentions.0.username") != "bender" || said.get("u.name") != "Alice" {
		t.Errorf("say: %s", said.body)
	}
	if a := w.control("POST", "say", object{"user": "alice", "room": "@bender", "text": "hello", "bot": "hook"}); a.get("bot.i") != "hook" {
		t.Errorf("say to a person: %s", a.body)
	}
	id := said.get("_id")
	for cause, part := range map[string]string{
		"edit": "editedAt", "react": ":eyes:", "unreact": `"reactions":[]`, "pin": `"pinned":true`, "unpin": `"pinned":false`,
		"star": "starred", "follow": "replies", "preview": "parsedUrl",
	} {
		if a := w.control("POST", "touch", object{"id": id, "cause": cause, "text": "new"}); a.status != 200 || !strings.Contains(strings.ReplaceAll(string(a.body), " ", ""), part) {
			t.Errorf("touch %s: %s", cause, a.body)
		}
	}
	if a := w.control("GET", "messages?room=den", nil); a.get("0.msg") != "new" {
		t.Errorf("messages: %s", a.body)
	}
	if a := w.control("POST", "touch", object{"id": id, "cause": "delete"}); a.status != 200 {
		t.Errorf("delete: %s", a.body)
	}
	for _, c := range []struct {
		act string
		n   int
	}{{"join", 3}, {"kick", 2}, {"join", 3}, {"leave", 2}} {
		a := w.control("POST", "members", object{"room": "den", "user": "hermes", "act": c.act})
		if list, _ := a.get("members").([]any); len(list) != c.n {
			t.Errorf("%s: %s", c.act, a.body)
		}
	}
	k := w.dial()
	k.online(w.bot)
	if a := w.control("GET", "connections", nil); a.get("connections.0.user") != w.bot.ID || a.get("connections.0.subs.0") != "stream-room-messages/__my_messages__" {
		t.Errorf("connections: %s", a.body)
	}
	if a := w.control("GET", "log", nil); !strings.Contains(string(a.body), `"login"`) || strings.Contains(string(a.body), w.bot.Token) || strings.Contains(string(a.body), "hello") {
		t.Errorf("log: %s", a.body)
	}
	if a := w.control("POST", "revoke", object{"user": "hermes"}); a.get("token") != "" {
		t.Errorf("revoke: %s", a.body)
	}
	if a := w.control("GET", "rooms", nil); a.status != 200 {
		t.Errorf("rooms: %d", a.status)
	}
	if a := w.control("GET", "users", nil); a.get("0.username") != "alice" || a.get("0.token") != w.alice.Token {
		t.Errorf("users: %s", a.body)
	}
}

func TestControlFaults(t *testing.T) {
	w := newWorld(t, Options{})
	a := w.control("POST", "faults", object{"fault": "deaf", "user": "hermes", "for": "1m", "count": 3})
	id := a.get("id")
	b := w.control("POST", "faults", object{"fault": "slow", "delay": 0.001, "route": "me"})
	list := w.control("GET", "faults", nil)
	if list.get("0.fault") != "deaf" || list.get("0.for") != "1m0s" || list.get("1.delay") != "1ms" || list.get("1.id") != b.get("id") {
		t.Errorf("%s", list.body)
	}
	if a := w.control("POST", "mend", object{"id": id}); a.get("mended") != 1.0 {
		t.Errorf("%s", a.body)
	}
	if a := w.control("POST", "mend", object{"fault": "slow"}); a.get("mended") != 1.0 {
		t.Errorf("%s", a.body)
	}
	if a := w.control("POST", "mend", object{}); a.get("mended") != 0.0 {
		t.Errorf("%s", a.body)
	}
	if n := len(w.control("GET", "menu", nil).body); n < 5000 {
		t.Errorf("a menu of %d bytes", n)
	}
	if a := w.control("POST", "faults", object{"fault": "unreachable", "for": "1ms"}); a.status != 200 {
		t.Errorf("%s", a.body)
	}
	if err := w.Await(ctx(t), func() bool { return len(w.Faults()) == 0 }); err != nil {
		t.Error(err)
	}
}

func TestControlMistakes(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct {
		path string
		body object
		part string
	}{
		{"faults", object{"fault": "teapot"}, "no fault"},
		{"faults", object{"fault": "deaf", "user": "nobody"}, "no user"},
		{"faults", object{"fault": "deaf", "for": "soon"}, "duration"},
		{"faults", object{"fault": "deaf", "for": true}, "duration"},
		{"faults", object{"fault": "deaf", "count": -1}, "negative"},
		{"faults", object{"fault": "silent", "count": 1}, "no count"},
		{"faults", object{"fault": "deaf", "teapot": 1}, "unknown field"},
		{"faults", object{"fault": "redirect-file"}, "needs a url"},
		{"faults", object{"fault": "drop", "code": 7}, "close code"},
		{"faults", object{"fault": "failed", "user": "hermes"}, "for everybody"},
		{"faults", object{"fault": "unreachable"}, "`for`"},
		{"mend", object{"id": "x"}, "number"},
		{"users", object{}, "username"},
		{"users", object{"username": "alice"}, "already"},
		{"rooms", object{"members": []string{"nobody"}}, "no user"},
		{"rooms", object{"name": "lab"}, "already"},
		{"rooms", object{}, "name"},
		{"rooms", object{"t": "d"}, "members"},
		{"members", object{"user": "alice", "room": "lab", "act": "teapot"}, "join, leave or kick"},
		{"say", object{"user": "alice", "room": "nowhere"}, "no room"},
		{"say", object{"user": "alice", "room": "@nobody"}, "no user"},
		{"say", object{"user": "alice", "room": "lab", "bot": 1}, "integration"},
		{"touch", object{"id": 7}, "message's id"},
		{"touch", object{"id": "none"}, "no message"},
		{"revoke", object{"user": "nobody"}, "no user"},
	} {
		a := w.control("POST", c.path, c.body)
		text, _ := a.get("error").(string)
		if a.status != 400 || !strings.Contains(text, c.part) {
			t.Errorf("%s %v: %d %s", c.path, c.body, a.status, a.body)
		}
	}
	if a := w.control("GET", "teapot", nil); a.status != 404 {
		t.Errorf("%d", a.status)
	}
	if a := w.control("GET", "messages?room=nowhere", nil); a.status != 400 {
		t.Errorf("%d", a.status)
	}
	// A foreign page's form can't send JSON.
	res, err := w.http.Post(w.url+"/_pretend/mend", "text/plain", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("%d", res.StatusCode)
	}
}

// TestFaultsPage: FAULTS.md is made of the menu. `go test -run FaultsPage` with
// UPDATE=1 writes it anew.
func TestFaultsPage(t *testing.T) {
	want := faultsPage()
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile("FAULTS.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("FAULTS.md")
	if err != nil || string(have) != want {
		t.Errorf("FAULTS.md isn't the menu (%v): run UPDATE=1 go test -run FaultsPage ./channel/pretend", err)
	}
}

func TestAwait(t *testing.T) {
	w := newWorld(t, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := w.AwaitMessage(ctx(t), w.lab, func(m Message) bool { return m.Text == "second" })
		done <- err
	}()
	w.Say(w.alice, w.lab, "first")
	w.Say(w.alice, w.lab, "second")
	if err := <-done; err != nil {
		t.Error(err)
	}
	start := time.Now()
	w.dial().online(w.bot)
	if err := w.Await(ctx(t), func() bool { return w.Online(w.bot) }); err != nil {
		t.Error(err)
	}
	c := w.Connections(w.bot)
	if len(c) != 1 || c[0].Opened.Before(start) || c[0].Number == 0 {
		t.Errorf("%+v", c)
	}
}

package pretend

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// method calls a method and returns its result's frame.
func (k *socket) method(name, params string) string {
	k.t.Helper()
	k.send(fmt.Sprintf(`{"msg":"method","method":%q,"id":%q,"params":[%s]}`, name, "m-"+name, params))
	for {
		if f := k.next(); valueAt(f, "msg") == "result" && valueAt(f, "id") == "m-"+name {
			return f
		}
	}
}

// TestMethods are the methods that older clients call.
func TestMethods(t *testing.T) {
	w := newWorld(t, Options{Version: V7, NoLimits: true})
	secret := w.AddGroup("secret", w.alice)
	other := w.AddChannel("other", w.alice)
	k := w.dial()
	k.login(w.bot)
	said := k.method("sendMessage", `{"_id":"abc","rid":"`+w.lab.ID+`","msg":"@alice hello"}`)
	if valueAt(said, "result._id") != "abc" || valueAt(said, "result.mentions.0.username") != "alice" {
		t.Error(said)
	}
	for _, c := range []struct {
		name, params, path string
		want               any
	}{
		{"sendMessage", `{"rid":"` + secret.ID + `","msg":"x"}`, "error.error", "error-not-allowed"},
		{"sendMessage", `{"_id":"abc","rid":"` + w.lab.ID + `","msg":"again"}`, "error.reason", "Cannot read properties of undefined (reading 'starred')"},
		{"updateMessage", `{"_id":"abc","rid":"` + w.lab.ID + `","msg":"edited"}`, "error", nil},
		{"getSingleMessage", `"abc"`, "result.msg", "edited"},
		{"getSingleMessage", `"none"`, "result", nil},
		{"setReaction", `":eyes:","abc",true`, "error", nil},
		{"setReaction", `"no emoji","abc"`, "error.error", "error-not-allowed"},
		{"setReaction", `":eyes:","none"`, "error.error", "error-not-allowed"},
		{"getSingleMessage", `"abc"`, "result.reactions.:eyes:.usernames.0", "hermes"},
		{"loadHistory", `"` + w.lab.ID + `",null,5,null`, "result.messages.0._id", "abc"},
		{"loadHistory", `"` + w.lab.ID + `",{"$date":1000},5,null`, "result.messages.0", nil},
		{"loadHistory", `"` + secret.ID + `"`, "result", false},
		{"getRoomIdByNameOrId", `"lab"`, "result", w.lab.ID},
		{"getRoomNameById", `"` + w.lab.ID + `"`, "result", "lab"},
		{"getRoomIdByNameOrId", `"secret"`, "error.error", "error-not-allowed"},
		{"joinRoom", `"` + other.ID + `"`, "result", true},
		{"leaveRoom", `"` + other.ID + `"`, "error", nil},
		{"createDirectMessage", `"alice"`, "result.rid", w.AddDirect(w.alice, w.bot).ID},
		{"createDirectMessage", `"nobody"`, "error.error", "error-invalid-user"},
		{"readMessages", `"` + w.lab.ID + `"`, "error", nil},
		{"rooms/get", ``, "result.1.t", "d"},
		{"rooms/get", `{"$date":99999999999999}`, "result.update.0", nil},
		{"subscriptions/get", `{"$date":0}`, "result.remove.0", nil},
		{"deleteMessage", `{"_id":"abc"}`, "error", nil},
		{"deleteMessage", `{"_id":"abc"}`, "error.error", "error-action-not-allowed"},
		{"UserPresence:online", ``, "error", nil},
		{"personalAccessTokens:removeToken", `{"tokenName":"none"}`, "error.error", "error-token-does-not-exists"},
		{"personalAccessTokens:removeToken", `{"tokenName":"first"}`, "error", nil},
	} {
		f := k.method(c.name, c.params)
		if c.name == "rooms/get" && c.want == "d" {
			if !strings.Contains(f, `"t":"d"`) || !strings.Contains(f, `"t":"c"`) {
				t.Error(f)
			}
			continue
		}
		if got := valueAt(f, c.path); got != c.want {
			t.Errorf("%s %s: %v in %s", c.name, c.params, got, f)
		}
	}
	var texts []string
	for _, m := range w.Messages(other) {
		texts = append(texts, m.Type+" "+m.Text)
	}
	if strings.Join(texts, ", ") != "uj hermes, ul hermes" {
		t.Errorf("%v", texts)
	}
	if a := w.get(w.bot, "me"); a.status != 401 {
		t.Errorf("the token was removed: %d", a.status)
	}
}

// TestMethodsAnonymous: nobody may do anything.
func TestMethodsAnonymous(t *testing.T) {
	w := newWorld(t, Options{Version: V34, NoLimits: true})
	m := w.Say(w.alice, w.lab, "hello")
	k := w.dial()
	k.connect()
	for name, x := range methods {
		if !x.old || name == "public-settings/get" || name == "getUserRoles" {
			continue
		}
		params := `{"_id":"` + m.ID + `","rid":"` + w.lab.ID + `","msg":"x"}`
		switch name {
		case "setReaction":
			params = `":eyes:","` + m.ID + `"`
		case "getSingleMessage":
			params = `"` + m.ID + `"`
		case "loadHistory", "joinRoom", "leaveRoom", "getRoomNameById", "getRoomIdByNameOrId", "readMessages":
			params = `"` + w.lab.ID + `"`
		}
		if f := k.method(name, params); valueAt(f, "error.error") != "error-invalid-user" {
			t.Errorf("%s: %s", name, f)
		}
	}
	if now, _ := w.Message(m.ID); len(w.Messages(w.lab)) != 1 || !now.Updated.Equal(m.Updated) {
		t.Errorf("%+v", now)
	}
}

// TestMethodOverREST: method.call wraps frames in strings.
func TestMethodOverREST(t *testing.T) {
	w := newWorld(t, Options{Version: V7})
	call := func(name, message string) answer {
		return w.post(w.bot, "method.call/"+name, object{"message": message})
	}
	a := call("getRoomIdByNameOrId", `{"msg":"method","id":"1","method":"getRoomIdByNameOrId","params":["lab"]}`)
	if a.get("message") != `{"msg":"result","id":"1","result":"`+w.lab.ID+`"}` {
		t.Errorf("%s", a.body)
	}
	if a := call("teapot", `{"msg":"method","id":"1","method":"teapot","params":[]}`); !strings.Contains(string(a.body), "not found") {
		t.Errorf("%s", a.body)
	}
	if a := call("teapot", `nonsense`); a.status != 400 {
		t.Errorf("%d", a.status)
	}
}

func TestCommands(t *testing.T) {
	w := newWorld(t, Options{NoLimits: true})
	other := w.AddChannel("other", w.bot)
	run := func(command, params, room string) answer {
		return w.post(w.bot, "commands.run", object{"command": command, "params": params, "roomId": room})
	}
	for _, c := range []struct{ command, params, t, text string }{
		{"me", "waves", "", "_waves_"}, {"topic", "news", "room_changed_topic", "news"}, {"leave", "", "ul", "hermes"},
	} {
		if a := run(c.command, c.params, other.ID); a.status != 200 {
			t.Errorf("%s: %s", c.command, a.body)
		}
		list := w.Messages(other)
		if m := list[len(list)-1]; m.Type != c.t || m.Text != c.text {
			t.Errorf("%s: %+v", c.command, m)
		}
	}
	if a := run("shrug", "", w.lab.ID); a.status != 200 || !strings.Contains(w.Messages(w.lab)[0].Text, "ツ") {
		t.Errorf("shrug: %s", a.body)
	}
	if a := run("me", "x", w.AddGroup("secret", w.alice).ID); a.status != 403 {
		t.Errorf("%d", a.status)
	}
	if a := w.get(w.bot, "commands.list"); a.get("total") != 4.0 {
		t.Errorf("%s", a.body)
	}
	// A slash command in a message is only text.
	if m := w.Say(w.bot, w.lab, "/leave"); m.Text != "/leave" {
		t.Error(m.Text)
	}
}

// TestLists are the routes a person's page asks.
func TestLists(t *testing.T) {
	w := newWorld(t, Options{NoLimits: true})
	group := w.AddGroup("group", w.alice)
	w.AddDirect(w.alice, w.bot)
	for route, c := range map[string]struct {
		path string
		want any
	}{
		"channels.list": {"channels.0.name", "lab"}, "groups.list": {"groups.0.name", "group"}, "im.list": {"total", 1.0},
		"channels.members?roomId=" + w.lab.ID: {"total", 2.0}, "groups.members?roomId=" + group.ID: {"members.0.username", "alice"},
		"channels.info?roomName=lab": {"channel._id", w.lab.ID}, "groups.info?roomId=" + group.ID: {"group._id", group.ID},
		"users.presence?ids=" + w.bot.ID + ",none": {"users.0.status", "offline"},
	} {
		if a := w.get(w.alice, route); a.get(c.path) != c.want {
			t.Errorf("%s: %s", route, a.body)
		}
	}
	k := w.dial()
	k.online(w.bot)
	if a := w.get(w.alice, "users.presence?ids="+w.bot.ID); a.get("users.0.status") != "online" {
		t.Errorf("%s", a.body)
	}
	k.conn.Close()
	if err := w.Await(ctx(t), func() bool { return w.get(w.alice, "users.getStatus?userId="+w.bot.ID).get("status") == "offline" }); err != nil {
		t.Error(err)
	}
}

// TestRead: what is unread is counted for those it concerns, until it is read.
func TestRead(t *testing.T) {
	w := newWorld(t, Options{NoLimits: true})
	direct := w.AddDirect(w.alice, w.bot)
	unread := func(r Room) any {
		return w.get(w.bot, "subscriptions.getOne?roomId="+r.ID).get("subscription.unread")
	}
	w.Say(w.alice, w.lab, "not for you")
	w.Say(w.alice, w.lab, "@hermes for you")
	w.Say(w.alice, direct, "for you")
	w.Say(w.bot, direct, "mine")
	if unread(w.lab) != 1.0 || unread(direct) != 1.0 {
		t.Errorf("%v %v", unread(w.lab), unread(direct))
	}
	w.post(w.bot, "subscriptions.read", object{"rid": w.lab.ID})
	if unread(w.lab) != 0.0 {
		t.Error(unread(w.lab))
	}
	if a := w.post(w.bot, "subscriptions.read", object{"rid": w.AddChannel("other").ID}); a.status != 400 {
		t.Error(a.status)
	}
}

func TestUsersLogout(t *testing.T) {
	w := newWorld(t, Options{NoLimits: true})
	a := w.post(User{}, "login", object{"user": "alice", "password": "secret"})
	session := User{ID: w.alice.ID, Token: a.get("data.authToken").(string)}
	k := w.dial()
	k.online(session)
	if a := w.post(w.bot, "users.logout", object{"userId": w.alice.ID}); a.status != 403 {
		t.Errorf("another's: %d", a.status)
	}
	w.SetRoles(w.bot, "admin")
	if a := w.post(w.bot, "users.logout", object{"userId": w.alice.ID}); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if code := k.closed(); code != 1006 {
		t.Errorf("the streamer terminates: %d", code)
	}
	if w.get(session, "me").status != 401 || w.get(w.alice, "me").status != 200 {
		t.Error("session tokens go, personal ones stay")
	}
	if a := w.post(w.bot, "users.logout", object{"userId": "none"}); a.status != 400 {
		t.Error(a.status)
	}
}

// TestExpired: a session's token has an end, and a reason of its own then.
func TestExpired(t *testing.T) {
	bubble(t, Options{Version: V7, NoLimits: true}, func(t *testing.T, w *world, dial func() *socket) {
		a := w.post(User{}, "login", object{"user": "alice", "password": "secret"})
		session := User{ID: w.alice.ID, Token: a.get("data.authToken").(string)}
		time.Sleep(91 * 24 * time.Hour)
		if f := dial().login(session); valueAt(f, "error.reason") != "Your session has expired. Please log in again." {
			t.Error(f)
		}
		if a := w.get(session, "me"); a.status != 401 {
			t.Error(a.status)
		}
	})
}

// TestRoomChanges: each change of a room moves its _updatedAt and tells its
// members.
func TestRoomChanges(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	k.send(`{"msg":"sub","id":"n","name":"stream-notify-user","params":["` + w.bot.ID + `/subscriptions-changed",false]}`)
	k.until("ready")
	for name, change := range map[string]func(){
		"ro":       func() { w.SetReadOnly(w.lab, true) },
		"archived": func() { w.Archive(w.lab, true) },
		"name":     func() { w.Rename(w.lab, "laboratory") },
		"":         func() { w.Encrypt(w.lab, true) },
	} {
		change()
		f := k.next()
		if valueAt(f, "fields.args.0") != "updated" || (name != "" && valueAt(f, "fields.args.1."+name) == nil) {
			t.Errorf("%s: %s", name, f)
		}
	}
	if a := w.get(w.bot, "rooms.info?roomName=laboratory"); a.get("room.encrypted") != true {
		t.Errorf("%s", a.body)
	}
	w.System(w.lab, "r", "laboratory", w.alice)
	k.until(`"t":"r"`)
	if n := w.Counts(w.bot); n["login"] != 1 || n["sub stream-notify-user"] != 1 || n["GET rooms.info"] != 1 {
		t.Errorf("%v", n)
	}
}

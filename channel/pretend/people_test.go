package pretend

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestKinds(t *testing.T) {
	w := newWorld(t, Options{})
	rooms := map[string]Room{"channels": w.lab, "groups": w.AddGroup("group", w.bot), "im": w.AddDirect(w.bot, w.alice)}
	for kind := range rooms {
		for other, r := range rooms {
			a := w.get(w.bot, kind+".history?roomId="+r.ID)
			if fits := kind == other; fits != (a.status == 200) || (!fits && a.get("errorType") != "error-room-not-found") {
				t.Errorf("%s.history of a room of %s: %d %s", kind, other, a.status, a.body)
			}
		}
	}
	if a := w.get(w.alice, "groups.history?roomId="+rooms["groups"].ID); a.status != 400 {
		t.Errorf("not a member: %s", a.body)
	}
	if a := w.get(w.bot, "channels.history"); a.status != 400 {
		t.Errorf("no room: %s", a.body)
	}
}

func TestRoomsGet(t *testing.T) {
	w := newWorld(t, Options{})
	group := w.AddGroup("group", w.alice, w.bot)
	root := w.Say(w.alice, w.lab, "root")
	since := func(at time.Time) string { return "?updatedSince=" + at.UTC().Format("2006-01-02T15:04:05.000Z") }
	first := w.get(w.bot, "rooms.get")
	if n := len(first.get("update").([]any)); n != 2 {
		t.Errorf("%d rooms", n)
	}
	time.Sleep(3 * time.Millisecond) // the server's clock has milliseconds
	mark := w.Now()
	time.Sleep(3 * time.Millisecond)
	if a := w.get(w.bot, "rooms.get"+since(mark)); len(a.get("update").([]any)) != 0 {
		t.Errorf("nothing changed: %s", a.body)
	}
	// A reply only in a thread touches the room, and does not move lm.
	w.Say(w.bot, w.lab, "reply", SayOptions{Thread: root.ID})
	a := w.get(w.bot, "rooms.get"+since(mark))
	if len(a.get("update").([]any)) != 1 || a.get("update.0._id") != w.lab.ID || a.get("update.0.lastMessage.msg") != "root" {
		t.Errorf("after a thread's reply: %s", a.body)
	}
	if lm := a.get("update.0.lm"); lm != root.Time.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("lm moved to %v", lm)
	}
	// subscriptions.get tells of a new membership and of one that ended.
	w.Kick(group, w.bot, w.alice)
	w.AddDirect(w.bot, w.alice)
	a = w.get(w.bot, "subscriptions.get"+since(mark))
	if len(a.get("remove").([]any)) != 1 || len(a.get("update").([]any)) != 1 || a.get("update.0.name") != "alice" {
		t.Errorf("subscriptions: %s", a.body)
	}
	if a := w.get(w.bot, "rooms.get?updatedSince=yesterday"); a.status != 400 {
		t.Errorf("no date: %s", a.body)
	}
}

func TestRoomsAndPeople(t *testing.T) {
	w := newWorld(t, Options{})
	a := w.post(w.bot, "im.create", object{"username": "alice"})
	if a.get("room._id") != w.AddDirect(w.alice, w.bot).ID || a.get("room.t") != "d" || a.get("room.uids") != nil {
		t.Errorf("im.create: %s", a.body)
	}
	ids := []string{w.alice.ID, w.bot.ID}
	if a.get("room._id") != ids[0]+ids[1] && a.get("room._id") != ids[1]+ids[0] {
		t.Errorf("the id should be the two ids: %s", a.body)
	}
	w.AddUser("carol", UserOptions{})
	a = w.post(w.bot, "im.create", object{"usernames": "alice, carol"})
	if id, _ := a.get("room._id").(string); len(id) != 17 {
		t.Errorf("three people: %s", a.body)
	}
	again := w.post(w.bot, "im.create", object{"usernames": "carol,alice"})
	if again.get("room._id") != a.get("room._id") {
		t.Errorf("made twice: %s", again.body)
	}
	info := w.get(w.bot, "rooms.info?roomId="+a.get("room._id").(string))
	if info.get("room.usersCount") != 3.0 || len(info.get("room.uids").([]any)) != 3 {
		t.Errorf("rooms.info: %s", info.body)
	}
	a = w.post(w.alice, "channels.create", object{"name": "news", "members": []string{"hermes"}})
	if a.get("channel.usersCount") != 2.0 {
		t.Errorf("channels.create: %s", a.body)
	}
	a = w.post(w.alice, "groups.create", object{"name": "inner"})
	id, _ := a.get("group._id").(string)
	if a := w.post(w.alice, "groups.invite", object{"roomId": id, "userId": w.bot.ID}); a.status != 200 {
		t.Errorf("groups.invite: %s", a.body)
	}
	if a := w.get(w.bot, "subscriptions.getOne?roomId="+id); a.get("subscription.name") != "inner" {
		t.Errorf("subscriptions.getOne: %s", a.body)
	}
	if a := w.post(w.bot, "groups.leave", object{"roomId": id}); a.status != 200 {
		t.Errorf("groups.leave: %s", a.body)
	}
	if a := w.get(w.alice, "users.info?username=hermes"); a.get("user.type") != "bot" || a.get("user._id") != w.bot.ID {
		t.Errorf("users.info: %s", a.body)
	}
	boss := w.AddUser("boss", UserOptions{Roles: []string{"admin"}})
	if a := w.get(boss, "users.list?count=2"); a.get("total") != 5.0 || a.get("count") != 2.0 {
		t.Errorf("users.list: %s", a.body)
	}
	if a := w.post(w.bot, "users.setStatus", object{"message": "busy", "status": "busy"}); a.status != 200 {
		t.Errorf("users.setStatus: %s", a.body)
	}
	if a := w.get(w.alice, "users.getStatus?userId="+w.bot.ID); a.get("status") != "busy" || a.get("message") != "busy" {
		t.Errorf("users.getStatus: %s", a.body)
	}
}

func TestLoginOverREST(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, body := range []object{
			{"user": "alice", "password": "secret"},
			{"username": "alice", "password": "secret"},
			{"user": "alice@example.org", "password": "secret"},
			{"user": object{"username": "alice"}, "password": "secret"},
			{"resume": w.alice.Token},
		} {
			a := w.post(User{}, "login", body)
			token, _ := a.get("data.authToken").(string)
			if a.status != 200 || a.get("data.userId") != w.alice.ID || w.get(User{ID: w.alice.ID, Token: token}, "me").status != 200 {
				t.Errorf("%v: %d %s", body, a.status, a.body)
			}
		}
		if a := w.post(User{}, "login", object{"user": "alice", "password": "wrong"}); a.status != 401 {
			t.Errorf("%d %s", a.status, a.body)
		}
		careful := w.AddUser("careful", UserOptions{Password: "secret", TwoFactor: true})
		if a := w.post(User{}, "login", object{"user": "careful", "password": "secret"}); a.status != 401 || a.get("errorType") != "totp-required" {
			t.Errorf("two factors: %d %s", a.status, a.body)
		}
		if a := w.post(careful, "users.generatePersonalAccessToken", object{"tokenName": "x"}); a.status != 400 || a.get("errorType") != "totp-required" {
			t.Errorf("two factors: %d %s", a.status, a.body)
		}
		a := w.post(User{}, "login", object{"user": "alice", "password": "secret"})
		session := User{ID: w.alice.ID, Token: a.get("data.authToken").(string)}
		w.post(session, "logout", nil)
		if a := w.get(session, "me"); a.status != 401 {
			t.Errorf("after logout: %d", a.status)
		}
	})
}

func TestTokensOverREST(t *testing.T) {
	w := newWorld(t, Options{})
	a := w.post(w.alice, "users.generatePersonalAccessToken", object{"tokenName": "laptop"})
	laptop := User{ID: w.alice.ID, Token: a.get("token").(string)}
	if a := w.get(laptop, "me"); a.status != 200 {
		t.Fatal(a.status)
	}
	if a := w.post(w.alice, "users.generatePersonalAccessToken", object{"tokenName": "laptop"}); a.status != 400 {
		t.Errorf("twice: %s", a.body)
	}
	if a := w.get(w.alice, "users.getPersonalAccessTokens"); len(a.get("tokens").([]any)) != 2 || strings.Contains(string(a.body), laptop.Token) {
		t.Errorf("list: %s", a.body)
	}
	a = w.post(w.alice, "users.regeneratePersonalAccessToken", object{"tokenName": "laptop"})
	renewed := User{ID: w.alice.ID, Token: a.get("token").(string)}
	if w.get(laptop, "me").status != 401 || w.get(renewed, "me").status != 200 {
		t.Error("regenerate")
	}
	w.post(w.alice, "users.removePersonalAccessToken", object{"tokenName": "laptop"})
	if w.get(renewed, "me").status != 401 {
		t.Error("remove")
	}
}

func TestMe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.get(w.bot, "me")
		if a.get("_id") != w.bot.ID || a.get("active") != true || a.get("success") != true {
			t.Errorf("%s", a.body)
		}
		if shown := bytes.Contains(a.body, []byte("bcrypt")); shown != (w.Version() == V34) {
			t.Errorf("%s", a.body)
		}
	})
}

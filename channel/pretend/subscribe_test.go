package pretend

import (
	"fmt"
	"strings"
	"testing"
)

const subMine = `{"msg":"sub","id":"s1","name":"stream-room-messages","params":["__my_messages__",false]}`

// TestAnonymousSub: ready is no proof of a login. Meteor runs the subscription
// again at login; the streamer leaves it silent.
func TestAnonymousSub(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.connect()
		k.send(subMine)
		k.want(`{"msg":"ready","subs":["s1"]}`)
		w.Say(w.alice, w.lab, "@hermes hello")
		k.quiet("nobody is logged in")
		if w.Online(w.bot) {
			t.Error("online without a login")
		}
		k.send(`{"msg":"method","method":"login","id":"m","params":[{"resume":"` + w.bot.Token + `"}]}`)
		if w.Version() == V9 {
			k.until(`"updated"`)
			w.Say(w.alice, w.lab, "@hermes hello")
			k.quiet("the subscription was made by nobody")
			return
		}
		k.until(`"added"`)
		k.want(`{"msg":"ready","subs":["s1"]}`)
		k.until(`"updated"`)
		w.Say(w.alice, w.lab, "@hermes hello again")
		k.until("hello again")
		// A second subscription of the same event doubles every message.
		k.send(strings.Replace(subMine, "s1", "s2", 1))
		k.want(`{"msg":"ready","subs":["s2"]}`)
		w.Say(w.alice, w.lab, "twice")
		k.until("twice")
		k.until("twice")
		k.quiet("twice, not more")
	})
}

func TestSubAnswers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret := w.AddGroup("secret", w.alice)
		denied := `{"msg":"nosub","id":"x"}`
		if w.Version() != V34 {
			denied = `{"msg":"nosub","id":"x","error":{"isClientSafe":true,"error":"not-allowed","reason":"Not allowed","message":"Not allowed [not-allowed]","errorType":"Meteor.Error"}}`
		}
		ready := `{"msg":"ready","subs":["x"]}`
		k := w.dial()
		k.login(w.bot)
		k.until("updated")
		for _, c := range []struct{ name, event, want string }{
			{"stream-room-messages", w.lab.ID, ready},
			{"stream-room-messages", secret.ID, denied},
			{"stream-room-messages", "no such room", denied},
			{"stream-notify-user", w.bot.ID + "/subscriptions-changed", ready},
			{"stream-notify-user", w.alice.ID + "/subscriptions-changed", denied},
			{"stream-notify-room", w.lab.ID + "/user-activity", ready},
			{"stream-notify-room", secret.ID + "/user-activity", denied},
			{"stream-notify-logged", "roles-change", ready},
			{"userData", "", ready},
		} {
			k.send(fmt.Sprintf(`{"msg":"sub","id":"x","name":%q,"params":[%q,{"useCollection":false,"args":[]}]}`, c.name, c.event))
			k.want(c.want)
			if c.want == ready {
				k.send(`{"msg":"unsub","id":"x"}`)
				k.want(`{"msg":"nosub","id":"x"}`)
			}
		}
		k.send(`{"msg":"sub","id":"x","name":"teapot","params":[]}`)
		if f := k.next(); valueAt(f, "msg") != "nosub" || valueAt(f, "error.error") != 404.0 {
			t.Error(f)
		}
	})
}

// TestEvent is the whole of one event.
func TestEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		m := w.Say(w.alice, w.lab, "@hermes hello", SayOptions{ID: "abc", WithName: true})
		kind := ""
		if w.Version() != V34 {
			kind = `,"type":"user"`
		}
		k.want(fmt.Sprintf(`{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[`+
			`{"_id":"abc","rid":%q,"msg":"@hermes hello","ts":{"$date":%d},"u":{"_id":%q,"username":"alice","name":"Alice"},`+
			`"mentions":[{"_id":%q,"username":"hermes","name":"Hermes"%s}],"channels":[],"_updatedAt":{"$date":%d}},`+
			`{"roomParticipant":true,"roomType":"c","roomName":"lab"}]}}`,
			w.lab.ID, m.Time.UnixMilli(), w.alice.ID, w.bot.ID, kind, m.Time.UnixMilli()+6))
	})
}

// TestWhoHears: public rooms come to everybody, with roomParticipant:false;
// private ones to their members.
func TestWhoHears(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		carol := w.AddUser("carol", UserOptions{})
		other := w.AddChannel("other", w.alice)
		secret := w.AddGroup("secret", w.alice)
		mine := w.AddGroup("mine", w.alice, w.bot)
		direct := w.AddDirect(w.alice, w.bot)
		many := w.AddDirect(w.alice, w.bot, carol)
		foreign := w.AddDirect(w.alice, carol)
		help := w.AddRoom("l", "visitor", w.bot)
		talk := w.AddDiscussion(w.lab, "a talk", w.alice)
		hidden := w.AddDiscussion(secret, "a hidden talk", w.alice)
		k := w.dial()
		k.online(w.bot)
		for _, c := range []struct {
			r       Room
			heard   bool
			context string
		}{
			{w.lab, true, `{"roomParticipant":true,"roomType":"c","roomName":"lab"}`},
			{other, true, `{"roomParticipant":false,"roomType":"c","roomName":"other"}`},
			{secret, false, ""},
			{mine, true, `{"roomParticipant":true,"roomType":"p","roomName":"mine"}`},
			{direct, true, `{"roomParticipant":true,"roomType":"d"}`},
			{many, true, `{"roomParticipant":true,"roomType":"d"}`},
			{foreign, false, ""},
			{help, true, `{"roomParticipant":true,"roomType":"l","roomName":"visitor"}`},
			{talk, true, `{"roomParticipant":false,"roomType":"c","roomName":"` + talk.Name + `"}`},
			{hidden, false, ""},
		} {
			w.Say(w.alice, c.r, "in "+c.r.ID)
			if !c.heard {
				k.quiet("not a member of " + c.r.Name)
				continue
			}
			if f := k.next(); !strings.Contains(f, "in "+c.r.ID) || !strings.HasSuffix(f, c.context+"]}}") {
				t.Errorf("%s: %s", c.r.Name, f)
			}
		}
		w.Say(w.alice, w.lab, "hidden", SayOptions{Hidden: true})
		w.Say(w.alice, w.lab, "lost", SayOptions{Quiet: true})
		k.quiet("hidden and lost")
	})
}

// TestKicked: out of a public room one goes on hearing, as no participant.
func TestKicked(t *testing.T) {
	w := newWorld(t, Options{})
	group := w.AddGroup("group", w.alice, w.bot)
	k := w.dial()
	k.online(w.bot)
	k.send(`{"msg":"sub","id":"n","name":"stream-notify-user","params":["` + w.bot.ID + `/subscriptions-changed",false]}`)
	k.until("ready")
	for _, r := range []Room{w.lab, group} {
		w.Kick(r, w.bot, w.alice)
		if f := k.next(); valueAt(f, "fields.args.0") != "removed" || valueAt(f, "fields.args.1.rid") != r.ID {
			t.Error(f)
		}
		if r.Kind == "c" {
			f := k.next()
			if valueAt(f, "fields.args.0.t") != "ru" || valueAt(f, "fields.args.0.msg") != "hermes" || valueAt(f, "fields.args.1.roomParticipant") != false {
				t.Error(f)
			}
			continue
		}
		k.quiet("kicked from a private room")
	}
	w.Invite(group, w.bot, w.alice)
	if f := k.next(); valueAt(f, "fields.args.0") != "inserted" || valueAt(f, "fields.args.1.name") != "group" {
		t.Error(f)
	}
	k.until(`"au"`)
	// A new direct room is announced before its first message.
	carol := w.AddUser("carol", UserOptions{})
	w.Say(carol, w.AddDirect(carol, w.bot), "hello")
	if f := k.next(); valueAt(f, "fields.args.0") != "inserted" || valueAt(f, "fields.args.1.t") != "d" {
		t.Error(f)
	}
	k.until("hello")
}

func TestNotifyUser(t *testing.T) {
	w := newWorld(t, Options{Version: V7})
	k := w.dial()
	k.login(w.bot)
	k.until("updated")
	for _, e := range []string{"message", "rooms-changed", "force_logout"} {
		k.send(fmt.Sprintf(`{"msg":"sub","id":%q,"name":"stream-notify-user","params":["%s/%s",false]}`, e, w.bot.ID, e))
		k.until("ready")
	}
	w.Whisper(w.bot, w.lab, "only you see this")
	f := k.next()
	if valueAt(f, "fields.eventName") != w.bot.ID+"/message" || valueAt(f, "fields.args.0.private") != true || valueAt(f, "fields.args.0.u.username") != "rocket.cat" {
		t.Error(f)
	}
	w.Say(w.alice, w.lab, "hello")
	if f := k.next(); valueAt(f, "fields.args.0") != "updated" || valueAt(f, "fields.args.1.lastMessage.msg") != "hello" {
		t.Error(f)
	}
	w.ForceLogout(w.bot)
	k.want(`{"msg":"changed","collection":"stream-notify-user","id":"id","fields":{"eventName":"` + w.bot.ID + `/force_logout","args":[]}}`)
	k.quiet("Meteor leaves the socket open")
}

// TestTyping: who types is seen by the others, not by himself; a wrong name, a
// room one isn't in, or the other version's event is dropped with an empty
// result.
func TestTyping(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		event, args := "user-activity", `"hermes",["user-typing"],{}`
		if w.Version() == V34 {
			event, args = "typing", `"hermes",true`
		}
		other := w.AddChannel("other", w.alice)
		see, bot := w.dial(), w.dial()
		for _, x := range []struct {
			k *socket
			u User
		}{{see, w.alice}, {bot, w.bot}} {
			x.k.login(x.u)
			x.k.until("updated")
			for i, r := range []Room{w.lab, other} {
				x.k.send(fmt.Sprintf(`{"msg":"sub","id":"t%d","name":"stream-notify-room","params":["%s/%s",false]}`, i, r.ID, event))
				x.k.until("ready")
			}
		}
		write := func(room, event, args string) {
			bot.send(fmt.Sprintf(`{"msg":"method","method":"stream-notify-room","id":"n","params":["%s/%s",%s]}`, room, event, args))
			bot.want(`{"msg":"result","id":"n"}`)
			bot.want(`{"msg":"updated","methods":["n"]}`)
		}
		write(w.lab.ID, event, args)
		see.want(`{"msg":"changed","collection":"stream-notify-room","id":"id","fields":{"eventName":"` + w.lab.ID + `/` + event + `","args":[` + args + `]}}`)
		write(other.ID, event, args)
		write(w.lab.ID, event, strings.Replace(args, "hermes", "Hermes", 1))
		write(w.lab.ID, map[string]string{"typing": "user-activity", "user-activity": "typing"}[event], args)
		write("no such room", event, args)
		see.quiet("dropped")
		w.Set("UI_Use_Real_Name", true)
		write(w.lab.ID, event, args)
		see.quiet("real names are in use")
		write(w.lab.ID, event, strings.Replace(args, "hermes", "Hermes", 1))
		see.until("Hermes")
		if n := len(w.Typing(w.lab)); n != 2 {
			t.Errorf("%d typing events remembered, want 2", n)
		}
	})
}

// TestTokenGone: with database watchers the socket closes with 1000 and no
// frame; without it lives on. Either way the next login is refused.
func TestTokenGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		second := w.AddToken(w.bot)
		if !w.RevokeToken(w.bot.Token) || w.RevokeToken("unknown") {
			t.Error("RevokeToken")
		}
		if w.Version() == V34 {
			if code := k.closed(); code != 1000 {
				t.Errorf("closed with %d", code)
			}
		} else {
			w.Say(w.alice, w.lab, "still there")
			k.until("still there")
		}
		if a := w.get(w.bot, "me"); a.status != 401 {
			t.Errorf("me: %d", a.status)
		}
		if f := w.dial().login(w.bot); valueAt(f, "error.error") != 403.0 {
			t.Error(f)
		}
		if again, _ := w.FindUser("hermes"); again.Token != second {
			t.Error("the second token should be the user's now")
		}
	})
}

func TestDeactivate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		w.Deactivate(w.bot)
		want := 1000
		if w.Version() == V9 {
			want = 1006
		}
		if code := k.closed(); code != want {
			t.Errorf("closed with %d, want %d", code, want)
		}
		if a := w.get(w.bot, "me"); a.status != 401 {
			t.Errorf("me: %d", a.status)
		}
		w.Activate(w.bot)
		w.dial().online(w.bot)
	})
}

// TestUsersCollection: Meteor also sends changes of one's own document, which
// are no events.
func TestUsersCollection(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.dial()
		k.online(w.bot)
		w.post(w.bot, "users.setStatus", object{"status": "away", "message": "back soon"})
		if w.Version() == V9 {
			k.quiet("the streamer publishes no users")
			return
		}
		k.want(`{"msg":"changed","collection":"users","id":"` + w.bot.ID + `","fields":{"status":"away","statusText":"back soon"}}`)
	})
}

// TestOneRoom: a subscription of a single room hears it while one may read it;
// its events have one argument.
func TestOneRoom(t *testing.T) {
	w := newWorld(t, Options{})
	group := w.AddGroup("group", w.alice, w.bot)
	k := w.dial()
	k.login(w.bot)
	k.until("updated")
	k.send(`{"msg":"sub","id":"r","name":"stream-room-messages","params":["` + group.ID + `",false]}`)
	k.until("ready")
	w.Say(w.alice, group, "here")
	w.Say(w.alice, w.lab, "elsewhere")
	f := k.next()
	if valueAt(f, "fields.eventName") != group.ID || valueAt(f, "fields.args.0.msg") != "here" || valueAt(f, "fields.args.1") != nil {
		t.Error(f)
	}
	w.Kick(group, w.bot, w.alice)
	w.Say(w.alice, group, "without you")
	k.quiet("kicked")
}

// TestNeverRead: what a client never reads is bounded; then its socket is cut.
func TestNeverRead(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	for range maxOutbox/hugeFrame + 3 {
		w.Break(Fault{Kind: HugeFrame})
	}
	if err := w.Await(ctx(t), func() bool { _, ended := w.Sockets(); return ended == 1 }); err != nil {
		t.Error(err)
	}
}

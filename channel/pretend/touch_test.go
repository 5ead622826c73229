package pretend

import (
	"strings"
	"testing"
)

// TestSameIDAgain: each reason for which a server publishes an id again, with
// the field that tells it.
func TestSameIDAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		touch func(w *world, m Message)
		holds []string
		not   string
	}{
		{"reaction", func(w *world, m Message) { w.React(m.ID, w.alice, ":eyes:") }, []string{`"reactions":{":eyes:":{"usernames":["alice"]}}`}, ""},
		{"edit", func(w *world, m Message) { w.Edit(m.ID, w.alice, "@all edited") }, []string{`"editedAt"`, `"editedBy":{"_id":`, `"mentions":[{"_id":"all","username":"all"}]`}, ""},
		{"reply in its thread", func(w *world, m Message) { w.Say(w.bot, w.lab, "reply", SayOptions{Thread: m.ID}) }, []string{`"tcount":1`, `"tlm"`, `"replies":[`}, ""},
		{"pin", func(w *world, m Message) { w.Pin(m.ID, w.bot) }, []string{`"pinned":true`, `"pinnedAt"`, `"pinnedBy"`}, ""},
		{"star", func(w *world, m Message) { w.Star(m.ID, w.bot, true) }, []string{`"starred":[{"_id":`}, ""},
		{"unstar", func(w *world, m Message) { w.Star(m.ID, w.bot, false) }, []string{`"starred":[]`}, ""},
		{"follow", func(w *world, m Message) { w.Follow(m.ID, w.bot, true) }, []string{`"replies":[`}, "tcount"},
		{"preview", func(w *world, m Message) { w.Touch(m.ID, Preview) }, []string{`"urls":[{"url":"https://example.org/x","meta":{`, `"parsedUrl"`}, ""},
		{"translation", func(w *world, m Message) { w.Touch(m.ID, Translation) }, []string{`"translations":{"de":`}, ""},
		{"receipt", func(w *world, m Message) { w.Touch(m.ID, Receipt) }, nil, "unread"},
		{"blocks", func(w *world, m Message) { w.Touch(m.ID, Blocks) }, []string{`"blocks":[`}, ""},
		{"attachments", func(w *world, m Message) { w.Touch(m.ID, Filled) }, []string{`"attachments":[{"title":"filled in later"}]`}, ""},
		{"mail", func(w *world, m Message) { w.Touch(m.ID, Mail) }, []string{`"email":{`}, ""},
		{"federation", func(w *world, m Message) { w.Touch(m.ID, Federated) }, []string{`"federation":{"eventId"`}, ""},
		{"keys", func(w *world, m Message) { w.Touch(m.ID, Rekeyed) }, []string{`"content":{"algorithm"`}, ""},
		{"discussion", func(w *world, m Message) { w.Touch(m.ID, Discussed) }, []string{`"drid"`, `"dcount":1`, `"dlm"`}, ""},
		{"nothing", func(w *world, m Message) { w.Touch(m.ID, Repeated) }, nil, "editedAt"},
	} {
		w := newWorld(t, Options{Version: V7})
		k := w.dial()
		k.online(w.bot)
		m := w.Say(w.alice, w.lab, "@hermes see https://example.org/x", SayOptions{Extra: map[string]any{"unread": true}})
		first := k.until(m.ID)
		c.touch(w, m)
		var f string
		for f == "" || valueAt(f, "fields.args.0._id") != m.ID {
			f = k.next()
		}
		for _, part := range c.holds {
			if !strings.Contains(f, part) {
				t.Errorf("%s: %s isn't in %s", c.name, part, f)
			}
		}
		if c.not != "" && strings.Contains(f, `"`+c.not+`"`) {
			t.Errorf("%s: %s is in %s", c.name, c.not, f)
		}
		if valueAt(f, "fields.args.0.ts.$date") != valueAt(first, "fields.args.0.ts.$date") {
			t.Errorf("%s: ts changed", c.name)
		}
		if now, _ := w.Message(m.ID); c.name == "nothing" && !now.Updated.Equal(m.Updated) {
			t.Error("repeated: _updatedAt changed")
		}
	}
}

// TestReactionTakenBack: what is left of the last reaction is an empty list.
func TestReactionTakenBack(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	m := w.Say(w.alice, w.lab, "hello")
	w.React(m.ID, w.alice, ":eyes:")
	w.React(m.ID, w.bot, ":eyes:")
	k.until(`"usernames":["alice","hermes"]`)
	w.Unreact(m.ID, w.alice, ":eyes:")
	k.until(`"usernames":["hermes"]`)
	w.Unreact(m.ID, w.bot, ":eyes:")
	k.until(`"reactions":[]`)
}

// TestDeleted: a plain message goes without a message event; a thread's root
// stays as `rm`, with its deleter as editor.
func TestDeleted(t *testing.T) {
	w := newWorld(t, Options{})
	k := w.dial()
	k.online(w.bot)
	for _, e := range []string{"deleteMessage", "deleteMessageBulk"} {
		k.send(`{"msg":"sub","id":"` + e + `","name":"stream-notify-room","params":["` + w.lab.ID + `/` + e + `",false]}`)
		k.until("ready")
	}
	plain := w.Say(w.alice, w.lab, "plain")
	k.until("plain")
	w.Delete(plain.ID, w.alice)
	k.want(`{"msg":"changed","collection":"stream-notify-room","id":"id","fields":{"eventName":"` + w.lab.ID + `/deleteMessage","args":[{"_id":"` + plain.ID + `"}]}}`)
	root := w.Say(w.alice, w.lab, "root")
	reply := w.Say(w.bot, w.lab, "reply", SayOptions{Thread: root.ID})
	k.until(`"tcount":1`)
	w.Delete(root.ID, w.alice)
	f := k.next()
	if valueAt(f, "fields.args.0.t") != "rm" || valueAt(f, "fields.args.0.msg") != "" || valueAt(f, "fields.args.0.editedBy.username") != "alice" {
		t.Error(f)
	}
	w.Delete(reply.ID, w.bot)
	if m, ok := w.Message(root.ID); !ok || m.ThreadCount != 0 {
		t.Errorf("the root's count: %+v", m)
	}
	w.ShowDeleted(true)
	shown := w.Say(w.alice, w.lab, "shown")
	w.Delete(shown.ID, w.alice)
	k.until(`"t":"rm"`)
	a, b := w.Say(w.alice, w.lab, "a"), w.Say(w.alice, w.lab, "b")
	w.Prune(w.lab, a.ID, b.ID)
	k.until("deleteMessageBulk")
	if _, there := w.Message(b.ID); there {
		t.Error("pruned, and still there")
	}
}

// TestPinned: a pin posts a system message of its own, with the text quoted.
func TestPinned(t *testing.T) {
	w := newWorld(t, Options{})
	m := w.Say(w.alice, w.lab, "@hermes remember this")
	w.Pin(m.ID, w.alice)
	list := w.Messages(w.lab)
	p := list[len(list)-1]
	if p.Type != "message_pinned" || p.Text != "" || !strings.Contains(string(p.Attachments[0]), "remember this") {
		t.Errorf("%+v", p)
	}
	if m := w.Unpin(m.ID, w.alice); m.Pinned || m.PinnedAt.IsZero() {
		t.Errorf("%+v", m)
	}
}

// TestDiscussion: the parent gets a message that names the new room.
func TestDiscussion(t *testing.T) {
	w := newWorld(t, Options{})
	a := w.post(w.alice, "rooms.createDiscussion", object{"prid": w.lab.ID, "t_name": "a talk", "users": []string{"hermes"}})
	id, _ := a.get("discussion._id").(string)
	if a.get("discussion.prid") != w.lab.ID || a.get("discussion.fname") != "a talk" || id == "" {
		t.Fatalf("%s", a.body)
	}
	list := w.Messages(w.lab)
	if m := list[len(list)-1]; m.Type != "discussion-created" || m.Discussion != id {
		t.Errorf("%+v", m)
	}
	r, _ := w.FindRoom(id)
	if len(r.Members) != 2 || len(r.Name) != 17 {
		t.Errorf("%+v", r)
	}
	if a := w.post(w.bot, "rooms.createDiscussion", object{"prid": w.AddGroup("secret", w.alice).ID, "t_name": "x"}); a.status != 403 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestWebhook is the shape of a message that an integration posts.
func TestWebhook(t *testing.T) {
	w := newWorld(t, Options{Version: V34})
	k := w.dial()
	k.online(w.bot)
	cat, _ := w.FindUser("rocket.cat")
	w.Say(cat, w.lab, "@hermes build failed", SayOptions{Bot: "hook", Alias: "CI"})
	f := k.until("build failed")
	if valueAt(f, "fields.args.0.bot.i") != "hook" || valueAt(f, "fields.args.0.alias") != "CI" || valueAt(f, "fields.args.0.u.username") != "rocket.cat" {
		t.Error(f)
	}
}

func TestPanics(t *testing.T) {
	w := newWorld(t, Options{})
	other := New(Options{})
	defer other.Close()
	stranger := other.AddUser("stranger", UserOptions{})
	for name, f := range map[string]func(){
		"a user of another server": func() { w.Say(stranger, w.lab, "x") },
		"a room of another server": func() { w.Say(w.alice, other.AddChannel("lab"), "x") },
		"a name that is taken":     func() { w.AddUser("alice", UserOptions{}) },
		"a room that is taken":     func() { w.AddChannel("lab") },
		"an unknown message":       func() { w.Edit("none", w.alice, "x") },
		"an unknown cause":         func() { w.Touch(w.Say(w.alice, w.lab, "x").ID, "teapot") },
		"an unknown fault":         func() { w.Break(Fault{Kind: "teapot"}) },
		"an unknown version":       func() { New(Options{Version: "2"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			f()
		}()
	}
	w.Say(w.alice, w.lab, "no lock was left behind")
}

package pretend

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRESTLimiter: ten calls of a route in a minute from one address, whoever
// makes them; those with the bypass see nothing of it.
func TestRESTLimiter(t *testing.T) {
	bubble(t, Options{Version: V7}, func(t *testing.T, w *world, _ func() *socket) {
		bob := w.AddUser("bob", UserOptions{})
		for i := range 10 {
			u := []User{w.alice, bob}[i%2]
			a := w.get(u, "me")
			if a.status != 200 || a.header.Get("x-ratelimit-limit") != "10" || a.header.Get("x-ratelimit-remaining") != strconv.Itoa(9-i) {
				t.Errorf("call %d: %d %v", i, a.status, a.header)
			}
			if i == 0 {
				time.Sleep(39 * time.Second)
			}
		}
		a := w.get(bob, "me")
		reset, err := strconv.ParseInt(a.header.Get("x-ratelimit-reset"), 10, 64)
		if a.status != 429 || err != nil || time.UnixMilli(reset).Sub(w.Now()) != 21*time.Second || a.header.Get("Retry-After") != "" {
			t.Errorf("the 11th: %d %v", a.status, a.header)
		}
		if want := "Error, too many requests. Please slow down. You must wait 21 seconds before trying this endpoint again. [error-too-many-requests]"; a.get("error") != want {
			t.Errorf("%s", a.body)
		}
		if a := w.get(bob, "subscriptions.get"); a.status != 200 {
			t.Errorf("another route: %d", a.status)
		}
		if a := w.get(w.bot, "me"); a.status != 200 || a.header.Get("x-ratelimit-limit") != "" {
			t.Errorf("a bot: %d %v", a.status, a.header)
		}
		limited := w.AddUser("limited", UserOptions{Bot: true, Limited: true})
		if a := w.get(limited, "me"); a.status != 429 {
			t.Errorf("a bot without the bypass: %d", a.status)
		}
		if a := w.get(User{}, "me"); a.status != 429 {
			t.Errorf("nobody is limited too: %d", a.status)
		}
		time.Sleep(21 * time.Second)
		if a := w.get(bob, "me"); a.status != 200 {
			t.Errorf("after the reset: %d", a.status)
		}
	})
}

// TestSendBurst: later servers let five messages a second through.
func TestSendBurst(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *world, _ func() *socket) {
		send := func() int {
			return w.post(w.alice, "chat.sendMessage", object{"message": object{"rid": w.lab.ID, "msg": "x"}}).status
		}
		for i := range 5 {
			if s := send(); s != 200 {
				t.Errorf("message %d: %d", i, s)
			}
		}
		if s := send(); s != 429 {
			t.Errorf("the sixth: %d", s)
		}
		time.Sleep(time.Second)
		if s := send(); s != 200 {
			t.Errorf("a second later: %d", s)
		}
	})
}

// TestSubLimit: 40 subscriptions of one stream in 40 s per connection; the
// rest are told when to come again.
func TestSubLimit(t *testing.T) {
	for _, v := range Versions() {
		bubble(t, Options{Version: v}, func(t *testing.T, w *world, dial func() *socket) {
			k := dial()
			k.online(w.bot)
			time.Sleep(6 * time.Second)
			ready, refused := 0, ""
			for i := range 60 {
				k.send(fmt.Sprintf(`{"msg":"sub","id":"n%d","name":"stream-notify-room","params":["%s/e%d",false]}`, i, w.lab.ID, i))
				switch f := k.next(); valueAt(f, "msg") {
				case "ready":
					ready++
				case "nosub":
					refused = f
				}
			}
			if v == V9 {
				if ready != 60 {
					t.Errorf("the streamer has no limiter of its own: %d", ready)
				}
				return
			}
			if ready != 40 || valueAt(refused, "error.error") != "too-many-requests" || valueAt(refused, "error.details.timeToReset") != 40000.0 {
				t.Errorf("%d ready; %s", ready, refused)
			}
			k.send(`{"msg":"sub","id":"u","name":"stream-notify-user","params":["` + w.bot.ID + `/message",false]}`)
			k.want(`{"msg":"ready","subs":["u"]}`)
			for range 2 {
				time.Sleep(20 * time.Second)
				k.send(ping)
			}
			k.send(fmt.Sprintf(`{"msg":"sub","id":"again","name":"stream-notify-room","params":["%s/again",false]}`, w.lab.ID))
			k.until(`"again"`)
		})
	}
}

// TestMethodLimit: the 11th call of a method in 10 s, and the 6th login.
func TestMethodLimit(t *testing.T) {
	bubble(t, Options{Version: V34}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		call := func(method, params string) string {
			k.send(`{"msg":"method","method":"` + method + `","id":"c","params":[` + params + `]}`)
			for {
				if f := k.next(); valueAt(f, "msg") == "result" {
					return f
				}
			}
		}
		for i := range 10 {
			if f := call("getRoomIdByNameOrId", `"lab"`); valueAt(f, "result") != w.lab.ID {
				t.Errorf("call %d: %s", i, f)
			}
		}
		f := call("getRoomIdByNameOrId", `"lab"`)
		if valueAt(f, "error.error") != "too-many-requests" || valueAt(f, "error.details.timeToReset") != 10000.0 || !strings.Contains(f, "You must wait 10 seconds") {
			t.Error(f)
		}
		resume := `{"resume":"` + w.bot.Token + `"}`
		for i := range 4 {
			if f := call("login", resume); valueAt(f, "result.id") != w.bot.ID {
				t.Errorf("login %d: %s", i+2, f)
			}
		}
		if f := call("login", resume); valueAt(f, "error.error") != "too-many-requests" {
			t.Error(f)
		}
		time.Sleep(10 * time.Second)
		if f := call("login", resume); valueAt(f, "result.id") != w.bot.ID {
			t.Error(f)
		}
	})
}

// TestTypingBudget: 40 typing calls in 40 s per connection.
func TestTypingBudget(t *testing.T) {
	bubble(t, Options{Version: V7}, func(t *testing.T, w *world, dial func() *socket) {
		k := dial()
		k.online(w.bot)
		last := ""
		for range 41 {
			k.send(`{"msg":"method","method":"stream-notify-room","id":"t","params":["` + w.lab.ID + `/user-activity","hermes",["user-typing"],{}]}`)
			last = k.until(`"result"`)
		}
		if valueAt(last, "error.error") != "too-many-requests" {
			t.Error(last)
		}
		if n := len(w.Typing(w.lab)); n != 40 {
			t.Errorf("%d typing events", n)
		}
	})
}

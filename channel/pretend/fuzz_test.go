package pretend

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// ghost is a session without a socket: what it sends stays in its outbox.
func ghost(s *Server, u User) *session {
	_, raw := newPipe()
	c := &session{server: s, raw: raw, id: newID(), over: make(chan struct{}), subs: map[string]*sub{}, limits: limiter{}, connected: true}
	c.out.wake = make(chan struct{}, 1)
	c.beat.session = c
	c.user.Store(s.users[u.ID])
	return c
}

// FuzzFrame: whatever a client sends, the server neither falls over nor sends
// anything that isn't JSON.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"msg":"connect","version":"1","support":["1"]}`,
		`{"msg":"method","method":"login","id":"1","params":[{"resume":"x"}]}`,
		`{"msg":"method","method":"login","id":"1","params":[{"user":{"username":"alice"},"password":{"digest":"x","algorithm":"sha-256"}}]}`,
		`{"msg":"method","method":"sendMessage","id":"1","params":[{"rid":"ROOM","msg":"@hermes","ts":{"$date":1}}]}`,
		`{"msg":"method","method":"loadHistory","id":"1","params":["ROOM",null,-1,{"$date":0}]}`,
		`{"msg":"method","method":"createDirectMessage","id":"1","params":["alice","hermes",7]}`,
		`{"msg":"method","method":"stream-notify-room","id":"1","params":["ROOM/user-activity","hermes",["user-typing"],{}]}`,
		`{"msg":"method","method":"setReaction","id":"1","params":[":x:","none",null]}`,
		`{"msg":"sub","id":"1","name":"stream-room-messages","params":["__my_messages__",false]}`,
		`{"msg":"sub","id":"1","name":"stream-notify-user","params":[7]}`,
		`{"msg":"unsub","id":"1"}`, `{"msg":"ping","id":"\ud800"}`, `[]`, `null`, `{"msg":"`, "\x00",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, meteor bool) {
		v := V9
		if meteor {
			v = V7
		}
		s := New(Options{Version: v, NoLimits: true})
		defer s.Close()
		bot := s.AddUser("hermes", UserOptions{Bot: true, ID: "botbotbotbotbotbo"})
		room := s.AddChannel("lab", bot, s.AddUser("alice", UserOptions{Password: "secret"}))
		c := ghost(s, bot)
		frame = []byte(strings.ReplaceAll(string(frame), "ROOM", room.ID))
		if p, ok := parsePacket(frame); ok && !(p.Msg == "method" && p.Method == "logout") {
			c.handle(p)
		}
		for _, it := range c.out.take(nil) {
			if it.end == nil && !json.Valid(it.data) {
				t.Errorf("sent %q", it.data)
			}
		}
	})
}

// FuzzREST: whatever is posted to whichever route, the answer is JSON, or the
// page for what isn't JSON.
func FuzzREST(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"rid":"ROOM","msg":"x","attachments":[{"text":"y"}],"customFields":{"a":1}}}`,
		`{"roomId":["ROOM","@alice"],"text":"x","tmid":"none"}`, `{"messageId":"m","emoji":":x:"}`,
		`{"usernames":"alice,alice"}`, `{"name":"x","members":["alice"]}`, `{"command":"me","roomId":"ROOM"}`,
		`{"message":"{\"msg\":\"method\",\"method\":\"getRoomIdByNameOrId\",\"id\":\"1\",\"params\":[\"lab\"]}"}`,
		`{"user":"alice","password":"secret"}`, `{`, `[]`, `null`, `7`,
	} {
		for i := range uint8(4) {
			f.Add([]byte(seed), i)
		}
	}
	var posts []string
	for name := range routes {
		if strings.HasPrefix(name, "POST ") {
			posts = append(posts, strings.TrimPrefix(name, "POST "))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		s := New(Options{Version: Versions()[int(which)%3], NoLimits: true})
		defer s.Close()
		bot := s.AddUser("hermes", UserOptions{Roles: []string{"admin"}, ID: "botbotbotbotbotbo"})
		room := s.AddChannel("lab", bot, s.AddUser("alice", UserOptions{Password: "secret"}))
		s.Say(bot, room, "x", SayOptions{ID: "m"})
		body = []byte(strings.ReplaceAll(string(body), "ROOM", room.ID))
		for _, route := range posts {
			r := httptest.NewRequest("POST", "/api/v1/"+route+"/"+room.ID, strings.NewReader(string(body)))
			if !strings.HasPrefix(route, "rooms.m") && route != "rooms.upload" && route != "method.call" {
				r = httptest.NewRequest("POST", "/api/v1/"+route, strings.NewReader(string(body)))
			}
			r.Header.Set("X-User-Id", bot.ID)
			r.Header.Set("X-Auth-Token", s.Users()[1].Token)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s answers %d %q", route, w.Code, w.Body)
			}
			if w.Code == http.StatusInternalServerError {
				t.Errorf("%s answers 500", route)
			}
		}
	})
}

// FuzzString: what is quoted reads back as it was, save for bytes that are no
// UTF-8.
func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "é😀\u2028", "\xff\xc3", "<b>&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		q := appendString(nil, s)
		if err := json.Unmarshal(q, &got); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && got != want {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// FuzzMention: any text is taken, and who is found is written in it.
func FuzzMention(f *testing.F) {
	for _, seed := range []string{"@hermes", "`@hermes`", "```\n@hermes", "[@hermes](x)", "(@hermes)", "@hermes@x:y", "@@hermes"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, names := range [][]string{mentionedOld(text), mentionedNew(text)} {
			for _, n := range names {
				if n == "" || !strings.Contains(text, "@"+n) {
					t.Errorf("%q in %q", n, text)
				}
			}
		}
	})
}

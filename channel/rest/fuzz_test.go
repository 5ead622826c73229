package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// everyParser reads a body with each of the decoders.
func everyParser(b []byte) map[string]bool {
	me, okMe := parseMe(b)
	info, okInfo := parseInfo(b)
	m, okMessage := parseMessageReply(b)
	p, okPage := parsePage(b)
	room, okRoom := parseRoomReply(b)
	rooms, okRooms := parseChanges(b, parseRoom)
	subs, okSubs := parseChanges(b, parseSubscription)
	user, okUser := parseUser(b)
	settings, okSettings := parseSettings(b)
	file, okFile := parseUpload(b)

	bad := map[string]bool{ // what may not be, whatever was read
		"me without id":           okMe && me.ID == "",
		"info without version":    okInfo && info.Version == "",
		"message without id":      okMessage && (m.ID == "" || m.RoomID == ""),
		"more messages than sent": okPage && len(p.messages) > p.length,
		"room without id":         okRoom && room.ID == "",
		"user without id":         okUser && user.ID == "",
		"file without id":         okFile && file == "",
	}
	for _, r := range rooms.updated {
		bad["listed room without id"] = bad["listed room without id"] || okRooms && r.ID == ""
	}
	for _, id := range append(rooms.removed, subs.removed...) {
		bad["removed without id"] = bad["removed without id"] || id == ""
	}
	for _, s := range subs.updated {
		bad["subscription without room"] = bad["subscription without room"] || okSubs && s.RoomID == ""
	}
	for id, v := range settings {
		bad["setting that isn't one"] = bad["setting that isn't one"] || okSettings && (id == "" || !json.Valid(v))
	}
	return bad
}

// Any body is read by every decoder without a panic, and what is read is whole.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"_id":"u","username":"hermes","name":null,"roles":["bot",7],"active":"yes","services":{"password":{"bcrypt":"x"}}}`,
		`{"version":"3.4.0","info":{"version":9}}`,
		`{"message":{"_id":"m","rid":"r","msg":"x","ts":"2026-11-30T12:00:00.000Z","u":{"_id":"u"}},"success":true}`,
		`{"messages":[{"_id":"m","rid":"r","ts":{"$date":1796055817178}},null,7,{}],"count":1e999}`,
		`{"update":[{"_id":"a","rid":"b","t":"d","usersCount":99999999999999999999,"lastMessage":{}}],"remove":[{"_id":"x"},[]]}`,
		`{"room":{"rid":"xy","usernames":["a",null]}}`, `{"user":{"_id":"u","roles":{}}}`,
		`{"settings":[{"_id":"A","value":null},{"_id":"B","value":[1,{}]}]}`, `{"file":{"_id":"f","url":7}}`,
		`[]`, `null`, `"x"`, `{`, "", "\xff", strings.Repeat("[", 20000), `{"message":` + strings.Repeat(`{"a":`, 5000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for what, is := range everyParser(b) {
			if is {
				t.Errorf("%s: %q", what, b)
			}
		}
	})
}

// Any answer that isn't a success becomes an error with a meaning, a bounded
// wait, and a text without a byte of the body; only a 401 is ever a refusal.
func FuzzError(f *testing.F) {
	for _, c := range failures {
		f.Add(c.status, c.as, c.body, "1796055838178", "")
	}
	f.Add(429, asJSON, `{"error":{"a":1},"details":{"timeToReset":1e308}}`, "NaN", "-1")
	f.Add(401, "application/json; charset=utf-8", `{"message":"You must be logged in to do this.","errorType":"error-`+testToken+`"}`, "", "Mon, 30 Nov 2026 12:00:00 GMT")
	f.Fuzz(func(t *testing.T, status int, contentType, body, reset, after string) {
		if status < 200 || status > 999 {
			return
		}
		c := &Client{token: secretOf(testToken)}
		h := http.Header{"Content-Type": {contentType}, "X-Ratelimit-Reset": {reset}, "Retry-After": {after}}
		resp := &http.Response{StatusCode: status, Header: h, ContentLength: -1, Body: nopCloser{iotest.OneByteReader(strings.NewReader(body))}}
		got, err := c.judge(t.Context(), RouteSend, resp, 1<<20)
		if err == nil {
			if status > 299 || !isJSON(h) || string(got) != body || !json.Valid(got) {
				t.Fatalf("%d %q %q is a success", status, contentType, body)
			}
			return
		}
		e, ok := failed(err)
		if !ok || e.Kind == "" || e.Route != RouteSend || e.Status != status {
			t.Fatalf("got %#v", err)
		}
		if e.Retry != 0 && (e.Retry < time.Second || e.Retry > 15*time.Minute) {
			t.Errorf("wait %v", e.Retry)
		}
		if (e.Kind == ErrRateLimited) != (e.Retry > 0) && e.Kind != ErrUnavailable {
			t.Errorf("%v waits %v", e.Kind, e.Retry)
		}
		if e.Kind == ErrRefused && status != 401 {
			t.Errorf("%d is a refusal", status)
		}
		if e.Type != "" && !plainType(e.Type) && kinds[e.Type] == "" {
			t.Errorf("type %q", e.Type)
		}
		if text := e.Error(); strings.Contains(text, testToken) || strings.ContainsAny(text, "\r\n\x00") {
			t.Errorf("%q", text)
		}
	})
}

type nopCloser struct {
	r interface{ Read([]byte) (int, error) }
}

func (n nopCloser) Read(p []byte) (int, error) { return n.r.Read(p) }
func (n nopCloser) Close() error               { return nil }

// Whatever a message says its file is, only /file-upload/<id>/<name> below the
// server's own address is asked for.
func FuzzFileLink(f *testing.F) {
	for _, s := range []string{
		"/file-upload/f1/a.txt", "/file-upload/f1/%2e%2e", "https://chat.example.org/chat/file-upload/a/b", "/chat/file-upload/a/b%2Fc",
		"//chat.example.org/file-upload/a/b", "/file-upload/../me", "\\file-upload\\a\\b", "/file-upload/a/b?rc_token=x#y",
	} {
		f.Add(s)
	}
	c, err := New(Config{Server: "https://chat.example.org/chat", UserID: testUser, Token: secretOf(testToken)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	f.Fuzz(func(t *testing.T, link string) {
		where, ok := c.filePath(link)
		if !ok {
			return
		}
		req, err := http.NewRequest(http.MethodGet, c.server+where, nil)
		if err != nil {
			t.Fatalf("%q gave %q: %v", link, where, err)
		}
		parts := strings.Split(req.URL.EscapedPath(), "/")
		if req.URL.Host != "chat.example.org" || req.URL.Scheme != "https" || req.URL.RawQuery != "" || len(parts) != 5 ||
			parts[1] != "chat" || parts[2] != "file-upload" || parts[3] == "" || parts[4] == "" || parts[3] == ".." || parts[4] == ".." {
			t.Errorf("%q gave %q", link, where)
		}
	})
}

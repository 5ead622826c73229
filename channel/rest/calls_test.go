package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel/chat"
)

// A request is what a call sends: method, path, query, body.
type request struct {
	name string
	call func(context.Context, *Client)
	want string
}

// at is a time with more places than servers know.
var at = time.Date(2026, 11, 30, 12, 0, 0, 123_456_789, time.UTC)

var requests = []request{
	{"me", func(ctx context.Context, c *Client) { c.Me(ctx) }, "GET /api/v1/me"},
	{"info", func(ctx context.Context, c *Client) { c.Info(ctx) }, "GET /api/info"},
	{
		"send", func(ctx context.Context, c *Client) {
			c.SendMessage(ctx, Outgoing{ID: "m1", Room: "r1", Text: "a\n\"b\" 😀"})
		},
		`POST /api/v1/chat.sendMessage {"message":{"_id":"m1","rid":"r1","msg":"a\n\"b\" 😀"},"previewUrls":[]}`,
	},
	{
		"send in a thread", func(ctx context.Context, c *Client) {
			c.SendMessage(ctx, Outgoing{ID: "m1", Room: "r1", Text: "x", Thread: "t1"})
		},
		`POST /api/v1/chat.sendMessage {"message":{"_id":"m1","rid":"r1","msg":"x","tmid":"t1"},"previewUrls":[]}`,
	},
	{
		"send in a thread and the room", func(ctx context.Context, c *Client) {
			c.SendMessage(ctx, Outgoing{ID: "m1", Room: "r1", Text: "x", Thread: "t1", AlsoInRoom: true})
		},
		`POST /api/v1/chat.sendMessage {"message":{"_id":"m1","rid":"r1","msg":"x","tmid":"t1","tshow":true},"previewUrls":[]}`,
	},
	{
		"tshow without tmid is refused by servers", func(ctx context.Context, c *Client) {
			c.SendMessage(ctx, Outgoing{ID: "m1", Room: "r1", Text: "x", AlsoInRoom: true})
		},
		`POST /api/v1/chat.sendMessage {"message":{"_id":"m1","rid":"r1","msg":"x"},"previewUrls":[]}`,
	},
	{"message", func(ctx context.Context, c *Client) { c.Message(ctx, "m&1") }, "GET /api/v1/chat.getMessage?msgId=m%261"},
	{
		"update", func(ctx context.Context, c *Client) { c.Update(ctx, "r1", "m1", "x") },
		`POST /api/v1/chat.update {"roomId":"r1","msgId":"m1","text":"x","previewUrls":[]}`,
	},
	{
		"delete", func(ctx context.Context, c *Client) { c.Delete(ctx, "r1", "m1") },
		`POST /api/v1/chat.delete {"roomId":"r1","msgId":"m1"}`,
	},
	// R84: without shouldReact the server toggles.
	{
		"react", func(ctx context.Context, c *Client) { c.React(ctx, "m1", ":eyes:", true) },
		`POST /api/v1/chat.react {"messageId":"m1","emoji":":eyes:","shouldReact":true}`,
	},
	{
		"react no more", func(ctx context.Context, c *Client) { c.React(ctx, "m1", ":eyes:", false) },
		`POST /api/v1/chat.react {"messageId":"m1","emoji":":eyes:","shouldReact":false}`,
	},
	{"room", func(ctx context.Context, c *Client) { c.Room(ctx, "r1") }, "GET /api/v1/rooms.info?roomId=r1"},
	{"rooms", func(ctx context.Context, c *Client) { c.Rooms(ctx, time.Time{}) }, "GET /api/v1/rooms.get"},
	{"rooms since", func(ctx context.Context, c *Client) { c.Rooms(ctx, at) }, "GET /api/v1/rooms.get?updatedSince=2026-11-30T12%3A00%3A00.123Z"},
	{"subscriptions", func(ctx context.Context, c *Client) { c.Subscriptions(ctx, at) }, "GET /api/v1/subscriptions.get?updatedSince=2026-11-30T12%3A00%3A00.123Z"},
	{
		"history of a channel", func(ctx context.Context, c *Client) { c.History(ctx, HistoryQuery{Kind: chat.Channel, Room: "r1"}) },
		"GET /api/v1/channels.history?count=50&roomId=r1",
	},
	{
		"history of a group, bounds", func(ctx context.Context, c *Client) {
			c.History(ctx, HistoryQuery{Kind: chat.Group, Room: "r1", Oldest: at, Latest: at, Count: 7, Inclusive: true})
		},
		"GET /api/v1/groups.history?count=7&inclusive=true&latest=2026-11-30T12%3A00%3A00.124Z&oldest=2026-11-30T12%3A00%3A00.123Z&roomId=r1",
	},
	{
		"inclusive=false is read as true by groups.history", func(ctx context.Context, c *Client) {
			c.History(ctx, HistoryQuery{Kind: chat.Group, Room: "r1", Count: 500})
		},
		"GET /api/v1/groups.history?count=100&roomId=r1",
	},
	{
		"history of a direct room", func(ctx context.Context, c *Client) { c.History(ctx, HistoryQuery{Kind: chat.Direct, Room: "r1"}) },
		"GET /api/v1/im.history?count=50&roomId=r1",
	},
	{
		"thread", func(ctx context.Context, c *Client) { c.ThreadMessages(ctx, "m1", 20) },
		"GET /api/v1/chat.getThreadMessages?count=20&sort=%7B%22ts%22%3A-1%7D&tmid=m1",
	},
	{"user", func(ctx context.Context, c *Client) { c.User(ctx, UserQuery{ID: "u1", Username: "alice"}) }, "GET /api/v1/users.info?userId=u1"},
	{"user by name", func(ctx context.Context, c *Client) { c.User(ctx, UserQuery{Username: "alice"}) }, "GET /api/v1/users.info?username=alice"},
	{"direct room", func(ctx context.Context, c *Client) { c.DirectRoom(ctx, "alice") }, `POST /api/v1/im.create {"username":"alice"}`},
	{
		"settings", func(ctx context.Context, c *Client) { c.Settings(ctx, "A", "B") },
		"GET /api/v1/settings.public?_id=A%2CB&count=2",
	},
	{
		"confirm", func(ctx context.Context, c *Client) {
			c.Confirm(ctx, "r1", "f 1", ConfirmOptions{Text: "x", Thread: "t1"})
		},
		`POST /api/v1/rooms.mediaConfirm/r1/f 1 {"msg":"x","tmid":"t1"}`,
	},
	{
		"confirm without words", func(ctx context.Context, c *Client) { c.Confirm(ctx, "r1", "f1", ConfirmOptions{}) },
		`POST /api/v1/rooms.mediaConfirm/r1/f1 {}`,
	},
}

// What goes over the wire, to the letter: servers from 8 on refuse a body with
// a field they don't know.
func TestRequests(t *testing.T) {
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			b := secure(t, says(400, asJSON, `{"success":false,"error":"x"}`))
			c.call(t.Context(), b.client(t, nil))
			got := b.last(t)
			line := got.method + " " + got.path
			if got.query != "" {
				line += "?" + got.query
			}
			if got.body != "" {
				line += " " + got.body
				if got.header.Get("Content-Type") != asJSON {
					t.Errorf("sent as %q", got.header.Get("Content-Type"))
				}
			}
			if line != c.want {
				t.Errorf("got  %s\nwant %s", line, c.want)
			}
			if strings.Contains(got.body, `"ts"`) {
				t.Error("a time is sent")
			}
		})
	}
}

// A 200 that doesn't say success is none, also where nothing else is answered.
func TestSuccessIsSaid(t *testing.T) {
	for _, body := range []string{`{}`, `{"success":null}`, `{"ok":true}`, `{"status":"success"}`} {
		c := secure(t, says(200, asJSON, body)).client(t, nil)
		mustBe(t, c.Update(t.Context(), "r", "m", "x"), ErrMalformed)
		mustBe(t, c.Delete(t.Context(), "r", "m"), ErrMalformed)
		mustBe(t, c.React(t.Context(), "m", ":eyes:", true), ErrMalformed)
	}
}

// Servers before 8 don't know previewUrls in every version; there parseUrls
// turns previews off.
func TestPreviewsAreOffOnOldServersToo(t *testing.T) {
	for version, want := range map[string]bool{"3.4.0": true, "7.10": true, "8.0.0": false, "9.0": false, "x": false} {
		b := secure(t, inTurn(says(200, asJSON, `{"version":"`+version+`","success":true}`), sentOK))
		c := b.client(t, nil)
		if _, err := c.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SendMessage(t.Context(), Outgoing{ID: "m1", Room: "r1", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.last(t).body, `"parseUrls":false`); got != want {
			t.Errorf("%s: %s", version, b.last(t).body)
		}
	}
}

func TestIDsThatClimbAreNotSent(t *testing.T) {
	b := secure(t, succeeds)
	c := b.client(t, nil)
	for _, id := range []string{"", ".", "..", "../../me", "a/b", `a\b`} {
		_, err := c.Confirm(t.Context(), id, "f1", ConfirmOptions{})
		mustBe(t, err, ErrInvalid)
		_, err = c.Confirm(t.Context(), "r1", id, ConfirmOptions{})
		mustBe(t, err, ErrInvalid)
		_, err = c.Upload(t.Context(), id, text("a", "b"))
		mustBe(t, err, ErrInvalid)
	}
	if _, err := c.History(t.Context(), HistoryQuery{Kind: chat.Livechat, Room: "r1"}); err == nil {
		t.Error("history of an unknown kind")
	}
	if b.count() != 0 {
		t.Errorf("asked %d times", b.count())
	}
}

// /me of 3.4 holds the hash of the password. Nothing but five fields is kept,
// printed or logged.
func TestMe(t *testing.T) {
	const body = `{"_id":"aobEdbYhXfu5hkeqG","services":{"password":{"bcrypt":"$2b$10$SECRETHASH"},"resume":{"loginTokens":[{"hashedToken":"HASHED"}]}},
		"emails":[{"address":"hermes@example.org","verified":true}],"status":"online","active":true,"_updatedAt":"2026-11-30T12:00:00.000Z",
		"roles":["user","bot"],"name":"Hermes","username":"hermes","settings":{"preferences":{}},"success":true}`
	b := secure(t, says(200, asJSON, body))
	log, lines := debugLog()
	got, err := b.client(t, func(c *Config) { c.Log = log }).Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Me{ID: "aobEdbYhXfu5hkeqG", Username: "hermes", Name: "Hermes", Roles: []string{"user", "bot"}, Active: true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, hidden := range []string{"SECRETHASH", "HASHED", "hermes@example.org", testToken} {
		if strings.Contains(fmt.Sprintf("%+v", got)+lines.String(), hidden) {
			t.Errorf("shows %s", hidden)
		}
	}
}

// The answer of /me doesn't stay in memory.
func TestMeIsWiped(t *testing.T) {
	b := secure(t, meOK)
	c := b.client(t, nil)
	k := get(RouteMe, nil)
	k.wipe = true
	var kept []byte
	if _, err := fetch(t.Context(), c, k, func(b []byte) (Me, bool) { kept = b; return parseMe(b) }); err != nil {
		t.Fatal(err)
	}
	if strings.Trim(string(kept), "\x00") != "" || len(kept) == 0 {
		t.Errorf("%q", kept)
	}
}

func TestInfo(t *testing.T) {
	for _, c := range []struct{ body, version string }{
		{`{"version":"3.4.0","info":{"x":1},"success":true}`, "3.4.0"},
		{`{"version":"8.2","success":true,"minimumClientVersions":{}}`, "8.2"},
		{`{"success":true,"info":{"version":"0.72.1"}}`, "0.72.1"},
		{`{"success":true}`, ""},
		{`{"version":9,"success":true}`, ""},
	} {
		info, err := secure(t, says(200, asJSON, c.body)).client(t, nil).Info(t.Context())
		if info.Version != c.version || (err == nil) != (c.version != "") {
			t.Errorf("%s: %q, %v", c.body, info.Version, err)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		version      string
		major, minor int
		want         bool
	}{
		{"3.4.0", 4, 0, false},
		{"3.4.0", 3, 4, true},
		{"3.4.0", 3, 5, false},
		{"8.0.0-rc.1", 8, 0, true},
		{"8.2", 6, 10, true},
		{"6.10", 6, 9, true},
		{"6.9", 6, 10, false},
		{"10.0", 9, 0, true},
		{"9", 9, 0, true},
		{"develop", 99, 0, true},
		{"", 8, 0, true},
	} {
		if got := (Info{c.version}).AtLeast(c.major, c.minor); got != c.want {
			t.Errorf("%q at least %d.%d: %v", c.version, c.major, c.minor, got)
		}
	}
}

// One odd field must not cost the answer, one odd element not the list.
func TestOddAnswers(t *testing.T) {
	ctx := t.Context()
	with := func(body string) *Client { return secure(t, says(200, asJSON, body)).client(t, nil) }

	rooms, removed, err := with(`{"update":[
		{"_id":"a","t":"d","usersCount":2,"uids":["x","y"],"_updatedAt":"2026-11-30T12:00:00.000Z","lastMessage":{"_id":"m","rid":"a","msg":"hi"}},
		{"_id":"b","t":"c","usersCount":"many","name":7,"lastMessage":{"msg":"no id"},"ro":true},
		{"_id":"c","t":"p","lastMessage":"gone"},
		{"_id":"d","t":"p","lastMessage":null,"usersCount":1e999},
		{"t":"c"}, null, 7, "x", []],
		"remove":[{"_id":"e","_deletedAt":"2026-11-30T12:00:00.000Z"},{"x":1},null],"success":true}`).Rooms(ctx, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range rooms {
		ids = append(ids, r.ID)
	}
	if strings.Join(ids, "") != "abcd" || strings.Join(removed, "") != "e" {
		t.Errorf("rooms %v, removed %v", ids, removed)
	}
	if rooms[0].Last == nil || rooms[0].Last.Text != "hi" || rooms[0].UsersCount != 2 || !rooms[1].ReadOnly || rooms[1].Last != nil {
		t.Errorf("%+v", rooms)
	}

	subs, removed, err := with(`{"update":[
		{"_id":"s1","rid":"a","t":"d","name":"alice","ts":"2026-11-30T12:00:00.000Z","ls":null,"open":true,"_updatedAt":{"$date":1796055817178}},
		{"_id":"s2","rid":"b","t":"c","open":"yes","ts":17},{"_id":"s3"}],"remove":[{"_id":"s9"}],"success":true}`).Subscriptions(ctx, time.Time{})
	if err != nil || len(subs) != 2 || strings.Join(removed, "") != "s9" {
		t.Fatalf("%+v %v %v", subs, removed, err)
	}
	if s := subs[0]; s.RoomID != "a" || s.Name != "alice" || s.Joined.ISO() != "2026-11-30T12:00:00.000Z" || !s.Seen.IsZero() || !s.Open || s.Updated.UnixMilli() != 1796055817178 {
		t.Errorf("%+v", s)
	}

	page, err := with(`{"messages":[{"_id":"m1","rid":"a","ts":"2026-11-30T12:00:00.000Z"},{"_id":"m2","rid":"a","ts":"2026-11-30T12:00:01.000Z"},
		{"_id":"m3"},null,{"_id":"m4","rid":"a","ts":"never"}],"success":true}`).History(ctx, HistoryQuery{Kind: "c", Room: "a"})
	if err != nil || len(page) != 3 || page[0].ID != "m2" || page[2].ID != "m4" {
		t.Errorf("%+v %v", page, err)
	}

	user, err := with(`{"user":{"_id":"u","username":"bot","name":null,"type":"bot","roles":["bot"],"active":true},"success":true}`).User(ctx, UserQuery{ID: "u"})
	if err != nil || user.Type != "bot" || len(user.Roles) != 1 || !user.Active || user.Username != "bot" {
		t.Errorf("%+v %v", user, err)
	}

	room, err := with(`{"room":{"rid":"xy","t":"d","usernames":["a","b"]},"success":true}`).DirectRoom(ctx, "a")
	if err != nil || room.ID != "xy" || room.Kind != chat.Direct || len(room.Usernames) != 2 {
		t.Errorf("%+v %v", room, err)
	}
}

// An answer without what was asked for is never an empty success.
func TestNothingIsNotAnEmptyAnswer(t *testing.T) {
	for _, body := range []string{`{"success":true}`, `{}`, `{"success":true,"message":null,"messages":null,"room":null,"update":null,"settings":null,"file":null,"user":null}`, `{"message":{"msg":"no id"},"room":{},"user":{},"file":{},"messages":{},"update":{},"settings":7}`} {
		c := secure(t, says(200, asJSON, body)).client(t, nil)
		for _, call := range everyCall {
			switch call.route {
			case RouteUpdate, RouteDelete, RouteReact, RouteFile:
				continue // their success is all they answer
			}
			err := call.make(t.Context(), c)
			if e := mustBe(t, err, ErrMalformed); !e.Uncertain {
				t.Errorf("%s: not uncertain", call.name)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	all := map[string]string{"Message_MaxAllowedSize": "5000", "UI_Use_Real_Name": "true", "A": `"x"`}
	answer := func(ids []string) string {
		var list []string
		for _, id := range ids {
			if v, ok := all[id]; ok {
				list = append(list, fmt.Sprintf(`{"_id":%q,"value":%s}`, id, v))
			}
		}
		return `{"settings":[` + strings.Join(list, ",") + `],"count":1,"total":3,"success":true}`
	}
	byID := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("query") { // removed in 9.0
			say(w, 400, asJSON, `{"success":false,"errorType":"error-invalid-params","error":"must NOT have additional properties"}`)
			return
		}
		say(w, 200, asJSON, answer(strings.Split(r.URL.Query().Get("_id"), ",")))
	}
	byQuery := func(w http.ResponseWriter, r *http.Request) { // 3.4 doesn't know _id
		var q struct {
			ID struct {
				In []string `json:"$in"`
			} `json:"_id"`
		}
		if json.Unmarshal([]byte(r.URL.Query().Get("query")), &q) == nil {
			say(w, 200, asJSON, answer(q.ID.In))
			return
		}
		say(w, 200, asJSON, answer([]string{"A"}))
	}
	for name, h := range map[string]http.HandlerFunc{"9.0": byID, "3.4": byQuery} {
		c := secure(t, h).client(t, nil)
		got, err := c.Settings(t.Context(), "Message_MaxAllowedSize", "UI_Use_Real_Name", "Nothing")
		want := map[string]json.RawMessage{"Message_MaxAllowedSize": json.RawMessage("5000"), "UI_Use_Real_Name": json.RawMessage("true")}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
		if got, err := c.Settings(t.Context(), "Nothing"); err != nil || len(got) != 0 {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

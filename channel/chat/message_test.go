package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A real event of a 3.4.0 server, ids shortened, as it came over DDP.
const liveMessage = `{"_id":"m1","alias":"","msg":"@hermes hello","attachments":[],"parseUrls":true,"groupable":false,
	"ts":{"$date":1796055817178},"u":{"_id":"u1","username":"alice","name":"Alice"},"rid":"r1",
	"mentions":[{"_id":"b1","username":"hermes","name":"Hermes"}],"channels":[],"_updatedAt":{"$date":1796055817203}}`

// The same message as REST gives it.
const restMessage = `{"_id":"m1","alias":"","msg":"@hermes hello","attachments":[],"parseUrls":true,"groupable":false,
	"ts":"2026-11-30T16:23:37.178Z","u":{"_id":"u1","username":"alice","name":"Alice"},"rid":"r1",
	"mentions":[{"_id":"b1","username":"hermes","name":"Hermes"}],"channels":[],"_updatedAt":"2026-11-30T16:23:37.203Z"}`

func decode(t *testing.T, src string) Message {
	t.Helper()
	var m Message
	if err := json.Unmarshal([]byte(src), &m); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return m
}

func TestBothFormsOfAMessageAreTheSame(t *testing.T) {
	want := Message{
		ID: "m1", RoomID: "r1", Text: "@hermes hello",
		Sent: At(time.UnixMilli(1796055817178).UTC()), Updated: At(time.UnixMilli(1796055817203).UTC()),
		Sender:   User{ID: "u1", Username: "alice", Name: "Alice"},
		Mentions: []User{{ID: "b1", Username: "hermes", Name: "Hermes"}}, MentionsSet: true,
	}
	for name, src := range map[string]string{"ddp": liveMessage, "rest": restMessage} {
		if d := cmp.Diff(want, decode(t, src)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// with is an ordinary message with one more field.
func with(field string) string {
	return `{"_id":"m1","rid":"r1","msg":"hello","ts":{"$date":1000},"u":{"_id":"u1"},` + field + `}`
}

func TestMarksOfAMessageThatWasPublishedAgain(t *testing.T) {
	for _, c := range []struct {
		what, field string
		want        Touch
	}{
		{"nothing", `"channels":[]`, 0},
		{"edit", `"editedAt":{"$date":2000},"editedBy":{"_id":"u1","username":"alice"}`, TouchEdited},
		{"edit by another", `"editedAt":{"$date":2000},"editedBy":{"_id":"u2","username":"alice"}`, TouchEdited | TouchRewritten},
		{"edit by somebody who isn't named", `"editedAt":{"$date":2000},"editedBy":{"username":"bob"}`, TouchEdited},
		{"edit over REST", `"editedAt":"2026-11-30T16:23:37.178Z"`, TouchEdited},
		{"edit without a time", `"editedBy":{"_id":"u1"}`, TouchEdited},
		{"edit at an odd time", `"editedAt":"yesterday"`, TouchEdited},
		{"never edited, said by null", `"editedAt":null,"editedBy":null`, 0},
		{"never edited, said by Meteor", `"editedAt":{"$date":null}`, 0},
		{"reaction", `"reactions":{":+1:":{"usernames":["bob"]}}`, TouchReaction},
		{"last reaction taken back, as an object", `"reactions":{}`, TouchReaction},
		{"last reaction taken back, as a list", `"reactions":[]`, TouchReaction},
		{"no reactions, said by null", `"reactions":null`, 0},
		{"reply in its thread", `"tcount":1,"tlm":{"$date":2000},"replies":["u2"]`, TouchThread},
		{"thread followed", `"replies":["u2"]`, TouchThread},
		{"thread unfollowed", `"replies":[]`, TouchThread},
		{"pin", `"pinned":true,"pinnedAt":{"$date":2000},"pinnedBy":{"_id":"u2"}`, TouchPinned},
		{"unpin", `"pinned":false,"pinnedAt":{"$date":2000}`, TouchPinned},
		{"never pinned", `"pinned":false`, 0},
		{"star", `"starred":[{"_id":"u2"}]`, TouchStarred},
		{"star taken back", `"starred":[]`, TouchStarred},
		{"discussion grew", `"drid":"r2","dcount":3,"dlm":{"$date":2000}`, TouchDiscussion},
		{"translated", `"translations":{"de":"hallo"}`, TouchTranslated},
		{"address found", `"urls":[{"url":"https://example.org/"}]`, 0},
		{"address looked at", `"urls":[{"url":"https://example.org/","meta":{"title":"x"}}]`, TouchPreview},
		{"address looked at in vain", `"urls":[{"url":"https://example.org/","meta":{},"headers":{}}]`, 0},
		{"address parsed", `"urls":[{"url":"https://a.org/"},{"url":"https://b.org/","parsedUrl":{"host":"b.org"}}]`, TouchPreview},
		{"several", `"reactions":{},"tcount":1,"editedAt":{"$date":5}`, TouchReaction | TouchThread | TouchEdited},
	} {
		if got := decode(t, with(c.field)).Touched; got != c.want {
			t.Errorf("%s: marks %b, want %b", c.what, got, c.want)
		}
	}
	if !(TouchEdited | TouchPinned).Has(TouchPinned) || TouchEdited.Has(TouchPinned|TouchStarred) {
		t.Error("Has answers for other marks")
	}
}

func TestWhoWroteAMessageAndHow(t *testing.T) {
	for _, c := range []struct {
		what, field string
		ok          func(Message) bool
	}{
		{"system note", `"t":"ru"`, func(m Message) bool { return m.Type == "ru" && !m.Encrypted }},
		{"deleted root", `"t":"rm"`, func(m Message) bool { return m.Type == "rm" }},
		{"encrypted by type", `"t":"e2e","e2e":"pending"`, func(m Message) bool { return m.Encrypted }},
		{"encrypted by mark", `"e2e":"done"`, func(m Message) bool { return m.Encrypted }},
		{"webhook", `"bot":{"i":"x1"},"alias":"Alice"`, func(m Message) bool { return m.Automated && m.Alias == "Alice" && m.Sender.ID == "u1" }},
		{"webhook without id", `"bot":true`, func(m Message) bool { return m.Automated }},
		{"no bot", `"bot":null`, func(m Message) bool { return !m.Automated }},
		{"shown to one alone", `"private":true`, func(m Message) bool { return m.Ephemeral }},
		{"thread", `"tmid":"m0","tshow":true`, func(m Message) bool { return m.Thread == "m0" && m.AlsoInRoom }},
		{"nobody mentioned", `"mentions":[]`, func(m Message) bool { return m.MentionsSet && len(m.Mentions) == 0 }},
		{"mentions not said", `"channels":[]`, func(m Message) bool { return !m.MentionsSet }},
		{"mentions null", `"mentions":null`, func(m Message) bool { return !m.MentionsSet }},
		{"team", `"mentions":[{"_id":"t1","name":"hermes","type":"team"}]`, func(m Message) bool { return m.Mentions[0].Type == "team" }},
		{"odd mention skipped", `"mentions":[7,"x",null,{},{"_id":"b1"}]`, func(m Message) bool { return len(m.Mentions) == 1 && m.Mentions[0].ID == "b1" }},
		{"file of old servers", `"file":{"_id":"f1","name":"a.pdf","type":"application/pdf"}`, func(m Message) bool { return m.File.Name == "a.pdf" }},
		{"files", `"files":[{"_id":"f1","size":12},{"_id":"f2","size":1.2e1},null]`, func(m Message) bool { return len(m.Files) == 2 && m.Files[1].Size == 12 }},
		{"quote", `"attachments":[{"text":"said","author_name":"bob","message_link":"https://x/y?msg=1"}]`, func(m Message) bool { return m.Attachments[0].AuthorName == "bob" }},
		{"links", `"urls":[{"url":"https://a.org/"},{"x":1},{"url":"https://b.org/"}]`, func(m Message) bool { return strings.Join(m.Links, " ") == "https://a.org/ https://b.org/" }},
	} {
		if m := decode(t, with(c.field)); !c.ok(m) {
			t.Errorf("%s: %+v", c.what, m)
		}
	}
}

// One odd field must not hide what a person wrote.
func TestOddFieldsAreAbsent(t *testing.T) {
	for _, field := range []string{
		`"alias":7`, `"tmid":{}`, `"t":null`, `"bot":0`, `"mentions":{}`, `"mentions":"x"`, `"file":[]`, `"files":{}`, `"attachments":"x"`,
		`"attachments":[null,1,"x",[]]`, `"urls":7`, `"urls":[7,[]]`, `"_updatedAt":"soon"`, `"editedBy":""`, `"private":false`, `"content":{}`,
		`"e2e":false`, `"tshow":[]`, `"pinned":{}`, `"reactions":null`, `"customFields":{"_id":"evil","msg":"evil"}`, `"md":[{"msg":"evil"}]`, `"_ID":"evil","MSG":"evil"`,
	} {
		m := decode(t, with(field))
		want := Message{ID: "m1", RoomID: "r1", Text: "hello", Sent: At(time.UnixMilli(1000).UTC()), Sender: User{ID: "u1"}}
		want.MentionsSet = m.MentionsSet
		if d := cmp.Diff(want, m); d != "" || m.MentionsSet {
			t.Errorf("%s: (-want +got)\n%s", field, d)
		}
	}
	odd := decode(t, `{"_id":"m1","rid":"r1","msg":["x"],"ts":"never","u":"alice"}`)
	if d := cmp.Diff(Message{ID: "m1", RoomID: "r1"}, odd); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestTextIsWhatWasWritten(t *testing.T) {
	for _, want := range []string{
		"", "plain", "a\nb\tc", `"quoted" \ back`, "zero \u0000", "日本語 👍🏽", "\u202e\u200b\ufeff", "</script>", "\ufffd", strings.Repeat("x", 5000),
	} {
		b, err := json.Marshal(map[string]string{"_id": "m1", "rid": "r1", "msg": want})
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, string(b)).Text; got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
	if got := decode(t, "{\"_id\":\"m1\",\"rid\":\"r1\",\"msg\":\"a\xffb\"}").Text; got != "a\ufffdb" {
		t.Errorf("bytes that are no text became %q", got)
	}
	if got := decode(t, `{"\u005fid":"m1","rid":"r1","ms\u0067":"x"}`); got.Text != "x" {
		t.Errorf("escaped keys: %+v", got)
	}
	if got := decode(t, `{"_id":"m0","_id":"m1","rid":"r1","u":{"_id":"u1","name":"A"},"u":{"_id":"u2"}}`); got.ID != "m1" || got.Sender != (User{ID: "u2"}) {
		t.Errorf("the last of two counts, whole: %+v", got)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	for _, src := range []string{
		``, ` `, `null`, `7`, `"x"`, `[]`, `{}`, `{`, `{"_id":"m1"}`, `{"rid":"r1"}`, `{"_id":"","rid":"r1"}`, `{"_id":7,"rid":"r1"}`,
		`{"_id":"m1","rid":"r1"`, `{"_id":"m1","rid":"r1"}}`, `{"_id":"m1" "rid":"r1"}`, `{'_id':'m1'}`, strings.Repeat("[", 20000),
	} {
		var m Message
		if err := m.UnmarshalJSON([]byte(src)); err == nil {
			t.Errorf("%.40q was read as %+v", src, m)
		} else if strings.Contains(err.Error(), "m1") {
			t.Errorf("the error quotes what was sent: %v", err)
		}
	}
}

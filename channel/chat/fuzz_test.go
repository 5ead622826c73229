package chat

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// reference reads what a message can't do without by encoding/json alone.
type reference struct {
	m  map[string]json.RawMessage
	ok bool
}

func byEncodingJSON(b []byte) (r reference) {
	b = bytes.TrimSpace(b)
	r.ok = len(b) > 0 && b[0] == '{' && json.Unmarshal(b, &r.m) == nil
	return r
}

func (r reference) text(key string) (s string) {
	if v := r.m[key]; len(v) > 0 && v[0] == '"' {
		_ = json.Unmarshal(v, &s)
	}
	return s
}

// FuzzMessage: whatever bytes come, decoding neither panics nor takes another
// message for the one that was sent. encoding/json is the judge of what that
// is.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(liveMessage))
	f.Add([]byte(restMessage))
	f.Add([]byte(with(`"editedAt":{"$date":null},"reactions":[],"mentions":[{"_id":"b1"},7],"urls":[{"url":"x","meta":{"a":[{}]}}]`)))
	f.Add([]byte(`{"_id":"m1","rid":"r1","ms\u0067":"a\ud800\"b","u":{"_id":"u1","_id":"u2"},"u":{}}`))
	f.Add([]byte(" {\"_id\":\"m1\" , \"rid\"\t:\"r1\",\"msg\":\"\xff\\u0000\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		err := m.UnmarshalJSON(b)
		want := byEncodingJSON(b)
		if ok := want.ok && want.text("_id") != "" && want.text("rid") != ""; ok != (err == nil) {
			t.Fatalf("read %t, want %t: %v", err == nil, ok, err)
		}
		if err == nil {
			same(t, m, want)
		}
		_, _, _ = ParseEvent([]json.RawMessage{b})
		_, _, _ = ParseEvent([]json.RawMessage{json.RawMessage(`{"_id":"m","rid":"r"}`), b})
		var r Room
		_ = r.UnmarshalJSON(b)
		walkAll(value(b), 0)
	})
}

func same(t *testing.T, m Message, want reference) {
	t.Helper()
	for key, got := range map[string]string{
		"_id": m.ID, "rid": m.RoomID, "msg": m.Text, "alias": m.Alias, "tmid": m.Thread, "t": m.Type,
	} {
		if want := want.text(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%s is no text: %q", key, got)
		}
	}
	if sender := byEncodingJSON(want.m["u"]); m.Sender.ID != sender.text("_id") {
		t.Errorf("sender is %q, want %q", m.Sender.ID, sender.text("_id"))
	}
	if v := want.m["mentions"]; m.MentionsSet != (len(v) > 0 && v[0] == '[') {
		t.Errorf("mentions there: %t", m.MentionsSet)
	}
	if v := want.m["editedBy"]; len(v) > 0 && v[0] == '{' && len(byEncodingJSON(v).m) > 0 && !m.Touched.Has(TouchEdited) {
		t.Error("an edit is not seen")
	}
}

// walkAll goes over bytes that may be no JSON at all: it has to end.
func walkAll(v value, depth int) {
	if depth > 20 {
		return
	}
	for _, open := range "{[" {
		for w, n := v.walk(byte(open)), 0; ; n++ {
			e, ok := w.next()
			if !ok {
				break
			}
			if n > len(v) || len(e) == 0 {
				panic("a walk that does not move on")
			}
			_, _, _ = e.text(), e.stamp(), e.number()
			walkAll(e, depth+1)
		}
	}
	for fields := v.fields(); ; {
		if _, _, ok := fields.field(); !ok {
			break
		}
	}
}

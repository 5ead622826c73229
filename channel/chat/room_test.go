package chat

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func args(t *testing.T, src string) []json.RawMessage {
	t.Helper()
	var a []json.RawMessage
	if err := json.Unmarshal([]byte(src), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEvents(t *testing.T) {
	const m = `{"_id":"m1","rid":"r1"}`
	lab := Context{Known: true, Participant: true, Kind: Channel, RoomName: "lab"}
	for _, c := range []struct {
		what, args string
		want       Context
	}{
		{"ordinary", `[` + m + `,{"roomParticipant":true,"roomType":"c","roomName":"lab"}]`, lab},
		{"a direct room has no name", `[` + m + `,{"roomParticipant":true,"roomType":"d"}]`, Context{Known: true, Participant: true, Kind: Direct}},
		{"a public room never joined", `[` + m + `,{"roomParticipant":false,"roomType":"c","roomName":"lab"}]`, Context{Known: true, Kind: Channel, RoomName: "lab"}},
		{"nested once more (js.SDK#130)", `[[` + m + `,{"roomParticipant":true,"roomType":"c","roomName":"lab"}]]`, lab},
		{"second argument missing (RC#12574)", `[` + m + `]`, Context{}},
		{"second argument null", `[` + m + `,null]`, Context{}},
		{"second argument a list", `[` + m + `,[]]`, Context{}},
		{"membership not said", `[` + m + `,{"roomType":"c"}]`, Context{}},
		{"membership said oddly", `[` + m + `,{"roomParticipant":"true","roomType":"c"}]`, Context{}},
		{"kind not said", `[` + m + `,{"roomParticipant":true,"roomName":"lab"}]`, Context{}},
		{"kind said oddly", `[` + m + `,{"roomParticipant":true,"roomType":["c"]}]`, Context{}},
		{"kinds to come are kept", `[` + m + `,{"roomParticipant":true,"roomType":"z"}]`, Context{Known: true, Participant: true, Kind: "z"}},
		{"more arguments to come", `[` + m + `,{"roomParticipant":true,"roomType":"c","roomName":"lab"},7]`, lab},
	} {
		got, where, err := ParseEvent(args(t, c.args))
		if err != nil || got.ID != "m1" || where != c.want {
			t.Errorf("%s: %v, %+v", c.what, err, where)
		}
	}
	for _, src := range []string{`[]`, `[[]]`, `[[[[]]]]`, `[null]`, `[7]`, `["x",{}]`, `[{}]`, `[{"_id":"m1"},{"roomParticipant":true,"roomType":"c"}]`} {
		if m, _, err := ParseEvent(args(t, src)); err == nil {
			t.Errorf("%s was read as %+v", src, m)
		}
	}
	if _, _, err := ParseEvent([]json.RawMessage{json.RawMessage(`[`)}); err == nil {
		t.Error("half a list was read")
	}
}

func TestOneToOne(t *testing.T) {
	for _, c := range []struct {
		room, a, b string
		want       bool
	}{
		{"aaabbb", "aaa", "bbb", true},
		{"aaabbb", "bbb", "aaa", true},
		{"bbbaaa", "aaa", "bbb", false}, // not in order
		{"aaabb", "aaa", "bbb", false},
		{"aaabbbccc", "aaa", "bbb", false},
		{"aaabbb", "aaa", "ccc", false},
		{"aaa", "aaa", "", false},
		{"", "", "", false},
		{"abab", "aba", "b", true}, // ids of any length
		{"aaaaaa", "aaa", "aaa", true},
	} {
		if got := OneToOne(c.room, c.a, c.b); got != c.want {
			t.Errorf("OneToOne(%q, %q, %q) = %t", c.room, c.a, c.b, got)
		}
	}
}

func TestRooms(t *testing.T) {
	const src = `{"_id":"r1","t":"d","fname":"Alice","usersCount":3,"uids":["a",7,"b","c"],"usernames":["x","y","z"],"ro":true,"archived":false,
		"encrypted":true,"prid":"r0","_updatedAt":"2026-11-30T16:23:37.203Z","lastMessage":{"_id":"m1","rid":"r1","msg":"hi"}}`
	var got Room
	if err := json.Unmarshal([]byte(src), &got); err != nil {
		t.Fatal(err)
	}
	want := Room{
		ID: "r1", Kind: Direct, FullName: "Alice", UsersCount: 3, UserIDs: []string{"a", "b", "c"}, Usernames: []string{"x", "y", "z"},
		ReadOnly: true, Encrypted: true, Parent: "r0", Updated: At(time.UnixMilli(1796055817203).UTC()),
		Last: &Message{ID: "m1", RoomID: "r1", Text: "hi"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// What stands oddly in a room is absent; the room is still there.
	for _, field := range []string{`"lastMessage":{}`, `"lastMessage":7`, `"usersCount":"many"`, `"uids":null`, `"ro":1`, `"name":{}`, `"_updatedAt":[]`} {
		var r Room
		if err := json.Unmarshal([]byte(`{"_id":"r1","t":"c",`+field+`}`), &r); err != nil || !cmp.Equal(r, Room{ID: "r1", Kind: Channel}) {
			t.Errorf("%s: %v, %+v", field, err, r)
		}
	}
	for _, src := range []string{`7`, `[]`, `"x"`} {
		var r Room
		if err := json.Unmarshal([]byte(src), &r); err == nil {
			t.Errorf("%s was read as a room", src)
		}
	}
}

func TestStamps(t *testing.T) {
	at := time.Date(2026, 11, 30, 16, 23, 37, 178e6, time.UTC)
	for src, want := range map[string]time.Time{
		`{"$date":1796055817178}`:              at,
		`{"$date" : 1796055817178 }`:           at,
		`{"$date":1796055817178.9}`:            at,
		`{"$date":1.796055817178e12}`:          at,
		`1796055817178`:                        at,
		`"2026-11-30T16:23:37.178Z"`:           at,
		`"2026-11-30T17:23:37.178+01:00"`:      at,
		`{"$date":"2026-11-30T16:23:37.178Z"}`: at,
		`{"$date":0}`:                          time.UnixMilli(0).UTC(),
		`{"$date":-1}`:                         time.UnixMilli(-1).UTC(),
		`null`:                                 {},
		`""`:                                   {},
		`"soon"`:                               {},
		`{}`:                                   {},
		`[]`:                                   {},
		`true`:                                 {},
		`{"$date":null}`:                       {},
		`{"$date":{"$date":1}}`:                {},
		`{"$date":9e99}`:                       {},
		`{"$date":9223372036854775807}`:        {},
		`{"$date":253402300800000}`:            {}, // the year 10000
	} {
		var got Stamp
		if err := json.Unmarshal([]byte(src), &got); err != nil || !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%s: %v, %v, want %v", src, err, got, want)
		}
	}
	b, err := json.Marshal([]Stamp{At(at), {}})
	if err != nil || string(b) != `[{"$date":1796055817178},{"$date":null}]` {
		t.Errorf("written as %s, %v", b, err)
	}
	if got := At(at.In(time.FixedZone("", 3600))).ISO(); got != "2026-11-30T16:23:37.178Z" {
		t.Errorf("ISO: %s", got)
	}
}

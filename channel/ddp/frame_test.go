package ddp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// message is an event of about one kilobyte, as a server publishes it.
var message = `{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[` +
	`{"_id":"9mXqPMzP6TsYyWSnK","alias":"","msg":"@hermes hello, could you look at the \"staging\" logs? ` + strings.Repeat("words and words ", 20) + `",` +
	`"attachments":[],"parseUrls":true,"groupable":false,"ts":{"$date":1796055817178},` +
	`"u":{"_id":"aKzJ5dXbCSTuN9jKm","username":"alice","name":"Alice"},"rid":"GENERAL","mentions":[{"_id":"hQ4xvXZ8sdTgSJk9B","username":"hermes","name":"Hermes"}],` +
	`"channels":[],"md":[{"type":"PARAGRAPH","value":[{"type":"MENTION_USER","value":{"type":"PLAIN_TEXT","value":"hermes"}},{"type":"PLAIN_TEXT","value":" hello"}]}],` +
	`"_updatedAt":{"$date":1796055817203}},{"roomParticipant":true,"roomType":"c","roomName":"lab"}]}}`

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want frame
	}{
		"Meteor's banner":     {`{"server_id":"0"}`, frame{}},
		"the streamer's":      {`{"msg":"server_id","server_id":"0"}`, frame{msg: []byte(`"server_id"`)}},
		"connected":           {` { "msg" : "connected" , "session" : "x" } ` + "\n", frame{msg: []byte(`"connected"`)}},
		"a ping":              {`{"msg":"ping"}`, frame{msg: []byte(`"ping"`)}},
		"a ping with an id":   {`{"msg":"ping","id":"7"}`, frame{msg: []byte(`"ping"`), id: []byte(`"7"`)}},
		"ready":               {`{"msg":"ready","subs":["s1"]}`, frame{msg: []byte(`"ready"`), subs: []byte(`["s1"]`)}},
		"the last one counts": {`{"msg":"ping","msg":"pong"}`, frame{msg: []byte(`"pong"`)}},
		"an escaped key":      {`{"m\u0073g":"ping"}`, frame{msg: []byte(`"ping"`)}},
		"another case":        {`{"MSG":"ping"}`, frame{}},
		"odd types":           {`{"msg":1,"id":{},"fields":[1],"subs":null}`, frame{msg: []byte(`1`), id: []byte(`{}`), subs: []byte(`null`)}},
		"an empty object":     {`{}`, frame{}},
		"a refused login": {
			`{"msg":"result","id":"m1","error":{"error":403}}`,
			frame{msg: []byte(`"result"`), id: []byte(`"m1"`), err: []byte(`{"error":403}`)},
		},
		"an event": {
			`{"msg":"changed","collection":"c","fields":{"eventName":"e","args":[1,{"a":[]}],"x":0}}`,
			frame{msg: []byte(`"changed"`), collection: []byte(`"c"`), event: []byte(`"e"`), args: []byte(`[1,{"a":[]}]`)},
		},
		"fields twice": {`{"fields":{"eventName":"e"},"fields":{}}`, frame{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(frame{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	if _, err := decode([]byte(deep(maxDepth))); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	for _, in := range []string{
		"", " ", "o", "null", "[]", `"x"`, "1", "{", "}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`,
		`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":+1}`, `{"a":-}`, `{"a":tru}`, `{"a":nul}`, `{"a":True}`, `{a:1}`, `{'a':1}`,
		`{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12"}`, "{\"a\":\"\n\"}", `{"a":"`, `{"a":"\`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[}`, `{"a":[`, `a["{}"]`,
		deep(maxDepth + 1), "<html><body>502 Bad Gateway</body></html>",
	} {
		if f, err := decode([]byte(in)); err == nil {
			t.Errorf("%.40q was taken for %+v", in, f)
		}
	}
}

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"two":         {`[{"_id":"a"}, {"roomType":"c"} ]`, []string{`{"_id":"a"}`, `{"roomType":"c"}`}},
		"one":         {`[{"_id":"a"}]`, []string{`{"_id":"a"}`}},
		"nested":      {`[[{"_id":"a"},{"roomType":"c"}]]`, []string{`{"_id":"a"}`, `{"roomType":"c"}`}},
		"nested more": {`[[["a"]]]`, []string{`["a"]`}},
		"none":        {`[]`, nil},
		"no list":     {`{"_id":"a"}`, nil},
		"missing":     {``, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(c.in)
			list := arguments(in)
			clear(in) // they may be kept
			var got []string
			for _, a := range list {
				got = append(got, string(a))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzFrame holds the scanner to encoding/json: what one takes the other takes,
// and both read the same out of it.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		message, `{"server_id":"0"}`, `{"msg":"result","id":"m1","error":{"error":403,"details":{"timeToReset":1.5e3}}}`,
		`{"msg":"ready","subs":["s1","\u0073\ud83d\ude00"]}`, `{"msg":"changed","fields":{"args":[[null,true,-0.1E+2]]},"fields":null}`, `{"a":[{},[],"\\"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := bytes.Clone(in)
		got, err := decode(in)
		if !bytes.Equal(in, whole) {
			t.Fatal("decode wrote to its input")
		}
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(in, &want)
		isObject := wantErr == nil && want != nil
		if (err == nil) != isObject {
			if err != nil && depth(in) > maxDepth {
				return
			}
			t.Fatalf("decode says %v, encoding/json %v", err, wantErr)
		}
		if err != nil {
			return
		}
		for key, value := range map[string][]byte{"msg": got.msg, "id": got.id, "subs": got.subs, "result": got.result, "error": got.err} {
			if !bytes.Equal(value, want[key]) {
				t.Errorf("%s is %q, want %q", key, value, want[key])
			}
		}
		args := arguments(got.args)
		if !bytes.Equal(in, whole) {
			t.Fatal("arguments wrote to its input")
		}
		for _, a := range args {
			if !json.Valid(a) {
				t.Errorf("argument %q", a)
			}
		}
	})
}

// depth is the greatest number of brackets open at once, those in strings too.
func depth(b []byte) int {
	open, most := 0, 0
	for _, c := range b {
		switch c {
		case '{', '[':
			open++
			most = max(most, open)
		case '}', ']':
			open--
		}
	}
	return most
}

// The baseline is what one would write without a scanner.
func BenchmarkDecode(b *testing.B) {
	in := []byte(message)
	b.Logf("a frame of %d bytes", len(in))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			f, err := decode(in)
			if err != nil || !is(f.collection, "stream-room-messages") || !is(f.event, "__my_messages__") || len(arguments(f.args)) != 2 {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			var f struct {
				Msg, Collection string
				Fields          struct {
					EventName string
					Args      []json.RawMessage
				}
			}
			if err := json.Unmarshal(in, &f); err != nil || f.Fields.EventName != "__my_messages__" || len(f.Fields.Args) != 2 {
				b.Fatal(err)
			}
		}
	})
	b.Run("ours-ignored", func(b *testing.B) { // another collection's frame: most of a busy server's
		in := bytes.Replace(in, []byte("stream-room-messages"), []byte("stream-notify-logged"), 1)
		b.ReportAllocs()
		for b.Loop() {
			if f, err := decode(in); err != nil || is(f.collection, "stream-room-messages") {
				b.Fatal(err)
			}
		}
	})
}

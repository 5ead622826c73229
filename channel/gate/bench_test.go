package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// crowd is an access with so many people and rooms beside those of [access].
func crowd(n int) *Policy {
	a := access()
	for i := range n {
		a.People = append(a.People, profile.Person{ID: fmt.Sprintf("u%016d", i), Role: profile.Member})
		a.Rooms = append(a.Rooms, profile.Room{ID: fmt.Sprintf("r%016d", i)})
	}
	return Compile(a, nil)
}

// long is a question of 1 kB that says nothing of who is mentioned, so that
// its text has to be read.
func long() chat.Message {
	m := hello()
	m.Text = strings.Repeat("a line of `code` and [text](https://example.org), for mail@hermes\n", 15) + "@hermes what does it do?"
	m.Mentions, m.MentionsSet = nil, false
	return m
}

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct {
		name string
		m    chat.Message
		p    *Policy
	}{
		{"2 people", hello(), crowd(2)},
		{"10000 people", hello(), crowd(10000)},
		{"1 kB by text", long(), crowd(2)},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := facts()
			f.Policy = c.p
			b.ReportAllocs()
			for b.Loop() {
				if v := Decide(c.m, f); v.Action != Ask {
					b.Fatal(v)
				}
			}
		})
	}
}

// realistic is an event of 1 kB with the syntax tree of newer servers.
func realistic() []json.RawMessage {
	text, _ := json.Marshal("@hermes could you look at last night's build?\n\n```\n" + strings.Repeat("step 2: exit status 1 at main.go:42\n", 8) + "```")
	event := fmt.Sprintf(`{"_id":"aB3dE6gH9jK2mN5pQ","alias":"","msg":%s,"attachments":[],"parseUrls":true,"groupable":false,"ts":{"$date":%d},`+
		`"u":{"_id":"uMember","username":"mia","name":"Mia Example"},"rid":"rOn","mentions":[{"_id":"uHermes","username":"hermes","name":"Hermes","type":"user"}],`+
		`"channels":[],"md":[{"type":"PARAGRAPH","value":[{"type":"MENTION_USER","value":{"type":"PLAIN_TEXT","value":"hermes"}},{"type":"PLAIN_TEXT",`+
		`"value":" could you look at last night's build?"}]}],"_updatedAt":{"$date":%d}}`, text, noon.Add(-time.Second).UnixMilli(), noon.UnixMilli())
	return []json.RawMessage{json.RawMessage(event), json.RawMessage(inLab)}
}

// BenchmarkDecodeAndDecide is what each event of a socket costs: the bound is
// 20 µs and 5 kB.
func BenchmarkDecodeAndDecide(b *testing.B) {
	args, f := realistic(), facts()
	b.ReportAllocs()
	b.SetBytes(int64(len(args[0])))
	for b.Loop() {
		m, where, err := chat.ParseEvent(args)
		if err != nil {
			b.Fatal(err)
		}
		f.Room = FromEvent(where)
		if v := Decide(m, f); v.Action != Ask {
			b.Fatal(v)
		}
	}
}

// The baseline: the same bytes through encoding/json, into a map, deciding
// nothing.
func BenchmarkDecodeAndDecideBaseline(b *testing.B) {
	args := realistic()
	b.ReportAllocs()
	b.SetBytes(int64(len(args[0])))
	for b.Loop() {
		var m map[string]any
		if err := json.Unmarshal(args[0], &m); err != nil {
			b.Fatal(err)
		}
	}
}

// What a decision may allocate: the question's text where a mention stood in
// the middle of it, and nothing that grows with people or rooms.
func TestADecisionCostsLittle(t *testing.T) {
	few, many := crowd(2), crowd(10000)
	for name, m := range map[string]chat.Message{"by id": hello(), "by text": long()} {
		for _, p := range []*Policy{few, many} {
			f := facts()
			f.Policy = p
			if n := testing.AllocsPerRun(50, func() { Decide(m, f) }); n > 1 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	}
}

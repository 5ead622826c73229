package chat

import (
	"encoding/json"
	"testing"
)

// Ordinary is one ordinary event of about 1 kB: a mention, an address, a fence,
// and the syntax tree that newer servers add.
const ordinary = `{"_id":"aB3dE6gH9jK2mN5pQ","alias":"","msg":"@hermes could you look at last night's build? It fails in the second step: https://ci.example.org/run/4711\n` +
	"```" + `\nstep 2: exit status 1\n  at main.go:42\n` + "```" + `","attachments":[],"parseUrls":true,"groupable":false,"ts":{"$date":1796055817178},` +
	`"u":{"_id":"u7dE6gH9jK2mN5pQr","username":"alice","name":"Alice Example"},"rid":"GENERALx9jK2mN5pQ",` +
	`"mentions":[{"_id":"b7dE6gH9jK2mN5pQr","username":"hermes","name":"Hermes","type":"user"}],"channels":[],` +
	`"urls":[{"url":"https://ci.example.org/run/4711"}],"md":[{"type":"PARAGRAPH","value":[{"type":"MENTION_USER","value":{"type":"PLAIN_TEXT","value":"hermes"}},` +
	`{"type":"PLAIN_TEXT","value":" could you look at last night's build? It fails in the second step: "},` +
	`{"type":"LINK","value":{"src":{"type":"PLAIN_TEXT","value":"https://ci.example.org/run/4711"}}}]}],"_updatedAt":{"$date":1796055817203}}`

func ordinaryArgs() []json.RawMessage {
	return []json.RawMessage{json.RawMessage(ordinary), json.RawMessage(`{"roomParticipant":true,"roomType":"c","roomName":"lab"}`)}
}

// An ordinary event costs an allocation for each text that is kept and little
// more: on a busy server most events are decoded to be ignored.
func TestAnOrdinaryEventCostsFewAllocations(t *testing.T) {
	args := ordinaryArgs()
	got := testing.AllocsPerRun(100, func() {
		if _, _, err := ParseEvent(args); err != nil {
			t.Fatal(err)
		}
	})
	if got > 25 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkParseEvent(b *testing.B) {
	args := ordinaryArgs()
	b.ReportAllocs()
	b.SetBytes(int64(len(ordinary)))
	for b.Loop() {
		if _, _, err := ParseEvent(args); err != nil {
			b.Fatal(err)
		}
	}
}

// The baseline: what encoding/json costs for the same bytes into the fewest
// fields one could do with.
func BenchmarkParseEventBaseline(b *testing.B) {
	args := ordinaryArgs()
	b.ReportAllocs()
	b.SetBytes(int64(len(ordinary)))
	for b.Loop() {
		var m struct {
			ID       string `json:"_id"`
			RoomID   string `json:"rid"`
			Text     string `json:"msg"`
			Sender   User   `json:"u"`
			Mentions []User `json:"mentions"`
			Sent     struct {
				Date int64 `json:"$date"`
			} `json:"ts"`
			URLs []struct {
				URL string `json:"url"`
			} `json:"urls"`
		}
		if err := json.Unmarshal(args[0], &m); err != nil {
			b.Fatal(err)
		}
	}
}

package pretend

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
)

// hearers makes n bots online in one channel, each with a reader that counts
// the events it gets.
func hearers(b *testing.B, w *world, n int) (Room, *atomic.Int64, func()) {
	room := w.AddChannel("busy", w.alice)
	var heard atomic.Int64
	var wg sync.WaitGroup
	var conns []*websocket.Conn
	for i := range n {
		bot := w.AddUser(fmt.Sprintf("bot%d", i), UserOptions{Bot: true})
		w.Join(room, bot)
	}
	for _, u := range w.Users() {
		if !strings.HasPrefix(u.Username, "bot") {
			continue
		}
		k := w.dial()
		k.online(u)
		conns = append(conns, k.conn)
		wg.Go(func() {
			for {
				if _, _, err := k.conn.ReadMessage(); err != nil {
					return
				}
				heard.Add(1)
			}
		})
	}
	return room, &heard, func() {
		for _, c := range conns {
			c.Close()
		}
		wg.Wait()
	}
}

// BenchmarkPublish posts to 20 bots over TCP and waits until all have heard:
// the load server's own ceiling.
func BenchmarkPublish(b *testing.B) {
	w := newWorld(b, Options{NoLimits: true})
	room, heard, stop := hearers(b, w, 20)
	b.ReportAllocs()
	start, said := heard.Load(), int64(0)
	for b.Loop() {
		w.Say(w.alice, room, "@bot1 what is the answer to this question?")
		for said += 20; said-(heard.Load()-start) > 2000; { // keep the queues short
			runtime.Gosched()
		}
	}
	b.ReportMetric(20*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	stop()
}

// BenchmarkPost is one chat.sendMessage over TCP, which 20 bots hear.
func BenchmarkPost(b *testing.B) {
	w := newWorld(b, Options{NoLimits: true})
	room, _, stop := hearers(b, w, 20)
	b.ReportAllocs()
	for b.Loop() {
		if a := w.post(w.bot, "chat.sendMessage", object{"message": object{"rid": room.ID, "msg": "echo: hello"}}); a.status != 200 {
			b.Fatal(a.status)
		}
	}
	stop()
}

// BenchmarkIdle posts to one bot while a thousand others are only there, each
// in a private room of its own.
func BenchmarkIdle(b *testing.B) {
	w := newWorld(b, Options{NoLimits: true})
	for i := range 1000 {
		u := w.AddUser(fmt.Sprintf("idle%d", i), UserOptions{Bot: true})
		c := ghost(w.Server, u)
		s := &sub{id: "s", session: c, user: w.users[u.ID], topic: topic{roomMessages, myMessages}}
		w.hub.add(s)
	}
	group := w.AddGroup("two", w.alice, w.bot)
	b.ReportAllocs()
	for b.Loop() {
		w.Say(w.alice, group, "hello")
	}
}

// BenchmarkEncode is one event's JSON; encoding/json on the same fields is the
// baseline.
func BenchmarkEncode(b *testing.B) {
	s := New(Options{})
	defer s.Close()
	alice := s.AddUser("alice", UserOptions{})
	m := s.Say(alice, s.AddChannel("lab", alice), "@alice what is the answer to this question?")
	b.Run("doc", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(make([]byte, 0, 512), m.doc(s.v), onSocket)
		}
	})
	var baseline map[string]any
	if err := json.Unmarshal(encode(nil, m.doc(s.v), onSocket), &baseline); err != nil {
		b.Fatal(err)
	}
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(baseline); err != nil {
				b.Fatal(err)
			}
		}
	})
}

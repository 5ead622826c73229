package channel

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// BenchmarkFrameToAnswer is from a person's word to the answer of an echo bot
// being in the room: all that a channel does for it, on disk. The baselines are
// the same with a store in memory, and a bare bot, which answers what it hears
// and remembers nothing.
func BenchmarkFrameToAnswer(b *testing.B) {
	b.Run("durable", func(b *testing.B) {
		frameToAnswer(b, func(b *testing.B, st *stand) func() { return open(b, st, Env{}) })
	})
	b.Run("in memory", func(b *testing.B) {
		frameToAnswer(b, func(b *testing.B, st *stand) func() {
			return open(b, st, Env{Store: func(string, string) (dedup.Store, error) { return dedup.NewMemory(), nil }})
		})
	})
	b.Run("bare", func(b *testing.B) { frameToAnswer(b, openBare) })
}

func frameToAnswer(b *testing.B, open func(*testing.B, *stand) (stop func())) {
	server := pretend.New(pretend.Options{NoLimits: true})
	defer server.Close()
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	user := server.AddUser("bot", pretend.UserOptions{Bot: true})
	bot := stallBot{ID: user.ID, Token: user.Token}
	var people []*asking // many: one has no more than 10,000 answers an hour
	for i := range 100 {
		u := server.AddUser(fmt.Sprint("person", i), pretend.UserOptions{})
		people = append(people, &asking{user: u, room: server.AddDirect(user, u)})
		bot.People = append(bot.People, u.ID)
	}
	defer open(b, &stand{opened: opened{URL: url, Bots: []stallBot{bot}}})()
	n := 0
	ask := func() time.Duration {
		a, round := people[n%len(people)], n/len(people)
		n++
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		server.Say(a.user, a.room, "an ordinary question")
		if server.Await(ctx, func() bool { return len(server.Messages(a.room)) == 2*round+2 }) != nil {
			b.Fatalf("no answer to question %d: %d messages in its room", n, len(server.Messages(a.room)))
		}
		return time.Since(began)
	}
	for range people {
		ask()
	}
	var took []time.Duration
	for b.Loop() {
		took = append(took, ask())
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "median-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "most-ms")
}

// BenchmarkConversations is 200 people who talk with one echo bot at once, each
// in a conversation of their own and again as soon as they are answered; the
// server and the people are another process. It tells how many are answered in a
// second, how much live memory a conversation adds to a bot that is online, and
// how much more of it there is after each has gone on for twenty questions. The
// baseline is a bare bot. Run it with -benchtime 1x.
func BenchmarkConversations(b *testing.B) {
	const people, rounds = 200, 20
	measure := func(b *testing.B, open func(*testing.B, *stand) (stop func())) {
		st := openStand(b, stall{Bots: 1, People: people})
		stop := open(b, st)
		quiet := live()
		st.ask(b, 2*people)
		begun := live()
		took := st.ask(b, rounds*people)
		b.ReportMetric(float64(rounds*people)/took.Seconds(), "answers/s")
		b.ReportMetric(float64(begun-quiet)/people/1024, "kB/conversation")
		b.ReportMetric(float64(live()-begun)/people/1024, "kB-more/conversation")
		b.ReportMetric(0, "ns/op")
		stop()
	}
	b.Run("durable", func(b *testing.B) {
		measure(b, func(b *testing.B, st *stand) func() { return open(b, st, Env{}) })
	})
	b.Run("bare", func(b *testing.B) { measure(b, openBare) })
}

// openBare runs bare bots until all are online; what it returns ends them.
func openBare(_ *testing.B, st *stand) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var runs, online sync.WaitGroup
	for _, bot := range st.Bots {
		online.Add(1)
		runs.Go(func() { bare(ctx, st.URL, bot, &online) })
	}
	online.Wait()
	return func() { cancel(); runs.Wait() }
}

// live is how much memory is in use after a collection.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

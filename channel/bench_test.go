package channel

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/collector"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// An idle link is a supervisor that lets everything happen, but for dials: as
// any, it has at most four to a server at once.
type idleLink struct {
	commands chan Command
	online   chan struct{}
	dials    chan struct{}
	once     sync.Once
}

func newIdleLink(dials chan struct{}) *idleLink {
	return &idleLink{commands: make(chan Command, 4), online: make(chan struct{}), dials: dials}
}

func (l *idleLink) Report(r Report) {
	if !r.OnlineSince.IsZero() && !r.CatchingUp {
		l.once.Do(func() {
			close(l.online)
			<-l.dials
		})
	}
}
func (l *idleLink) Log(Record)               {}
func (l *idleLink) Commands() <-chan Command { return l.commands }
func (l *idleLink) Allow(_ context.Context, p Permit) error {
	if p.Kind == PermitDial {
		l.dials <- struct{}{}
	}
	return nil
}
func (l *idleLink) Ask(context.Context, Request) (Reply, error) { return Reply{}, nil }
func (l *idleLink) Spawn(context.Context, agent.Spec) (agent.Process, error) {
	panic("no processes here")
}

// startOf is the start of a bot of a stand.
func startOf(b *testing.B, st *stand, bot stallBot) Start {
	settings, err := profile.ParseSettings("channel.yaml", []byte("agent:\n  kind: echo\nlimits:\n  answers_per_hour: 10000\n"))
	if err != nil {
		b.Fatal(err)
	}
	access := profile.DefaultAccess()
	for _, id := range bot.People {
		access.People = append(access.People, profile.Person{ID: id, Role: profile.Member})
	}
	home := b.TempDir()
	if err := os.MkdirAll(filepath.Dir(StateFile(home)), 0o700); err != nil {
		b.Fatal(err)
	}
	return Start{
		Profile: "bot", Home: home, Run: 1, Settings: settings, Access: access, CA: st.CA,
		Credentials: sealed.Credentials{
			Server: st.URL, UserID: bot.ID, Token: sealed.NewSecret(bot.Token), PostKey: sealed.NewSecret(bot.ID),
		},
	}
}

// pace has this process collected as whatever runs channels is, until b is over.
func pace(b *testing.B) {
	var pacing sync.WaitGroup
	over := make(chan struct{})
	pacing.Go(func() { collector.Run(over) })
	b.Cleanup(func() {
		close(over)
		pacing.Wait()
	})
}

// open runs the channels of a stand until all are online; what it returns ends
// them.
func open(b *testing.B, st *stand, env Env) (stop func()) {
	b.Helper()
	var runs sync.WaitGroup
	var links []*idleLink
	dials := make(chan struct{}, healthcheck.DialsPerServer)
	for _, bot := range st.Bots {
		start, link := startOf(b, st, bot), newIdleLink(dials)
		links = append(links, link)
		runs.Go(func() {
			if err := env.Run(context.Background(), start, link); err != nil {
				b.Error(err)
			}
		})
		link.commands <- Connect{Number: 1}
	}
	for _, l := range links {
		<-l.online
	}
	return func() {
		for _, l := range links {
			l.commands <- Stop{}
		}
		runs.Wait()
	}
}

// BenchmarkFrameToAgent is from a person's word to the agent being called: the
// frame, the gate, the claim and the mark that it is given, both on disk. The
// baseline is the same with a store in memory.
func BenchmarkFrameToAgent(b *testing.B) {
	b.Run("durable", func(b *testing.B) {
		pace(b)
		frameToAgent(b, nil)
	})
	b.Run("in memory", func(b *testing.B) {
		frameToAgent(b, func(string, string) (dedup.Store, error) { return dedup.NewMemory(), nil })
	})
}

// A called agent says when.
type called struct {
	agent.Echo
	at chan time.Time
}

func (c called) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	c.at <- time.Now()
	return c.Echo.Begin(ctx, q)
}

func frameToAgent(b *testing.B, store func(string, string) (dedup.Store, error)) {
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
	st := &stand{opened: opened{URL: url, Bots: []stallBot{bot}}}
	hears := called{at: make(chan time.Time, 1)}
	stop := open(b, st, Env{Store: store, Agent: func(Start, Link) (agent.Agent, error) { return hears, nil }})
	defer stop()
	n := 0
	ask := func() time.Duration {
		a := people[n%len(people)]
		n++
		began := time.Now()
		server.Say(a.user, a.room, "an ordinary question")
		return (<-hears.at).Sub(began)
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
}

// BenchmarkDecodeAndGate is a message that is none of the bot's business, from
// its frame's arguments to its being ignored: most of what a busy server says.
// The baseline is what encoding/json takes to read the same.
func BenchmarkDecodeAndGate(b *testing.B) {
	args := []json.RawMessage{
		json.RawMessage(`{"_id":"aB3dE6gH9jK2mN5pQ","alias":"","msg":"could somebody look at last night's build? It fails in the second step: https://ci.example.org/run/4711","attachments":[],"parseUrls":true,"groupable":false,"ts":{"$date":4102444800000},"u":{"_id":"u7dE6gH9jK2mN5pQr","username":"alice","name":"Alice Example"},"rid":"GENERALx9jK2mN5pQ","mentions":[],"channels":[],"urls":[{"url":"https://ci.example.org/run/4711"}],"_updatedAt":{"$date":4102444800009}}`),
		json.RawMessage(`{"roomParticipant":true,"roomType":"c","roomName":"lab"}`),
	}
	b.Run("ours", func(b *testing.B) {
		settings, err := profile.ParseSettings("channel.yaml", []byte("agent:\n  kind: echo\n"))
		if err != nil {
			b.Fatal(err)
		}
		access := profile.DefaultAccess()
		access.Rooms = []profile.Room{{ID: "GENERALx9jK2mN5pQ", Mention: true}}
		l, err := begin(b.Context(), Env{
			Store: func(string, string) (dedup.Store, error) { return dedup.NewMemory(), nil },
			Agent: func(Start, Link) (agent.Agent, error) { return agent.Echo{}, nil },
		}, &Start{Settings: settings, Access: access, Credentials: sealed.Credentials{Server: "http://localhost", UserID: "bot", Token: sealed.NewSecret("token")}}, newIdleLink(nil))
		if err != nil {
			b.Fatal(err)
		}
		defer l.end()
		b.ReportAllocs()
		for b.Loop() {
			m, where, err := chat.ParseEvent(args)
			if err != nil {
				b.Fatal(err)
			}
			l.hears.heard(m.RoomID, m.Sent.Time)
			h := heard{message: &m, came: l.serverNow()}
			h.room.Known, h.room.Participant, h.room.Kind = where.Known, where.Participant, where.Kind
			l.intake.lead(h)
			l.intake.flush()
		}
		if n := l.tally.snapshot().Ignored["unwoken"]; n == 0 {
			b.Fatal("it was not ignored")
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m, where map[string]any
			if json.Unmarshal(args[0], &m) != nil || json.Unmarshal(args[1], &where) != nil {
				b.Fatal("not read")
			}
		}
	})
}

// BenchmarkSaturation is how many answers 20 echo bots in this process give in a
// second, when each has 32 people who ask again as soon as they are answered;
// the server and the people are another process. Durable is the channel as it
// runs; the baselines are the same with stores in memory, and a bare bot, which
// answers what it hears and remembers nothing. Run it with -benchtime 20000x.
func BenchmarkSaturation(b *testing.B) {
	const bots, people = 20, 32
	measure := func(b *testing.B, open func(*testing.B, *stand) (stop func())) {
		st := openStand(b, stall{Bots: bots, People: people})
		stop := open(b, st)
		st.ask(b, bots*people*2)
		b.ResetTimer()
		took := st.ask(b, b.N)
		b.StopTimer()
		b.ReportMetric(float64(b.N)/took.Seconds(), "answers/s")
		stop()
	}
	b.Run("durable", func(b *testing.B) {
		pace(b)
		measure(b, func(b *testing.B, st *stand) func() { return open(b, st, Env{}) })
	})
	b.Run("in memory", func(b *testing.B) {
		measure(b, func(b *testing.B, st *stand) func() {
			return open(b, st, Env{Store: func(string, string) (dedup.Store, error) { return dedup.NewMemory(), nil }})
		})
	})
	b.Run("bare", func(b *testing.B) {
		measure(b, func(b *testing.B, st *stand) func() {
			ctx, cancel := context.WithCancel(context.Background())
			var runs, online sync.WaitGroup
			for _, bot := range st.Bots {
				online.Add(1)
				runs.Go(func() { bare(ctx, st.URL, bot, &online) })
			}
			online.Wait()
			return func() { cancel(); runs.Wait() }
		})
	})
}

// bare is a bot of the same two wires and nothing between them.
func bare(ctx context.Context, url string, bot stallBot, online *sync.WaitGroup) {
	token := sealed.NewSecret(bot.Token)
	client, err := rest.New(rest.Config{Server: url, UserID: bot.ID, Token: token})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	e := &bareEar{client: client, bot: bot.ID, online: online}
	ddp.Run(ctx, ddp.Config{Server: url, UserID: bot.ID, Token: token}, e)
	e.work.Wait()
}

type bareEar struct {
	client *rest.Client
	bot    string
	online *sync.WaitGroup
	work   sync.WaitGroup
}

func (*bareEar) Connected()        {}
func (e *bareEar) Ready(*ddp.Conn) { e.online.Done() }

func (e *bareEar) Event(event ddp.Event) {
	m, _, err := chat.ParseEvent(event.Args)
	if err != nil || m.Sender.ID == e.bot {
		return
	}
	e.work.Go(func() {
		_, _ = e.client.SendMessage(context.Background(), rest.Outgoing{ID: m.ID[:16] + "0", Room: m.RoomID, Text: "echo: " + m.Text})
	})
}

// BenchmarkQuiet is what one more quiet channel over TLS holds of this process's
// memory and goroutines, its store on disk included; the server is another
// process. The collector is paced as it is wherever channels run. The baselines
// are the same without that, and the connection alone. Run it with -benchtime 1x.
func BenchmarkQuiet(b *testing.B) {
	const warm, channels = 20, 200
	measure := func(b *testing.B, open func(*testing.B, *stand) (stop func())) {
		st := openStand(b, stall{Bots: warm + channels, People: 1, TLS: true})
		first := *st
		first.Bots, st.Bots = st.Bots[:warm], st.Bots[warm:]
		defer open(b, &first)()
		settle()
		memory, goroutines := private(b), runtime.NumGoroutine()
		stop := open(b, st)
		settle()
		b.ReportMetric(float64(private(b)-memory)/channels/1024, "kB/channel")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/channels, "goroutines/channel")
		b.ReportMetric(0, "ns/op")
		if out := os.Getenv("CHANNEL_BENCHMARK_HEAP"); out != "" {
			writeHeap(b, out)
		}
		stop()
	}
	channel := func(b *testing.B, st *stand) func() { return open(b, st, Env{}) }
	b.Run("channel", func(b *testing.B) {
		pace(b)
		measure(b, channel)
	})
	b.Run("channel, not paced", func(b *testing.B) { measure(b, channel) })
	b.Run("connection", func(b *testing.B) {
		measure(b, func(b *testing.B, st *stand) func() {
			ctx, cancel := context.WithCancel(context.Background())
			var runs, online sync.WaitGroup
			for _, bot := range st.Bots {
				online.Add(1)
				runs.Go(func() {
					ddp.Run(ctx, ddp.Config{
						Server: st.URL, UserID: bot.ID, Token: sealed.NewSecret(bot.Token), Network: &dial.Network{CAFile: st.CA},
						Log: slog.New(slog.DiscardHandler),
					}, &bareEar{online: &online})
				})
			}
			online.Wait()
			return func() { cancel(); runs.Wait() }
		})
	})
}

// settle waits until idle connections are let go, and stores have written their
// cursors and are at rest.
func settle() { time.Sleep(37 * time.Second) }

// private returns this process's private memory after some collections, each of
// which halves the stacks of which little is in use. Files that are mapped count.
func private(b *testing.B) int64 {
	for range 5 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	total := int64(0)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, rest, ok := strings.Cut(lines.Text(), ":"); ok && (key == "Private_Dirty" || key == "Private_Clean") {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += kb << 10
		}
	}
	return total
}

// writeHeap writes a profile of the heap, to see where the memory went.
func writeHeap(b *testing.B, path string) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := pprof.WriteHeapProfile(f); err != nil {
		b.Fatal(err)
	}
}

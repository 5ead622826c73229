package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
)

// A fleet is many channels in this process, each with a bot, a person and a
// room of its own, and a room that all bots are in.
type fleet struct {
	server *pretend.Server
	worlds []*world
	inside []*inside
	asked  *tally

	mu   sync.Mutex
	sent map[string]time.Time // of questions whose agent has not been asked yet
	took []time.Duration      // from the frame to the agent
}

// newFleet makes a fleet with homes below dir and brings it online. The agents
// answer at once.
func newFleet(t testing.TB, size int, dir string) *fleet {
	t.Helper()
	f := &fleet{server: pretend.New(pretend.Options{NoLimits: true}), asked: newTally(), sent: make(map[string]time.Time)}
	t.Cleanup(func() { f.server.Close() })
	url, err := f.server.Listen("127.0.0.1:0")
	must(t, err)
	lobby := f.server.AddChannel("lobby", f.server.AddUser("host", pretend.UserOptions{}))
	for i := range size {
		w := &world{
			server: f.server, url: url, home: newHome(t, filepath.Join(dir, fmt.Sprint(i))), key: fmt.Sprint("key ", i), begun: f.asked.all,
			bot: f.server.AddUser(fmt.Sprintf("bot%d", i), pretend.UserOptions{Bot: true}), people: []pretend.User{
				f.server.AddUser(fmt.Sprintf("person%d", i), pretend.UserOptions{}),
			},
		}
		w.rooms = []pretend.Room{f.server.AddDirect(w.people[0], w.bot)}
		f.server.Join(lobby, w.bot)
		f.worlds = append(f.worlds, w)
	}
	ctx := patiently(t, patience+time.Duration(size)*100*time.Millisecond)
	for _, w := range f.worlds {
		s := newScript()
		s.begun = f.begun
		f.inside = append(f.inside, w.runInside(channel.Env{}, w.tell(orders{}), s))
	}
	t.Cleanup(func() { // also of a trial that failed
		for _, c := range f.inside {
			c.link.tell(channel.Stop{})
		}
		for _, c := range f.inside {
			<-c.ended
		}
	})
	for _, c := range f.inside {
		must(t, c.await(ctx, online))
	}
	return f
}

// begun is told by an agent that it is asked.
func (f *fleet) begun(id string) {
	now := time.Now()
	f.asked.add(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = append(f.took, now.Sub(f.sent[id]))
	delete(f.sent, id)
}

// ask has the nth question asked, of one channel after another.
func (f *fleet) ask(n int) {
	w := f.worlds[n%len(f.worlds)]
	q := w.plan(w.people[0], w.rooms[0], "", 1)
	f.mu.Lock()
	f.sent[q.id] = time.Now()
	f.mu.Unlock()
	w.say(q)
}

// run has so many questions asked, one in each gap, and waits until all are
// over.
func (f *fleet) run(t testing.TB, questions int, gap time.Duration) {
	t.Helper()
	pace := time.NewTicker(gap)
	defer pace.Stop()
	for n := range questions {
		<-pace.C
		f.ask(n)
	}
	ctx := patiently(t, patience+time.Duration(questions)*20*time.Millisecond)
	for _, w := range f.worlds {
		if err := w.await(ctx, w.questions()...); err != nil {
			t.Fatalf("%v: %d of %d questions to %s are not over", err, w.open(w.questions()), len(w.questions()), w.bot.Username)
		}
	}
}

// judge ends all channels in peace, and finds fault with what is there then.
func (f *fleet) judge(t testing.TB) (verdict, channel.Counters) {
	t.Helper()
	var counts channel.Counters
	for _, c := range f.inside {
		n := c.drain(t)
		counts.Claimed += n.Claimed
		counts.Answered += n.Answered
		counts.Interrupted += n.Interrupted
		counts.Duplicates += n.Duplicates
		counts.Missed += n.Missed
		counts.Failed += n.Failed
	}
	lobby, _ := f.server.FindRoom("lobby")
	var all verdict
	for _, w := range f.worlds {
		v := w.judgeIn([]pretend.Room{w.rooms[0], lobby})
		all.asked += v.asked
		all.answered += v.answered
		all.interrupted += v.interrupted
		all.faults = append(all.faults, v.faults...)
	}
	return all, counts
}

// percentile is how long at most so many of a hundred took.
func (f *fleet) percentile(p int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.took) == 0 {
		return 0
	}
	slices.Sort(f.took)
	return f.took[(len(f.took)*p+99)/100-1]
}

// Many channels under load lose nothing and say nothing twice. TRIAL_CHANNELS
// and TRIAL_TIME make it large: then each gets a message every ten seconds.
func TestLoad(t *testing.T) {
	t.Parallel()
	size, messages, gap, dir := 200, 3000, 3*time.Millisecond, quickDir(t)
	if raceEnabled {
		messages, gap = 400, 15*time.Millisecond
	}
	if text := os.Getenv("TRIAL_TIME"); text != "" {
		span, err := time.ParseDuration(text)
		must(t, err)
		size, dir = number(t, "TRIAL_CHANNELS", 1000), t.TempDir()
		gap = 10 * time.Second / time.Duration(size)
		messages = int(span / gap)
	}
	f := newFleet(t, size, dir)
	f.run(t, messages, gap)
	v, counts := f.judge(t)
	t.Logf("%d channels: %v; from the message to the agent: half in %v, 99 of 100 in %v, all in %v",
		size, v, f.percentile(50), f.percentile(99), f.percentile(100))
	for _, fault := range v.faults[:min(len(v.faults), 20)] {
		t.Error(fault)
	}
	if n := uint64(messages); v.answered != messages || counts.Claimed != n || counts.Answered != n ||
		counts.Interrupted+counts.Missed+counts.Failed > 0 {
		t.Errorf("of %d messages: %v, and the channels counted %+v", messages, v, counts)
	}
}

// BenchmarkLoad is the way of a message through a channel, from where the server
// has it to the agent, while TRIAL_CHANNELS channels (100) each get one every
// ten seconds. What the server needs to publish it counts too.
func BenchmarkLoad(b *testing.B) {
	size := number(b, "TRIAL_CHANNELS", 100)
	f := newFleet(b, size, b.TempDir())
	b.ResetTimer()
	f.run(b, b.N, 10*time.Second/time.Duration(size))
	b.StopTimer()
	if v, _ := f.judge(b); len(v.faults) > 0 {
		b.Error(v, v.faults[0])
	}
	b.ReportMetric(float64(f.percentile(50))/1e6, "p50-ms")
	b.ReportMetric(float64(f.percentile(99))/1e6, "p99-ms")
}

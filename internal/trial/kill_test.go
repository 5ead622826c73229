package trial

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// A killing is a process killed again and again, while people ask and
// the server has its troubles.
type killing struct {
	*world
	t      testing.TB
	ctx    context.Context
	kills  *rand.Rand // when
	orders orders

	n       int // how often it was killed
	hearing int // of them while it was online
	workers int // of them workers that were found alive
}

// seed is what makes a trial's random choices: another for each run, and the
// same again where TRIAL_SEED says so. The choices are the same again; what the
// processes do meanwhile is not.
func seed(t testing.TB) uint64 {
	s := uint64(number(t, "TRIAL_SEED", int(rand.Uint32())))
	t.Logf("TRIAL_SEED=%d", s)
	return s
}

// chosen is the personality of a trial's server: another seed, another one.
func chosen(seed uint64) pretend.Version {
	versions := pretend.Versions()
	return versions[seed%uint64(len(versions))]
}

func random(seed, use uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, use)) }

// A channel's process that is killed at any moment, and begun again, answers
// each question once, or says once that it was interrupted.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	version := chosen(seed)
	kills := number(t, "TRIAL_KILLS", 20)
	k := &killing{
		world: newWorld(t, pretend.Options{Version: version}), t: t, kills: random(seed, 1),
		ctx: patiently(t, patience+time.Duration(kills)*2*time.Second), orders: orders{MaxThink: 20},
	}
	k.run(kills, random(seed, 2))
	v := k.judge()
	t.Logf("%d kills, %d of them while it was online, a %s server: %v", k.n, k.hearing, version, v)
	for _, fault := range v.faults {
		t.Error(fault)
	}
	if v.asked < 2*kills {
		t.Errorf("only %d questions were asked", v.asked)
	}
}

// The same holds for a supervisor and its workers, killed in turn.
func TestSupervisorKilledAtRandom(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	version := chosen(seed)
	kills := number(t, "TRIAL_KILLS", 10)
	k := &killing{
		world: newWorld(t, pretend.Options{Version: version}), t: t, kills: random(seed, 1),
		ctx: patiently(t, patience+time.Duration(kills)*4*time.Second),
	}
	k.orders.Host = k.newHost(t).dir
	k.run(kills, random(seed, 2))
	v := k.judge()
	t.Logf("%d kills, %d of them of workers, %d while the bot was online, a %s server: %v", k.n, k.workers, k.hearing, version, v)
	for _, fault := range v.faults {
		t.Error(fault)
	}
	if v.asked < 2*kills {
		t.Errorf("only %d questions were asked", v.asked)
	}
	if k.workers == 0 {
		t.Error("no worker was killed")
	}
}

// The trial finds the mistakes that it is there to find.
func TestKilledWithAWrongStore(t *testing.T) {
	for _, wrong := range []string{late, forgetful} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			seed := seed(t)
			k := &killing{
				world: newWorld(t, pretend.Options{}), t: t, kills: random(seed, 1),
				ctx: patiently(t, patience), orders: orders{MaxThink: 20, Store: wrong},
			}
			for round := range uint64(10) {
				k.run(4, random(seed, 2+round))
				if v := k.judge(); len(v.faults) > 0 {
					t.Logf("%d kills: %v, such as: %s", k.n, v, v.faults[0])
					return
				}
			}
			t.Errorf("%d kills with a store that is wrong, and nothing was found", k.n)
		})
	}
}

// run kills so many channels while people ask, and lets a last one come to the
// end of its work.
func (k *killing) run(kills int, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	c := k.begin(k.t, k.orders)
	if k.n == 0 {
		// What was said before a bot was first online is not its to answer; that
		// it was is written before anybody is told.
		must(k.t, c.await(k.ctx, online))
	}
	stream := &stream{world: k.world, rng: rng}
	var asking sync.WaitGroup
	asking.Go(func() { stream.run(ctx) })
	for range kills {
		k.someMoment()
		if k.server.Online(k.bot) {
			k.hearing++
		}
		k.n++
		stream.afresh()
		c = k.kill(c)
	}
	cancel()
	asking.Wait()
	k.quiet(c)
}

// kill kills a child and begins the next. A supervisor is killed every other
// time; in between it is its worker, of which it is to begin another.
func (k *killing) kill(c *child) *child {
	k.t.Helper()
	if k.orders.Host != "" && k.n%2 == 1 {
		for _, pid := range workers(k.t, c.cmd.Process.Pid) {
			must(k.t, syscall.Kill(pid, syscall.SIGKILL))
			k.workers++
		}
		return c
	}
	c.kill(k.t)
	return k.begin(k.t, k.orders)
}

// youth is how long a process takes to begin, in microseconds, and a little more.
const youth = 150_000

// someMoment is while the channel begins, or after so many things have happened on the server, or
// when a channel that hears has no more to do, and a little later.
func (k *killing) someMoment() {
	if k.kills.IntN(8) == 0 { // while it begins
		time.Sleep(time.Duration(k.kills.IntN(youth)) * time.Microsecond)
		return
	}
	still := time.NewTicker(200 * time.Millisecond)
	defer still.Stop()
	things := k.kills.IntN(60) // most are killed while they still read what they missed
	if k.kills.IntN(4) == 0 {
		things = k.kills.IntN(longRun)
	}
	for range things {
		still.Reset(200 * time.Millisecond)
		if !k.happens(still.C) {
			break
		}
	}
	time.Sleep(time.Duration(k.kills.IntN(5000)) * time.Microsecond)
}

// longRun is how many things happen at most before a kill.
var longRun = map[bool]int{false: 400, true: 200}[raceEnabled]

// happens waits for something to happen, and reports false for a channel that
// hears and to which nothing does until the tick.
func (k *killing) happens(tick <-chan time.Time) bool {
	for {
		select {
		case <-k.server.Changed():
			return true
		case <-tick:
			if k.server.Online(k.bot) {
				return false
			}
		case <-k.ctx.Done():
			k.t.Fatal(context.Cause(k.ctx))
		}
	}
}

// quiet asks a last question in every room, behind which all else has to be
// over, and ends the channel in peace.
func (k *killing) quiet(c *child) {
	k.t.Helper()
	k.server.MendAll()
	must(k.t, c.await(k.ctx, online))
	var last []*question
	for _, room := range k.rooms {
		by := k.people[0]
		if room.Kind == "d" {
			by = k.personOf(room)
		}
		last = append(last, k.ask(by, room, ""))
	}
	all := last
	if k.orders.Store == durable {
		all = k.questions()
	}
	if err := k.await(patiently(k.t, patience), all...); err != nil {
		v := k.judge()
		_ = c.cmd.Process.Kill()
		<-c.exited
		k.t.Fatalf("%v; %d of %d questions are not over: %v, such as: %s\n%s", err, k.open(all), len(all), v, v.faults[0], c.stderr.Bytes())
	}
	c.drain(k.ctx, k.t)
}

// A stream is people asking, one question after another, as long as not too
// many wait; and what else happens on a server.
type stream struct {
	*world
	rng *rand.Rand

	mu    sync.Mutex
	fresh []*question // asked since the last kill, and not over
	stale []*question // asked before, and not over
}

// How many questions wait at most: of those asked since the last kill, and of
// all, which is less than a channel catches up.
const (
	crowd = 12
	queue = 200
)

func (s *stream) run(ctx context.Context) {
	for {
		if s.server.Await(ctx, s.mayAsk) != nil {
			return
		}
		q := s.askAnywhere(s.rng)
		s.mu.Lock()
		s.fresh = append(s.fresh, q)
		s.mu.Unlock()
		if s.rng.IntN(3) == 0 {
			s.republish()
		}
		if s.rng.IntN(12) == 0 {
			s.trouble()
		}
	}
}

// afresh says that there was a kill.
func (s *stream) afresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale, s.fresh = append(s.stale, s.fresh...), nil
}

// mayAsk reports whether one more may wait.
func (s *stream) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = slices.DeleteFunc(s.fresh, s.over)
	s.stale = slices.DeleteFunc(s.stale, s.over)
	return len(s.fresh) < crowd && len(s.fresh)+len(s.stale) < queue
}

// causes are those for which a server publishes a message's id again by itself.
var causes = []pretend.Cause{
	pretend.Preview, pretend.Translation, pretend.Receipt, pretend.Blocks, pretend.Filled, pretend.Mail,
	pretend.Federated, pretend.Rekeyed, pretend.Discussed, pretend.Repeated,
}

// republish has an older question's id published again, for any reason there is.
func (s *stream) republish() {
	q := s.any(s.rng, func(*question) bool { return true })
	other := s.people[s.rng.IntN(len(s.people))]
	room, _ := s.server.FindRoom(q.room)
	switch s.rng.IntN(8) {
	case 0, 1:
		s.server.React(q.id, other, ":+1:")
	case 2:
		s.server.Unreact(q.id, other, ":+1:")
	case 3:
		s.server.Edit(q.id, q.asker, q.text+" (edited)")
	case 4:
		s.server.Pin(q.id, q.asker)
	case 5:
		if room.Kind != "d" && q.thread == "" {
			s.server.Say(other, room, "I wonder too", pretend.SayOptions{Thread: q.id})
		}
	case 6:
		if _, ok := s.server.Message(q.answer[0]); ok {
			s.server.React(q.answer[0], other, ":tada:")
		}
	default:
		s.server.Touch(q.id, causes[s.rng.IntN(len(causes))])
	}
}

// trouble is one of the server's own.
func (s *stream) trouble() {
	const post = "chat.sendMessage"
	fault := pretend.Fault{Kind: pretend.LoseReply, Route: post, Count: 1}
	switch s.rng.IntN(10) {
	case 0:
		fault = pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Duration(s.rng.IntN(150)) * time.Millisecond)}
	case 1:
		fault = pretend.Fault{Kind: pretend.Cut, Route: post, Count: 1}
	case 2:
		fault = pretend.Fault{Kind: pretend.Drop}
	case 3:
		fault = pretend.Fault{Kind: pretend.Duplicate, Count: 20}
	case 4:
		fault = pretend.Fault{Kind: pretend.BadGateway, Route: post, Count: 1}
	}
	s.server.Break(fault)
}

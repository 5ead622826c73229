package channel

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/deliver"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/lane"
)

// Run is the whole life of a channel. It returns nil after Stop, Drain, or the
// end of ctx or of the link, and an error when the channel can't live: no
// agent of that kind, a store that is another process's, settings that no
// connection can be made with. A connection that ends is not such an error: it
// is reported, and the next Connect makes another.
func Run(ctx context.Context, start Start, link Link) error {
	return Env{}.Run(ctx, start, link)
}

// An Env is the world a channel lives in. The zero Env is the real one; tests
// put a pipe, a store in memory, or an agent of their own in its place.
type Env struct {
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Store func(path, bot string) (dedup.Store, error)
	Agent func(Start, Link) (agent.Agent, error)
}

// Run is [Run] in this Env.
func (e Env) Run(ctx context.Context, start Start, link Link) error {
	l, err := e.begin(start, link)
	if err != nil {
		return err
	}
	defer l.end()
	return l.loop(ctx)
}

// A life is a running channel. The goroutine of Run owns every field that is
// not said to be another's; whoever else has something to change says so with
// tell.
type life struct {
	env   Env
	link  Link
	log   *slog.Logger
	store dedup.Store
	tally *tally

	ctx    context.Context // ends with the life; calls made beside the loop are bound by it
	cancel context.CancelFunc
	told   chan func() // what tell brings to the loop
	work   sync.WaitGroup

	// Read from other goroutines, replaced whole by the loop.
	rules  atomic.Pointer[rules]
	client atomic.Pointer[rest.Client]
	socket atomic.Pointer[ddp.Conn] // nil unless online
	agent  atomic.Pointer[agent.Agent]

	intake *intake
	talks  *conversation.Set
	notes  lane.Lane[func()] // what the bot says without an agent, one after another
	owed   *deliver.Delivery
	signs  *post.Signs
	hears  *hearing
	dirty  chan struct{} // capacity 1: counters changed

	profile, userID string
	strangers       strangers
	storeErr        atomic.Pointer[storeState]
	version         sync.Once
	oldTyping       atomic.Bool // the server listens to the form before 6.0

	start    Start // as last applied
	phase    Phase
	conn     *connection // nil while there is none
	number   uint64      // of the last connection
	last     *End        // how it ended
	online   time.Time   // since when; zero unless online
	checked  time.Time   // when the server last proved the token
	username string
	checking bool
	draining bool

	unread    []dedup.Question // claimed by an earlier run, to be read again
	rereading bool
}

// reportEvery bounds how often counters alone make a report.
const reportEvery = 250 * time.Millisecond

// StateFile is where a profile's store lies below its home.
func StateFile(home string) string { return filepath.Join(home, "rocketchat", "state", "dedup.db") }

// begin builds a life that is not connected yet.
func (e Env) begin(start Start, link Link) (*life, error) {
	if e.Store == nil {
		e.Store = openStore
	}
	if e.Agent == nil {
		e.Agent = newAgent
	}
	l := &life{
		env: e, link: link, start: start, phase: Waiting, log: logger(link),
		told: make(chan func()), dirty: make(chan struct{}, 1),
		hears: newHearing(), profile: start.Profile, userID: start.Credentials.UserID,
	}
	l.tally = newTally(l.touched)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	client, err := l.newClient(start)
	if err != nil {
		return nil, err
	}
	a, err := e.Agent(start, link)
	if err != nil {
		return nil, err
	}
	l.store, err = e.Store(StateFile(start.Home), start.Credentials.Server+" "+start.Credentials.UserID)
	if err != nil {
		return nil, fmt.Errorf("open the store of questions: %w", err)
	}
	l.client.Store(client)
	l.agent.Store(&a)
	l.rules.Store(newRules(start, ""))
	l.notes = lane.Lane[func()]{Group: &l.work, Do: func(batch []func()) {
		for _, say := range batch {
			say()
		}
	}}
	l.assemble()
	return l, nil
}

// assemble puts the rooms of the house around the store.
func (l *life) assemble() {
	l.signs = &post.Signs{React: l.react, Type: l.typing, Log: l.log}
	l.owed = deliver.New(deliver.Config{
		Store: l.store, Settled: l.tally.settled, Log: l.log, Asked: post.Asked,
		Age: func() time.Duration { return l.rules.Load().settings.Limits.AnswerAge },
		Poster: &post.Poster{
			Server: wire{l}, Self: l.start.Credentials.UserID, Log: l.log,
			Key: []byte(l.start.Credentials.PostKey.Reveal()),
		},
	})
	l.talks = conversation.New(conversation.Config{
		Store: l.store, Owe: l.owed.Owe, Log: l.log, Prepare: l.prepare,
		Agent:   func() agent.Agent { return *l.agent.Load() },
		Queue:   func() int { return l.rules.Load().settings.Limits.Queue },
		Working: func(i conversation.Item) func() { return l.signs.Show(i.Key.Room, i.Key.Thread, i.ID.Message) },
		Ended:   l.turnEnded,
	})
	l.intake = newIntake(l)
}

// loop is the owner of the life.
func (l *life) loop(ctx context.Context) error {
	l.resume(l.ctx)
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	health := l.start.Settings.Health
	check := time.NewTicker(health.Check)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.ctx.Done(): // drained
			return nil
		case c, ok := <-l.link.Commands():
			if !ok || !l.obey(c) {
				return nil
			}
			if now := l.start.Settings.Health.Check; now != health.Check {
				health.Check = now
				check.Reset(now)
			}
			l.report()
		case change := <-l.told:
			change()
			l.report()
		case <-check.C:
			l.check()
		case <-l.dirty:
			quiet.Reset(reportEvery)
		case <-quiet.C:
			l.report()
		}
	}
}

// obey carries out one command and reports whether the life goes on.
func (l *life) obey(c Command) bool {
	switch c := c.(type) {
	case Connect:
		l.connect(c.Number)
	case Apply:
		if err := l.apply(c); err != nil {
			l.log.Error("new settings were not taken into use", "err", err)
		}
	case Drain:
		l.drain(c.Deadline)
	case Stop:
		return false
	}
	return true
}

// tell brings a change to the loop. It reports false when the life has ended.
func (l *life) tell(change func()) bool {
	select {
	case l.told <- change:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// drain takes nothing more in, lets what runs end, and closes the life at the
// deadline at the latest. The connection stays for the answers.
func (l *life) drain(deadline time.Time) {
	if l.draining {
		return
	}
	l.draining, l.phase = true, Draining
	l.intake.close()
	l.work.Go(func() {
		ctx, cancel := context.WithDeadline(l.ctx, deadline)
		defer cancel()
		if l.talks.Drained(ctx) == nil {
			_ = l.owed.Drained(ctx)
		}
		l.tell(l.cancel)
	})
}

// end closes everything, in the order in which a message goes through it.
func (l *life) end() {
	l.cancel()
	if l.conn != nil {
		l.conn.cancel(errEnding)
	}
	l.intake.close()
	l.talks.Close()
	l.owed.Close()
	l.signs.Wait()
	l.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), agentGrace)
	defer cancel()
	if err := (*l.agent.Load()).Close(ctx); err != nil {
		l.log.Warn("the agent did not end in time", "err", err)
	}
	l.client.Load().Close()
	if err := l.store.Close(); err != nil {
		l.log.Warn("the store of questions did not close cleanly", "err", err)
	}
}

// agentGrace is how long an agent may take to end with its channel.
const agentGrace = 5 * time.Second

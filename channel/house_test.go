package channel

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

func TestMain(m *testing.M) {
	if serveForBenchmark() {
		return
	}
	goleak.VerifyTestMain(m)
}

// A house is one channel with a pretend server, people, rooms, a store that
// outlives it, and a supervisor in a few lines. Everything lives in one bubble
// of testing/synctest unless said otherwise.
type house struct {
	t      *testing.T
	server *pretend.Server
	dial   func(context.Context, string, string) (net.Conn, error)

	bot, owner, member, stranger, otherBot pretend.User
	direct, lab, den                       pretend.Room // of the owner; a channel that is on; a group that is on

	start Start
	env   Env
	super *super
	store dedup.Store // the present one
	file  string      // of a real one
	done  chan error  // of the run there is
	runs  uint64
	probe time.Duration // how long a server that is away is left alone
	wrap  func(run func() error) error
	allow func(context.Context, Permit) error // of the next run's supervisor
	spawn agent.Spawn                         // nil: no processes
	// cancel ends the context of the run there is.
	cancel context.CancelFunc
	keep   func(dedup.Store) dedup.Store // what a run finds of the last one's store
}

// An option of a house.
type option func(*house)

// inBubble runs f in a bubble with a house that is not started yet.
func inBubble(t *testing.T, version pretend.Version, f func(h *house), options ...option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := build(t, pretend.New(pretend.Options{Version: version}))
		h.dial = h.server.Pipe()
		h.env.Dial = h.dial
		for _, o := range options {
			o(h)
		}
		defer h.server.Close()
		defer h.stop() // also of a test that failed
		f(h)
	})
}

// build makes people, rooms and the channel's start.
func build(t *testing.T, s *pretend.Server) *house {
	h := &house{t: t, server: s, probe: 5 * time.Second, wrap: func(run func() error) error { return run() }}
	h.bot = s.AddUser("hermes", pretend.UserOptions{ID: "uHermes", Bot: true})
	h.owner = s.AddUser("olivia", pretend.UserOptions{ID: "uOlivia"})
	h.member = s.AddUser("mia", pretend.UserOptions{ID: "uMia"})
	h.stranger = s.AddUser("sam", pretend.UserOptions{ID: "uSam"})
	h.otherBot = s.AddUser("robo", pretend.UserOptions{ID: "uRobo", Bot: true})
	h.direct = s.AddDirect(h.owner, h.bot)
	h.lab = s.AddChannel("lab", h.owner, h.member, h.stranger, h.otherBot, h.bot)
	h.den = s.AddGroup("den", h.owner, h.member, h.bot)
	settings, err := profile.ParseSettings("channel.yaml", []byte("agent:\n  kind: echo\n"))
	if err != nil {
		t.Fatal(err)
	}
	access := profile.DefaultAccess()
	access.People = []profile.Person{{ID: h.owner.ID, Role: profile.Owner}, {ID: h.member.ID, Role: profile.Member}}
	access.Rooms = []profile.Room{{ID: h.lab.ID, Mention: true}, {ID: h.den.ID, Mention: true}}
	h.start = Start{
		Profile: "hermes", Home: t.TempDir(), Settings: settings, Access: access,
		Credentials: sealed.Credentials{
			Server: "http://localhost", UserID: h.bot.ID, Token: sealed.NewSecret(h.bot.Token), PostKey: sealed.NewSecret("post"),
		},
	}
	if err := os.MkdirAll(filepath.Join(h.start.Home, "rocketchat", "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	memory := dedup.NewMemory()
	h.store = memory
	h.keep = func(was dedup.Store) dedup.Store { return was.(*dedup.Memory).Reopen() }
	h.env.Store = func(string, string) (dedup.Store, error) { return h.store, nil }
	return h
}

// onDisk gives a house a real store.
func onDisk(h *house) {
	h.file = filepath.Join(h.t.TempDir(), "dedup.db")
	h.env.Store = func(_, bot string) (dedup.Store, error) {
		db, err := dedup.Open(h.file, dedup.Options{Bot: bot})
		if err == nil {
			h.store = db
		}
		return db, err
	}
	h.keep = func(dedup.Store) dedup.Store { return nil }
}

// with changes the start.
func with(change func(*Start)) option { return func(h *house) { change(&h.start) } }

// withAgent puts an agent in echo's place, which is shown what others are.
func withAgent(a agent.Agent) option {
	return func(h *house) {
		h.start.Settings.Agent.Kind = "scripted"
		h.env.Agent = func(Start, Link) (agent.Agent, error) { return a, nil }
	}
}

// run starts the channel and its first connection.
func (h *house) run() *house {
	h.t.Helper()
	h.runs++
	h.start.Run = h.runs
	h.super = newSuper(h)
	done := make(chan error, 1)
	h.done = done
	start, env, link := h.start, h.env, h.super
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	go func() {
		defer cancel()
		err := h.wrap(func() error { return env.Run(ctx, start, link) })
		link.over()
		done <- err
	}()
	h.super.begin()
	return h
}

// up runs the channel and waits until it is online and has nothing to catch up.
func (h *house) up() *house {
	h.t.Helper()
	h.run()
	h.await("online", func(r Report) bool { return r.Phase == Online && !r.CatchingUp })
	h.rest()
	return h
}

// stop ends the run, as a person does.
func (h *house) stop() {
	h.t.Helper()
	if h.done == nil {
		return
	}
	h.super.stop()
	h.over()
}

// over waits for the end of the run.
func (h *house) over() {
	h.t.Helper()
	h.overIn(10 * time.Second)
}

func (h *house) overIn(d time.Duration) {
	h.t.Helper()
	select {
	case err := <-h.done:
		if err != nil {
			h.t.Errorf("the run ended with %v", err)
		}
	case <-time.After(d):
		h.t.Errorf("the run did not end in %s", d)
		<-h.done
	}
	h.super.quit()
	h.done = nil
}

// again ends the run as kill does, and starts another on what the store has.
func (h *house) again() *house {
	h.t.Helper()
	h.stop()
	h.store = h.keep(h.store)
	return h
}

// rest waits until nothing moves any more, without the clock.
func (h *house) rest() { synctest.Wait() }

// pass lets time go by.
func (h *house) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// patient bounds what a test waits for, on its fake clock or the real one.
const patient = 15 * time.Minute

// await waits for a report.
func (h *house) await(what string, match func(Report) bool) Report {
	h.t.Helper()
	return h.awaitFor(patient, what, match)
}

func (h *house) awaitFor(d time.Duration, what string, match func(Report) bool) Report {
	h.t.Helper()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for {
		r, changed := h.super.look()
		if match(r) {
			return r
		}
		select {
		case <-changed:
		case <-deadline.C:
			h.t.Fatalf("waited %s for %s; the last report: %+v; ends %v; log:\n%s", d, what, r, h.super.reasons(), h.super.lines())
		}
	}
}

// counters returns what was counted, once it was reported.
func (h *house) counters() Counters {
	h.pass(2 * reportEvery)
	r, _ := h.super.look()
	return r.Counters
}

// say says something and waits until nothing moves.
func (h *house) say(from pretend.User, room pretend.Room, text string, o ...pretend.SayOptions) pretend.Message {
	h.t.Helper()
	m := h.server.Say(from, room, text, o...)
	h.rest()
	return m
}

// said returns what the bot has said in a room, in order.
func (h *house) said(room pretend.Room) []string {
	var texts []string
	for _, m := range h.server.Messages(room) {
		if m.User.ID == h.bot.ID && m.Type == "" {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// wants fails unless the bot has said exactly this in a room.
func (h *house) wants(room pretend.Room, texts ...string) {
	h.t.Helper()
	if got := h.said(room); !slices.Equal(got, texts) {
		h.t.Errorf("in %s the bot said\n  %s\nwant\n  %s\nlog:\n%s", cmp.Or(room.Name, "the direct room"), strings.Join(got, "\n  "), strings.Join(texts, "\n  "), h.super.lines())
	}
}

// A turn of a scripted agent: the test leads it.
type turn struct {
	agent.Question
	events chan agent.Event
	once   sync.Once
	gone   chan struct{} // closed by Cancel

	mu       sync.Mutex
	answered []string // requests and the options that were chosen, "" to refuse
}

func (t *turn) Events() <-chan agent.Event { return t.events }
func (t *turn) Cancel()                    { t.once.Do(func() { close(t.gone) }) }

func (t *turn) Answer(question, option string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = append(t.answered, question+"="+option)
	return nil
}

// decided are the answers that came to the agent so far.
func (t *turn) decided() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.answered)
}

func (t *turn) answer(text string) {
	t.events <- agent.Text{Chunk: text}
	t.events <- agent.Done{Stop: agent.Ended}
	close(t.events)
}

// scripted is an agent that gives its turns to the test. Cancelled ones end by
// themselves.
type scripted struct {
	turns  chan *turn
	closed chan struct{}
	over   sync.WaitGroup
}

func newScripted() *scripted {
	return &scripted{turns: make(chan *turn, 1000), closed: make(chan struct{})}
}

func (s *scripted) Begin(_ context.Context, q agent.Question) (agent.Turn, error) {
	t := &turn{Question: q, events: make(chan agent.Event, 10), gone: make(chan struct{})}
	s.turns <- t
	led := &ledTurn{turn: t, out: make(chan agent.Event)}
	s.over.Go(led.lead)
	return led, nil
}

func (s *scripted) State() agent.State { return agent.State{Kind: "scripted", State: "ready"} }

func (s *scripted) Close(context.Context) error {
	close(s.closed)
	s.over.Wait()
	return nil
}

// A ledTurn passes on what the test says, and ends when it is cancelled.
type ledTurn struct {
	*turn
	out chan agent.Event
}

func (l *ledTurn) Events() <-chan agent.Event { return l.out }

func (l *ledTurn) lead() {
	defer close(l.out)
	for {
		select {
		case e := <-l.events:
			l.out <- e
			if _, done := e.(agent.Done); done {
				return
			}
		case <-l.gone:
			l.out <- agent.Done{Stop: agent.Cancelled}
			return
		}
	}
}

// next returns the agent's next turn.
func (s *scripted) next(h *house) *turn {
	h.t.Helper()
	select {
	case t := <-s.turns:
		return t
	case <-time.After(patient):
		h.t.Fatal("the agent was not asked")
		return nil
	}
}

// none fails if the agent was asked.
func (s *scripted) none(h *house) {
	h.t.Helper()
	h.rest()
	select {
	case t := <-s.turns:
		h.t.Errorf("the agent was asked %q", t.Message.Text)
	default:
	}
}

func echoes(texts ...string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = "echo: " + t
	}
	return out
}

// tokenOf is the start as another bot's.
func (h *house) tokenOf(u pretend.User) Start {
	s := h.start
	s.Credentials.UserID, s.Credentials.Token, s.Credentials.PostKey = u.ID, sealed.NewSecret(u.Token), sealed.NewSecret(u.ID)
	return s
}

package channel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// A history is a sequence of things that happen to one bot and its rooms. The
// model is one sentence: each question has exactly one answer, or exactly one
// note that it was interrupted, and nothing else is answered.
//
// It is played from bytes, so that the fuzzer can write it too: two for each
// step.
type history struct {
	*house
	mind  *mind
	steps []string // for people
	asked []question
	// stepped: the server's clock was put back and forth. A message that was
	// missed then may bear a time of before it was missed, and is not found.
	stepped bool
	// deaf: until then the socket brings no events. That a room's newest message
	// was not brought is found out; that an older one was not is not.
	deaf time.Time
	all  []pretend.Message // everything people said
}

// A question that the bot has to answer.
type question struct {
	room     pretend.Room
	id, text string
	edited   bool // while it may have been waiting: either text is an answer to it
	deleted  bool // it may have no answer
	unheard  bool // it was said to a deaf socket: it may have no answer unless it was claimed
	claimed  bool
}

func (h *history) note(format string, args ...any) {
	h.steps = append(h.steps, time.Since(epoch).Round(time.Millisecond).String()+" "+fmt.Sprintf(format, args...))
}

// epoch is where a bubble's clock begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// play takes one step, which a pair of bytes chooses.
func (h *history) play(what, how byte) {
	pick := int(how)
	room := []pretend.Room{h.direct, h.lab, h.den}[pick%3]
	switch what % 16 {
	case 0, 1, 2:
		h.ask(room, pretend.SayOptions{})
	case 3:
		h.note("chatter in %s", room.ID)
		if room.ID != h.direct.ID {
			h.all = append(h.all, h.server.Say(h.stranger, room, "chatter"))
		}
	case 4, 5:
		h.touch(pick)
	case 6:
		h.edit(pick)
	case 7:
		h.note("drop")
		h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: []int{0, 1000, 4000}[pick%3]})
	case 8:
		away := time.Duration(1+pick) * time.Second
		h.note("the server is away for %s", away)
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(away)})
	case 9:
		if pick%4 == 0 {
			h.note("the process is ended and started again")
			h.again()
		} else {
			h.note("the process is killed and started again")
			h.kill()
		}
		h.run()
	case 10:
		h.note("the server's clock steps to %+d s", (pick-128)*2)
		h.stepped = true
		h.server.MendAll(pretend.ClockSkew)
		h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(time.Duration(pick-128) * 2 * time.Second)})
	case 11:
		length := time.Duration(1+pick) * time.Second
		h.note("deaf for %s", length)
		if until := time.Now().Add(length); until.After(h.deaf) { // a longer one goes on
			h.deaf = until
		}
		h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "hermes", For: pretend.Duration(length)})
	case 12:
		h.note("replies are lost, %d times", 1+pick%3)
		h.server.Break(pretend.Fault{Kind: pretend.LoseReply, Route: "chat.sendMessage", Count: 1 + pick%3})
	case 13:
		h.note("the store fails: %v", pick%2 == 0)
		if pick%2 == 0 {
			h.store.(*dedup.Memory).Fail(dedup.ErrReadOnly)
		} else {
			h.store.(*dedup.Memory).Fail(nil)
		}
	case 14:
		h.delete(pick)
	default:
		h.hinder(pick)
	}
	h.pass(time.Duration(1+pick*pick/16) * 10 * time.Millisecond)
	for i := range h.asked {
		q := &h.asked[i]
		_, known := h.store.Known(dedup.ID{Message: q.id})
		q.claimed = q.claimed || known
	}
}

// hinder makes something that catching up or posting asks for slow, or limited,
// so that other things happen in the middle of it.
func (h *history) hinder(pick int) {
	routes := [...]string{
		"im.history", "channels.history", "groups.history", "rooms.get", "subscriptions.get", "chat.getMessage", "info", "chat.sendMessage",
	}
	f := pretend.Fault{
		Kind: pretend.Slow, Route: routes[pick%len(routes)],
		Delay: pretend.Duration(time.Duration(1+pick%13) * time.Second), For: pretend.Duration(time.Duration(1+pick) * time.Second),
	}
	if pick/len(routes)%2 == 1 {
		f.Kind = pretend.RateLimit
	}
	h.note("%s: %s for %s", f.Route, f.Kind, time.Duration(f.For))
	h.server.Break(f)
}

// kill ends the run as SIGKILL does: nothing that the channel still does reaches
// the store.
func (h *history) kill() {
	left := h.store.(*dedup.Memory).Reopen()
	h.stop()
	h.store = left
}

func (h *history) ask(room pretend.Room, o pretend.SayOptions) {
	text := fmt.Sprintf("question %d", len(h.asked))
	said := text
	if room.ID != h.direct.ID {
		said = "@hermes " + text
	}
	m := h.server.Say(h.owner, room, said, o)
	h.note("%s asks %s in %s", "olivia", text, room.ID)
	h.asked = append(h.asked, question{room: room, id: m.ID, text: text, unheard: !time.Now().After(h.deaf)})
	h.all = append(h.all, m)
}

// touch has something happen to an earlier message, for one of all reasons.
func (h *history) touch(pick int) {
	if len(h.all) == 0 {
		return
	}
	m := h.all[pick%len(h.all)]
	if _, there := h.server.Message(m.ID); !there {
		return
	}
	all := causes(h.house)
	names := make([]string, 0, len(all))
	for name := range all {
		if !strings.Contains(name, "edit") && !strings.Contains(name, "thread") && !strings.Contains(name, "room sees") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := names[pick%len(names)]
	h.note("%s of %s", name, m.Text)
	all[name](m)
}

func (h *history) edit(pick int) {
	if len(h.asked) == 0 {
		return
	}
	q := &h.asked[pick%len(h.asked)]
	m, there := h.server.Message(q.id)
	if !there {
		return
	}
	h.note("%s is edited", q.text)
	q.edited = true
	h.server.Edit(m.ID, h.owner, m.Text+" edited")
}

func (h *history) delete(pick int) {
	if len(h.asked) == 0 {
		return
	}
	q := &h.asked[pick%len(h.asked)]
	if _, there := h.server.Message(q.id); !there {
		return
	}
	h.note("%s is deleted", q.text)
	q.deleted = true
	h.server.Delete(q.id, h.owner)
}

// finish mends everything, lets the bot come to rest, and compares.
func (h *history) finish(fail func(format string, args ...any)) {
	h.store.(*dedup.Memory).Fail(nil)
	h.server.MendAll()
	h.pass(12 * time.Minute)
	h.server.Break(pretend.Fault{Kind: pretend.Drop}) // what is still missing is caught up now
	h.pass(8 * time.Minute)
	for _, room := range []pretend.Room{h.direct, h.lab, h.den} {
		h.compare(room, fail)
	}
	if r, _ := h.super.look(); r.Phase != Online {
		fail("it is %s\n%s", r.Phase, h.story())
	}
	for id, n := range h.mind.begun() {
		if n > 1 {
			fail("the agent was asked %s %d times\n%s", id, n, h.story())
		}
	}
}

// compare finds fault with what was said in one room.
func (h *history) compare(room pretend.Room, fail func(format string, args ...any)) {
	left := h.said(room)
	must, may := 0, 0 // notes in an answer's place
	for _, q := range h.asked {
		if q.room.ID != room.ID {
			continue
		}
		n := len(left)
		left = slices.DeleteFunc(left, q.answeredBy)
		switch n -= len(left); {
		case n == 1:
		case n > 1:
			fail("%s was answered %d times\n%s", q.text, n, h.story())
		case q.deleted, !q.claimed && (q.unheard || h.stepped):
			may++
		case !q.claimed:
			fail("%s was never claimed\n%s", q.text, h.story())
		default:
			must++
		}
	}
	for _, text := range left {
		if text != conversation.NoteInterrupted {
			fail("in %s the bot said %q, which nobody asked for\n%s", room.ID, text, h.story())
		}
	}
	if n := len(left); n < must || n > must+may {
		fail("in %s are %d notes; %d questions have no answer, and %d need none\n%s", room.ID, n, must, may, h.story())
	}
}

func (q *question) answeredBy(text string) bool {
	return text == "echo: "+q.text || q.edited && strings.HasPrefix(text, "echo: "+q.text+" edited")
}

// A mind is an agent that answers as echo does, some questions at once, others
// after a while, and remembers what it was asked, over all runs.
type mind struct {
	turns sync.WaitGroup
	mu    sync.Mutex
	asked map[string]int
}

func (m *mind) Begin(_ context.Context, q agent.Question) (agent.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[q.Message.ID]++
	var n int
	_, _ = fmt.Sscanf(q.Message.Text, "question %d", &n)
	t := &turn{Question: q, events: make(chan agent.Event, 2), gone: make(chan struct{})}
	m.turns.Go(func() {
		defer close(t.events)
		select {
		case <-time.After(time.Duration(n%3*n%9) * time.Second):
			t.events <- agent.Text{Chunk: "echo: " + q.Message.Text}
			t.events <- agent.Done{Stop: agent.Ended}
		case <-t.gone:
			t.events <- agent.Done{Stop: agent.Cancelled}
		}
	})
	return t, nil
}

func (*mind) State() agent.State { return agent.State{Kind: "scripted", State: "ready"} }

func (m *mind) Close(context.Context) error {
	m.turns.Wait()
	return nil
}

// begun is how often each question was begun.
func (m *mind) begun() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.asked)
}

func (h *history) story() string {
	return strings.Join(h.steps, "\n") + "\nlog:\n" + h.super.lines()
}

// tell plays a whole history in a bubble of its own. fail may stop the test; it
// is called outside the bubble.
func tell(t *testing.T, version pretend.Version, script []byte, fail func(format string, args ...any)) {
	var found string
	synctest.Test(t, func(t *testing.T) {
		server := pretend.New(pretend.Options{Version: version})
		h := &history{house: build(t, server), mind: &mind{asked: make(map[string]int)}}
		withAgent(h.mind)(h.house)
		h.dial = server.Pipe()
		h.env.Dial = h.dial
		limits := &h.start.Settings.Limits
		limits.AnswersPerHour, limits.CatchUp, limits.Queue = 10000, 24*time.Hour, 200
		defer server.Close()
		defer h.stop()
		h.up()
		for i := 0; i+1 < len(script); i += 2 {
			h.play(script[i], script[i+1])
		}
		h.finish(func(format string, args ...any) {
			if found == "" {
				found = fmt.Sprintf(format, args...)
			}
		})
	})
	if found != "" {
		fail("%s", found)
	}
}

// One answer for each question, whatever happens, in whatever order.
func TestOneAnswerForEachQuestion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		version := rapid.SampledFrom(pretend.Versions()).Draw(r, "version")
		tell(t, version, rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "script"), r.Fatalf)
	})
}

// scripts are histories in which one mistake of each kind shows: with the step
// in the wrong order, or left out, one of them fails. The fuzzer begins with them.
var scripts = [][]byte{
	{0, 0, 7, 1, 0, 1, 9, 2, 4, 3, 0, 4},
	// A store that fails, and a process that ends meanwhile: nothing may be done
	// of what could not be claimed.
	{13, 0, 0, 1, 0, 2, 9, 1, 13, 1, 4, 0, 4, 1},
	{11, 200, 0, 0, 0, 1, 0, 200, 0, 255, 10, 0, 0, 3, 10, 255, 0, 4},
	{0, 0, 6, 0, 0, 1, 14, 1, 12, 2, 0, 5, 8, 40, 0, 6, 0, 7},
	// What is read again is known.
	{0, 0, 0, 1, 0, 2, 3, 255, 7, 0, 3, 255, 9, 1},
	// The process is killed with one question given and others claimed.
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1},
	// It is killed while an answer's reply is under way, and the server lost one.
	{15, 231, 0, 0, 9, 1, 3, 255},
	{0, 0, 12, 0, 0, 1, 7, 1, 0, 0, 9, 1},
	// The room of a missed question goes on while the server is slow to say which
	// rooms changed.
	{8, 250, 0, 1, 15, 243, 3, 255, 3, 255, 3, 255, 3, 255, 0, 100, 0, 100, 0, 100, 0, 100, 0, 100, 0, 100, 0, 100, 0, 100},
	// The process is killed while the history of its room is being read.
	{8, 250, 0, 1, 3, 255, 3, 255, 3, 255, 15, 129, 3, 255, 3, 255, 3, 100, 3, 100, 9, 1, 3, 255},
	{8, 250, 0, 1, 15, 241, 3, 255, 3, 255, 3, 255, 3, 255, 3, 60, 3, 60, 3, 60, 3, 60, 9, 93, 9, 93, 9, 93, 9, 93},
	// The server's clock steps while the bot catches up, and back.
	{8, 100, 0, 1, 0, 2, 10, 255, 15, 241, 3, 127, 9, 1, 10, 0, 0, 1, 0, 2, 10, 128, 0, 1, 9, 2},
	// It is deaf for a while, and meanwhile for a shorter one.
	{11, 200, 0, 0, 0, 1, 0, 200, 0, 255, 43, 32, 56, 32, 255, 255, 48, 48},
}

// What the scripts show is shown on each personality.
func TestOneAnswerInKnownHistories(t *testing.T) {
	for i, script := range scripts {
		for _, v := range pretend.Versions() {
			t.Run(fmt.Sprintf("%d on %s", i, v), func(t *testing.T) { tell(t, v, script, t.Errorf) })
		}
	}
}

// FuzzOneAnswer is the same, written by the fuzzer.
func FuzzOneAnswer(f *testing.F) {
	for _, script := range scripts {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			t.Skip("long enough is long enough")
		}
		tell(t, pretend.V9, script, t.Fatalf)
	})
}

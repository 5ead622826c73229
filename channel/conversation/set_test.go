package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel/agent"
	"rcsupervisor/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A turn of the scripted agent: its events are sent by the test.
type turn struct {
	question  agent.Question
	events    chan agent.Event
	cancelled chan struct{}
	once      sync.Once
	answers   []string
}

func (t *turn) Events() <-chan agent.Event { return t.events }
func (t *turn) Cancel()                    { t.once.Do(func() { close(t.cancelled) }) }

func (t *turn) Answer(question, option string) error {
	t.answers = append(t.answers, question+"="+option)
	return nil
}

func (t *turn) end(err error) {
	t.events <- agent.Done{Stop: agent.Ended, Err: err}
	close(t.events)
}

// An agent whose turns the test leads.
type scripted struct {
	turns chan *turn
	fail  error
}

func (s *scripted) Begin(_ context.Context, q agent.Question) (agent.Turn, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	t := &turn{question: q, events: make(chan agent.Event, 100), cancelled: make(chan struct{})}
	s.turns <- t
	return t, nil
}

func (*scripted) State() agent.State          { return agent.State{} }
func (*scripted) Close(context.Context) error { return nil }

type house struct {
	*Set
	store   *dedup.Memory
	agent   *scripted
	mu      sync.Mutex
	owed    []dedup.Part
	ended   map[string][]Ending
	working int
	hired   int
}

func newHouse(t *testing.T) *house {
	h := &house{store: dedup.NewMemory(), agent: &scripted{turns: make(chan *turn, 100)}, ended: map[string][]Ending{}}
	h.Set = New(Config{
		Store: h.store, Log: slog.New(slog.DiscardHandler),
		Hire: func() (agent.Agent, func()) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.hired++
			return h.agent, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.hired--
			}
		},
		Queue: func() int { return 2 }, Size: func() int { return PartSize },
		Caught: func(p any) { panic(p) },
		Prepare: func(_ context.Context, i Item) (agent.Question, error) {
			return agent.Question{Message: agent.Message{ID: i.ID.Message, Text: i.Text}}, nil
		},
		Owe: func(p []dedup.Part) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.owed = append(h.owed, p...)
		},
		Working: func(Item) func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.working++
			return func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.working--
			}
		},
		Ended: func(i Item, e Ending) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended[i.ID.Message] = append(h.ended[i.ID.Message], e)
		},
	})
	t.Cleanup(func() {
		h.Close()
		_ = h.store.Close()
		for id, e := range h.ended {
			if len(e) != 1 {
				t.Errorf("%s ended %d times: %v", id, len(e), e)
			}
		}
		if h.working != 0 || h.hired != 0 {
			t.Errorf("%d signs of work were never ended, %d agents never released", h.working, h.hired)
		}
	})
	return h
}

// item claims a question, as the intake does.
func (h *house) item(t *testing.T, name, room, asker string) Item {
	t.Helper()
	i := Item{Key: Key{Room: room}, ID: dedup.ID{Message: name, At: time.Now()}, Asker: asker, Text: "question " + name}
	if fresh, err := h.store.Claim(t.Context(), dedup.Question{ID: i.ID, Room: room, Asker: asker}); !fresh || err != nil {
		t.Fatalf("claim %s: %v %v", name, fresh, err)
	}
	return i
}

func (h *house) texts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, p := range h.owed {
		out = append(out, fmt.Sprintf("%s/%s/%d: %s", p.Question.Message, p.Step, p.Index, p.Text))
	}
	return out
}

func (h *house) state(name string, at time.Time) dedup.State {
	s, _ := h.store.Known(dedup.ID{Message: name, At: at})
	return s
}

func TestOneTurnAtATimeInARoomAndSeveralInMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		for i, name := range []string{"a", "b", "c"} {
			place, err := h.Put(h.item(t, name, "room", "alice"), false)
			if err != nil || place != i {
				t.Errorf("%s: place %d, %v", name, place, err)
			}
			synctest.Wait()
		}
		if _, err := h.Put(h.item(t, "d", "room", "alice"), false); !errors.Is(err, ErrFull) {
			t.Errorf("a full queue took one more: %v", err)
		}
		if _, err := h.Put(h.item(t, "e", "room", "alice"), true); err != nil {
			t.Errorf("a missed question was refused, and is outside the queue's limit: %v", err)
		}
		h.Put(h.item(t, "x", "other", "bob"), false)
		synctest.Wait()
		if n := len(h.agent.turns); n != 2 {
			t.Fatalf("%d turns run, want one in each room", n)
		}
		if h.state("a", now) != dedup.Given || h.state("b", now) != dedup.Claimed {
			t.Errorf("a is %v, b is %v", h.state("a", now), h.state("b", now))
		}
		var order []string
		for range 5 {
			turn := <-h.agent.turns
			order = append(order, turn.question.Message.ID)
			turn.events <- agent.Text{Chunk: "answer "}
			turn.events <- agent.Text{Chunk: turn.question.Message.ID}
			turn.end(nil)
			synctest.Wait()
		}
		order = slices.DeleteFunc(order, func(s string) bool { return s == "x" })
		if !slices.Equal(order, []string{"a", "b", "c", "e"}) {
			t.Errorf("turns in the order %v", order)
		}
		if got := h.texts(); !slices.Contains(got, "e/answer/0: answer e") {
			t.Errorf("owed %v", got)
		}
		if h.Busy() != 0 {
			t.Errorf("%d are busy at the end", h.Busy())
		}
		if len(h.ended["d"]) != 0 {
			t.Error("a refused question ended in the conversation")
		}
	})
}

func TestHowATurnEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		lead   func(h *house, turn *turn)
		want   []string
		ending Ending
		state  dedup.State
	}{
		{"an answer", func(_ *house, turn *turn) { turn.events <- agent.Text{Chunk: "42"}; turn.end(nil) }, []string{"q/answer/0: 42"}, AnsweredEnding, dedup.Answered},
		{"silence", func(_ *house, turn *turn) { turn.events <- agent.Text{Chunk: " NO_REPLY\n"}; turn.end(nil) }, nil, AnsweredEnding, dedup.Done},
		{"nothing", func(_ *house, turn *turn) { turn.end(nil) }, nil, AnsweredEnding, dedup.Done},
		{"a failure", func(_ *house, turn *turn) {
			turn.events <- agent.Text{Chunk: "half of"}
			turn.end(errors.New("secret-laden failure"))
		}, []string{"q/note/0: " + NoteFailed}, FailedEnding, dedup.Answered},
		{"stopped by a person", func(h *house, turn *turn) {
			h.Stop(Key{Room: "room"})
			<-turn.cancelled
			turn.events <- agent.Text{Chunk: "half of"}
			turn.end(nil)
		}, []string{"q/note/0: " + NoteStopped}, StoppedEnding, dedup.Answered},
		{"its asker is blocked", func(h *house, turn *turn) {
			h.Drop("alice")
			<-turn.cancelled
			turn.end(nil)
		}, nil, DroppedEnding, dedup.Done},
		{"what nobody can decide is refused", func(_ *house, turn *turn) {
			turn.events <- agent.Asked{ID: "p1", Options: []agent.Option{{ID: "yes", Kind: "allow_once"}, {ID: "no", Kind: "reject_once"}}}
			turn.end(nil)
			synctest.Wait()
			if !slices.Equal(turn.answers, []string{"p1="}) {
				panic(fmt.Sprint(turn.answers))
			}
		}, nil, AnsweredEnding, dedup.Done},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				now := time.Now()
				h.Put(h.item(t, "q", "room", "alice"), false)
				test.lead(h, <-h.agent.turns)
				synctest.Wait()
				if got := h.texts(); !slices.Equal(got, test.want) {
					t.Errorf("owed %q, want %q", got, test.want)
				}
				if got := h.ended["q"]; !slices.Equal(got, []Ending{test.ending}) {
					t.Errorf("ended %v, want %v", got, test.ending)
				}
				if got := h.state("q", now); got != test.state {
					t.Errorf("the store has it as %v, want %v", got, test.state)
				}
			})
		})
	}
}

func TestAnAgentThatDoesNotStartIsToldToTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.agent.fail = errors.New("no such program")
		h.Put(h.item(t, "q", "room", "alice"), false)
		synctest.Wait()
		if got := h.texts(); !slices.Equal(got, []string{"q/note/0: " + NoteFailed}) {
			t.Errorf("owed %q", got)
		}
	})
}

// The store can't be written to: the agent is not asked before the question is
// marked given, and an answer that was made is not thrown away.
func TestAStoreThatCantBeWrittenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		item := h.item(t, "q", "room", "alice")
		h.store.Fail(dedup.ErrReadOnly)
		h.Put(item, false)
		time.Sleep(time.Minute)
		if len(h.agent.turns) != 0 {
			t.Fatal("the agent was asked although nothing says so on disk")
		}
		h.store.Fail(nil)
		turn := <-h.agent.turns
		h.store.Fail(dedup.ErrReadOnly)
		turn.events <- agent.Text{Chunk: "42"}
		turn.end(nil)
		time.Sleep(time.Minute)
		if got := h.texts(); len(got) != 0 {
			t.Fatalf("%q is owed and not stored", got)
		}
		h.store.Fail(nil)
		time.Sleep(time.Minute)
		if got := h.texts(); !slices.Equal(got, []string{"q/answer/0: 42"}) {
			t.Errorf("owed %q", got)
		}
	})
}

func TestTheEndOfTheChannelLeavesQuestionsToTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		h.Put(h.item(t, "running", "room", "alice"), false)
		h.Put(h.item(t, "waiting", "room", "alice"), false)
		turn := <-h.agent.turns
		go func() {
			<-turn.cancelled
			turn.end(context.Canceled)
		}()
		h.Close()
		if h.state("running", now) != dedup.Given || h.state("waiting", now) != dedup.Claimed {
			t.Errorf("running is %v, waiting is %v", h.state("running", now), h.state("waiting", now))
		}
		if got := h.texts(); len(got) != 0 {
			t.Errorf("owed %q", got)
		}
		if _, err := h.Put(Item{}, false); !errors.Is(err, ErrClosing) {
			t.Errorf("a question was taken after the end: %v", err)
		}
	})
}

func TestWhatWaitsMayBeEditedAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		h.Put(h.item(t, "a", "room", "alice"), false)
		first := <-h.agent.turns
		h.Put(h.item(t, "b", "room", "bob"), false)
		h.Put(h.item(t, "c", "room", "alice"), false)
		edit := func(i *Item) { i.Text = "another question" }
		if h.Edit("a", edit) {
			t.Error("a question that runs was edited")
		}
		if !h.Edit("c", edit) {
			t.Error("a question that waits was not edited")
		}
		h.Drop("bob")
		first.end(nil)
		turn := <-h.agent.turns
		if turn.question.Message.Text != "another question" {
			t.Errorf("asked %q", turn.question.Message.Text)
		}
		turn.end(nil)
		synctest.Wait()
		if h.state("b", now) != dedup.Done || !slices.Equal(h.ended["b"], []Ending{DroppedEnding}) {
			t.Errorf("what was dropped is %v, %v", h.state("b", now), h.ended["b"])
		}
	})
}

func TestALongAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.Put(h.item(t, "q", "room", "alice"), false)
		turn := <-h.agent.turns
		go func() {
			chunk := strings.Repeat("word ", 20_000)
			for range 100 { // 10 MB
				turn.events <- agent.Text{Chunk: chunk}
			}
			turn.end(nil)
		}()
		synctest.Wait()
		got := h.texts()
		if len(got) == 0 || len(got) > maxParts+1 || !strings.HasSuffix(got[len(got)-1], noteCut) {
			t.Errorf("%d parts, the last one %.80q", len(got), got[max(0, len(got)-1):])
		}
	})
}

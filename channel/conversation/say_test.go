package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/dedup"
)

// What the bot says by itself is stored before it is owed, in its order, also
// when the store was in trouble; a silent end is an end too.
func TestWhatIsSaidWithoutAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		h.store.Fail(nil)
		var want []string
		items := make([]Item, 150)
		for i := range items {
			items[i] = h.item(t, fmt.Sprint(i), "room", "alice")
		}
		h.store.Fail(dedup.ErrReadOnly)
		for i, item := range items {
			if i%10 == 0 {
				h.Say(item.ID, item.Key)
				continue
			}
			h.Say(item.ID, item.Key, "line of "+item.ID.Message)
			want = append(want, fmt.Sprintf("%d/note/0: line of %d", i, i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.texts(); len(got) != 0 {
			t.Fatalf("%d are owed and not stored", len(got))
		}
		h.store.Fail(nil)
		if err := h.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.texts(); !slices.Equal(got, want) {
			t.Errorf("owed %q", got)
		}
		if h.state("0", now) != dedup.Done || h.state("1", now) != dedup.Answered {
			t.Errorf("0 is %v, 1 is %v", h.state("0", now), h.state("1", now))
		}
	})
}

// At the end what was begun is stored if it can be, and nothing is begun.
func TestWhatIsSaidAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		first, second := h.item(t, "first", "room", "alice"), h.item(t, "second", "room", "alice")
		h.store.Fail(dedup.ErrReadOnly)
		h.Say(first.ID, first.Key, "one")
		time.Sleep(time.Second)
		h.store.Fail(nil)
		h.End()
		h.Say(second.ID, second.Key, "two")
		h.Close()
		if h.state("first", now) != dedup.Answered || h.state("second", now) != dedup.Claimed {
			t.Errorf("first is %v, second is %v", h.state("first", now), h.state("second", now))
		}
	})
}

// Quiesce lets what runs end and leaves what waits to the store.
func TestQuiesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		h.Put(h.item(t, "running", "room", "alice"), false)
		h.Put(h.item(t, "waiting", "room", "alice"), false)
		turn := <-h.agent.turns
		h.Quiesce()
		if _, err := h.Put(h.item(t, "late", "room", "alice"), false); !errors.Is(err, ErrClosing) {
			t.Errorf("it was taken: %v", err)
		}
		drained := make(chan error, 1)
		go func() { drained <- h.Drained(context.Background()) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("drained while a turn runs")
		default:
		}
		turn.events <- agent.Text{Chunk: "42"}
		turn.end(nil)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		if got := h.texts(); !slices.Equal(got, []string{"running/answer/0: 42"}) || h.state("waiting", now) != dedup.Claimed {
			t.Errorf("owed %q, waiting is %v", got, h.state("waiting", now))
		}
		if !slices.Equal(h.ended["waiting"], []Ending{LeftEnding}) {
			t.Errorf("waiting ended %v", h.ended["waiting"])
		}
	})
}

func TestDrainedGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.Put(h.item(t, "running", "room", "alice"), false)
		turn := <-h.agent.turns
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := h.Drained(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		turn.end(nil)
		if err := h.Drained(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An answer that is whole when the channel ends is not thrown away; half of one
// is not passed off as whole.
func TestAnAnswerAtTheVeryEnd(t *testing.T) {
	for _, test := range []struct {
		name   string
		stop   agent.Stop
		err    error
		broken bool
		want   dedup.State
	}{
		{name: "whole", stop: agent.Ended, want: dedup.Answered},
		{name: "cancelled", stop: agent.Cancelled, want: dedup.Given},
		{name: "failed", stop: agent.Failed, err: errors.New("killed"), want: dedup.Given},
		{name: "whole, and the store can't be written to", stop: agent.Ended, broken: true, want: dedup.Given},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				now := time.Now()
				h.Put(h.item(t, "q", "room", "alice"), false)
				turn := <-h.agent.turns
				go func() {
					<-turn.cancelled
					if test.broken {
						h.store.Fail(dedup.ErrReadOnly)
					}
					turn.events <- agent.Text{Chunk: "42"}
					turn.events <- agent.Done{Stop: test.stop, Err: test.err}
					close(turn.events)
				}()
				h.Close()
				if got := h.state("q", now); got != test.want {
					t.Errorf("the store has it as %v, want %v", got, test.want)
				}
			})
		})
	}
}

// Whatever an agent ends with, its asker hears of it once.
func TestWaysAnAgentEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		done []agent.Event
		want string
	}{
		{"ended", "42", []agent.Event{agent.Done{Stop: agent.Ended}}, "q/answer/0: 42"},
		{"refused, and says why", "I won't", []agent.Event{agent.Done{Stop: agent.Refused}}, "q/answer/0: I won't"},
		{"refused in silence", "", []agent.Event{agent.Done{Stop: agent.Refused}}, "q/note/0: " + NoteFailed},
		{"cancelled by itself", "half", []agent.Event{agent.Done{Stop: agent.Cancelled}}, "q/answer/0: half"},
		{"cancelled by itself, and says why", "", []agent.Event{agent.Done{
			Stop: agent.Cancelled, Err: agent.Fail("It stopped before it had an answer.", errors.New("secret-laden")),
		}}, "q/note/0: It stopped before it had an answer."},
		{"with a notice", "42", []agent.Event{agent.Notice{Text: "(Anew.)"}, agent.Done{Stop: agent.Ended}}, "q/answer/0: (Anew.)\n\n42"},
		{"silent but for a notice", "NO_REPLY", []agent.Event{agent.Notice{Text: "(Anew.)"}, agent.Done{Stop: agent.Ended}}, "q/answer/0: (Anew.)"},
		{"with files that can't be sent", "42", []agent.Event{
			agent.FileOut{Path: "a"}, agent.FileOut{Path: "b"}, agent.Done{Stop: agent.Ended},
		}, "q/answer/0: 42\n\n" + noteNoFiles},
		{"failed", "half", []agent.Event{agent.Done{Stop: agent.Failed}}, "q/note/0: " + NoteFailed},
		{"broke off without a Done", "half", nil, "q/note/0: " + NoteFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				h.Put(h.item(t, "q", "room", "alice"), false)
				turn := <-h.agent.turns
				turn.events <- agent.Text{Chunk: test.text}
				for _, e := range test.done {
					turn.events <- e
				}
				close(turn.events)
				synctest.Wait()
				if got := h.texts(); !slices.Equal(got, []string{test.want}) {
					t.Errorf("owed %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A question that was deleted while it waited is taken out; one that runs is
// let alone.
func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		now := time.Now()
		h.Put(h.item(t, "a", "room", "alice"), false)
		turn := <-h.agent.turns
		h.Put(h.item(t, "b", "room", "alice"), false)
		h.Withdraw("a")
		h.Withdraw("b")
		h.Withdraw("nobody's")
		turn.events <- agent.Text{Chunk: "42"}
		turn.end(nil)
		synctest.Wait()
		if got := h.texts(); !slices.Equal(got, []string{"a/answer/0: 42"}) || h.state("b", now) != dedup.Done {
			t.Errorf("owed %q, b is %v", got, h.state("b", now))
		}
	})
}

func TestWhatMayBePosted(t *testing.T) {
	token := "v1.uAlice.rRoom.1999999999.AAAAAAAAAAAAAAAAAAAAAA"
	hidden := "v1.uAlice.rRo\u200bom.1999\u2060999999.AAAAAAAAAAAAAAAAAAAAAA"
	for _, test := range []struct{ name, text, want string }{
		{"plain text", "hello *world*", "hello *world*"},
		{"families stay whole", "👩\u200d👩\u200d👧 hi", "👩\u200d👩\u200d👧 hi"},
		{"everybody is left in peace", "@all: @here", "@\u200ball: @\u200bhere"},
		{"a token", "it is " + token + " so", "it is (token removed) so"},
		{"a token with control characters in it", strings.Replace(token, "rRoom", "rR\x00oom", 1), "(token removed)"},
		{"a token that unseen characters hide", "it is " + hidden, "it is (token removed)"},
		{"a token that variation selectors and fillers hide", "it is " + strings.NewReplacer("uA", "u\ufe0fA", "rR", "r\u3164R", "199", "1\U000e010099").Replace(token), "it is (token removed)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(cut(test.text, PartSize), "|"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A panic in one turn is reported, and nothing else of the channel hangs on it.
func TestAPanicIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var caught any
		store := dedup.NewMemory()
		s := New(Config{
			Store: store, Hire: func() (agent.Agent, func()) { panic("hire") },
			Prepare: func(context.Context, Item) (agent.Question, error) { return agent.Question{}, nil },
			Owe:     func([]dedup.Part) {}, Working: func(Item) func() { return func() {} }, Ended: func(Item, Ending) {},
			Queue: func() int { return 1 }, Size: func() int { return PartSize }, Caught: func(p any) { caught = p },
		})
		id := dedup.ID{Message: "q", At: time.Now()}
		if _, err := store.Claim(t.Context(), dedup.Question{ID: id}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(Item{ID: id}, false); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.Close()
		if caught != "hire" {
			t.Errorf("caught %v", caught)
		}
	})
}

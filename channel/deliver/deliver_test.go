package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A said is a Poster that keeps what was said, and fails as told.
type said struct {
	mu     sync.Mutex
	parts  []dedup.Part
	at     []time.Time
	answer func(p dedup.Part, try int) (dedup.Outcome, error)
	tries  map[string]int
	hang   atomic.Bool // until ctx ends
}

func (s *said) Post(ctx context.Context, p dedup.Part) (dedup.Outcome, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return dedup.Outcome{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(p.Question.Message, p.Index)
	s.tries[key]++
	o, err := s.answer(p, s.tries[key])
	if err == nil && o.Posted() {
		s.parts, s.at = append(s.parts, p), append(s.at, time.Now())
	}
	return o, err
}

func (s *said) texts(room string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, p := range s.parts {
		if p.Room == room {
			out = append(out, p.Text)
		}
	}
	return out
}

// A house is a Delivery with a store in memory and a Poster that does as told.
type house struct {
	*Delivery
	store    *dedup.Memory
	said     *said
	outcomes map[string]dedup.Outcome
	asked    time.Duration
}

func newHouse(t *testing.T, answer func(p dedup.Part, try int) (dedup.Outcome, error)) *house {
	h := &house{store: dedup.NewMemory(), said: &said{answer: answer, tries: map[string]int{}}, outcomes: map[string]dedup.Outcome{}}
	var mu sync.Mutex
	h.Delivery = New(Config{
		Store: h.store, Poster: h.said, Log: slog.New(slog.DiscardHandler),
		Age: func() time.Duration { return time.Hour }, Asked: func(error) time.Duration { return h.asked },
		Doomed: func(err error, tries int) string {
			if errors.Is(err, errDoomed) && tries == 3 {
				return "doomed"
			}
			return ""
		},
		Caught: func(p any) { panic(p) },
		Settled: func(p dedup.Part, o dedup.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(p.Question.Message, p.Index)
			if was, ok := h.outcomes[key]; ok {
				t.Errorf("%s settled twice: %v, %v", key, was, o)
			}
			h.outcomes[key] = o
		},
	})
	t.Cleanup(func() { h.Close(); _ = h.store.Close() })
	return h
}

// answered makes a question of the given texts that the store holds as owed.
func (h *house) answered(t *testing.T, name, room string, texts ...string) []dedup.Part {
	t.Helper()
	id := dedup.ID{Message: name, At: time.Now()}
	if fresh, err := h.store.Claim(t.Context(), dedup.Question{ID: id, Room: room}); !fresh || err != nil {
		t.Fatalf("claim %s: %v, %v", name, fresh, err)
	}
	var parts []dedup.Part
	for i, text := range texts {
		parts = append(parts, dedup.Part{Question: id, Index: i, Step: "answer", Room: room, Text: text, Owed: time.Now()})
	}
	if err := h.store.Answer(t.Context(), id, parts); err != nil {
		t.Fatal(err)
	}
	return parts
}

func (h *house) owedInStore(t *testing.T) (n int) {
	for q, err := range h.store.Open(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(q.Parts)
	}
	return n
}

var errDoomed = errors.New("no")

func posted(dedup.Part, int) (dedup.Outcome, error) { return dedup.Outcome{MessageID: "m"}, nil }

func TestEachRoomKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(p dedup.Part, try int) (dedup.Outcome, error) {
			if p.Text == "a1" && try < 3 {
				return dedup.Outcome{}, errors.New("not now")
			}
			return posted(p, try)
		})
		h.SetOnline(true)
		h.Owe(h.answered(t, "a", "room", "a1", "a2"))
		h.Owe(h.answered(t, "b", "room", "b1"))
		h.Owe(h.answered(t, "c", "other", "c1"))
		synctest.Wait()
		if got := h.said.texts("other"); !slices.Equal(got, []string{"c1"}) {
			t.Errorf("another room waited: %v", got)
		}
		if err := h.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.said.texts("room"); !slices.Equal(got, []string{"a1", "a2", "b1"}) {
			t.Errorf("said %v", got)
		}
		if n := h.owedInStore(t); n != 0 {
			t.Errorf("%d parts are still owed in the store", n)
		}
	})
}

func TestNothingIsPostedOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, posted)
		h.Owe(h.answered(t, "a", "room", "a1"))
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if got := h.said.texts("room"); len(got) != 0 {
			t.Fatalf("said %v without a connection", got)
		}
		h.SetOnline(true)
		synctest.Wait()
		if got := h.said.texts("room"); !slices.Equal(got, []string{"a1"}) {
			t.Errorf("said %v once online", got)
		}
	})
}

func TestTooLateIsSaidOnceAndSettled(t *testing.T) {
	for name, online := range map[string]bool{"offline": false, "the server never takes it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, func(dedup.Part, int) (dedup.Outcome, error) { return dedup.Outcome{}, errors.New("never") })
				h.SetOnline(online)
				began := time.Now()
				h.Owe(h.answered(t, "a", "room", "a1"))
				if !online {
					time.Sleep(time.Hour + time.Second)
					h.SetOnline(true)
				}
				if err := h.Drained(t.Context()); err != nil {
					t.Fatal(err)
				}
				if o := h.outcomes["a0"]; o.Reason != Late {
					t.Errorf("settled as %+v", o)
				}
				if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
					t.Errorf("given up after %s", took)
				}
				if n := h.owedInStore(t); n != 0 {
					t.Errorf("%d parts are still owed", n)
				}
			})
		})
	}
}

func TestAServerThatAsksToWaitIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(p dedup.Part, try int) (dedup.Outcome, error) {
			if try == 1 {
				return dedup.Outcome{}, errors.New("429")
			}
			return posted(p, try)
		})
		h.asked = 40 * time.Second
		h.SetOnline(true)
		began := time.Now()
		h.Owe(h.answered(t, "a", "room", "a1"))
		if err := h.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := h.said.at[0].Sub(began); waited != 40*time.Second {
			t.Errorf("asked again after %s, the server said 40s", waited)
		}
	})
}

// A store that can't be written to after the post must not lead to a second
// post, nor to an answer that is forgotten.
func TestAStoreThatFailsAfterThePost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, posted)
		h.SetOnline(true)
		parts := h.answered(t, "a", "room", "a1")
		h.store.Fail(dedup.ErrReadOnly)
		h.Owe(parts)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.said.texts("room"); len(got) != 1 {
			t.Fatalf("said %v while the store fails", got)
		}
		h.store.Fail(nil)
		if err := h.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.said.texts("room"); len(got) != 1 || h.owedInStore(t) != 0 {
			t.Errorf("said %v, %d owed", got, h.owedInStore(t))
		}
	})
}

func TestWhatIsOwedAtTheEndStaysInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(dedup.Part, int) (dedup.Outcome, error) { return dedup.Outcome{}, errors.New("never") })
		h.SetOnline(true)
		h.Owe(h.answered(t, "a", "room", "a1", "a2"))
		time.Sleep(10 * time.Second)
		h.Close()
		if n := h.owedInStore(t); n != 2 {
			t.Errorf("%d parts are owed in the store, want 2", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = h.Drained(ctx)
	})
}

// A post under way when the connection ends is broken off: nothing is posted
// offline. It is tried again at once with the next connection.
func TestAPostIsBrokenOffWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, posted)
		h.said.hang.Store(true)
		h.SetOnline(true)
		h.Owe(h.answered(t, "a", "room", "a1"))
		synctest.Wait()
		h.SetOnline(false)
		h.said.hang.Store(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := h.said.texts("room"); len(got) != 0 {
			t.Fatalf("said %v without a connection", got)
		}
		h.SetOnline(true)
		synctest.Wait()
		if got := h.said.texts("room"); !slices.Equal(got, []string{"a1"}) {
			t.Errorf("said %v at once with the next connection", got)
		}
	})
}

// What a server will never take doesn't hold up its room for an hour.
func TestADoomedPartEndsOnceAndLetsTheNextGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(p dedup.Part, try int) (dedup.Outcome, error) {
			if p.Text == "a1" {
				return dedup.Outcome{}, errDoomed
			}
			return posted(p, try)
		})
		h.SetOnline(true)
		began := time.Now()
		h.Owe(h.answered(t, "a", "room", "a1", "a2"))
		if err := h.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.said.texts("room"); !slices.Equal(got, []string{"a2"}) || h.outcomes["a0"].Reason != "doomed" {
			t.Errorf("said %v, the first ended as %+v", got, h.outcomes["a0"])
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the room was held up for %s", took)
		}
	})
}

func TestAfterTheEndPartsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, posted)
		h.SetOnline(true)
		h.Close()
		h.Owe(h.answered(t, "a", "room", "a1"))
		synctest.Wait()
		if got := h.said.texts("room"); len(got) != 0 || h.owedInStore(t) != 1 || h.Owed() != 0 {
			t.Errorf("said %v, %d in the store, %d owed", got, h.owedInStore(t), h.Owed())
		}
	})
}

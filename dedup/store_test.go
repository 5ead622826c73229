package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A subject is a store under test and how a process that starts later finds it.
type subject struct {
	Store
	// again closes the store, or has its process die, and opens it anew.
	again func(t *testing.T, s Store, kill bool) Store
}

func memorySubject(*testing.T) subject {
	return subject{NewMemory(), func(t *testing.T, s Store, kill bool) Store {
		if !kill {
			must(t, s.Close())
		}
		return s.(*Memory).Reopen()
	}}
}

func fileSubject(t *testing.T) subject {
	path := statePath(t)
	open := func() *DB {
		db, err := Open(path, Options{Bot: bot})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	return subject{open(), func(t *testing.T, s Store, kill bool) Store {
		if kill {
			s.(*DB).abandon()
		} else {
			must(t, s.Close())
		}
		return open()
	}}
}

// abandon ends a DB as the death of its process would: nothing is written.
func (db *DB) abandon() {
	db.mu.Lock()
	db.halt()
	db.mu.Unlock()
	db.work.Wait()
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	_ = db.disk.close()
}

// both runs a test against a Memory and a DB, in a bubble whose clock it turns.
func both(t *testing.T, test func(*testing.T, subject)) {
	for name, make := range map[string]func(*testing.T) subject{"memory": memorySubject, "file": fileSubject} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := make(t)
				test(t, s)
			})
		})
	}
}

var parts3 = []Part{
	{Step: "answer", Room: "room", Thread: "thread", Text: "first", Owed: noon},
	{Step: "answer", Room: "room", Thread: "thread", Text: "second", Owed: noon},
	{Step: "answer", Room: "room", File: "/home/bot/picture.png", Owed: noon},
}

// fresh moves a new question to a state and returns it.
func inState(t *testing.T, s Store, n int, state State) ID {
	t.Helper()
	ctx, q := t.Context(), question(n)
	mustClaim(t, s, q, true)
	if state >= Given {
		must(t, s.Give(ctx, q.ID))
	}
	if state >= Answered {
		must(t, s.Answer(ctx, q.ID, parts3))
	}
	if state >= Done {
		for i := range parts3 {
			must(t, s.Settle(ctx, q.ID, i, Outcome{MessageID: "m"}))
		}
	}
	return q.ID
}

func TestStepsInEveryState(t *testing.T) {
	type call struct {
		name string
		do   func(context.Context, Store, ID) error
	}
	calls := []call{
		{"give", func(ctx context.Context, s Store, id ID) error { return s.Give(ctx, id) }},
		{"answer", func(ctx context.Context, s Store, id ID) error { return s.Answer(ctx, id, parts3) }},
		{"answer silently", func(ctx context.Context, s Store, id ID) error { return s.Answer(ctx, id, nil) }},
		{"upload", func(ctx context.Context, s Store, id ID) error { return s.Upload(ctx, id, 2, "file") }},
		{"upload beyond", func(ctx context.Context, s Store, id ID) error { return s.Upload(ctx, id, 3, "file") }},
		{"settle", func(ctx context.Context, s Store, id ID) error { return s.Settle(ctx, id, 1, Outcome{}) }},
		{"settle beyond", func(ctx context.Context, s Store, id ID) error { return s.Settle(ctx, id, 3, Outcome{}) }},
		{"settle below", func(ctx context.Context, s Store, id ID) error { return s.Settle(ctx, id, -1, Outcome{}) }},
	}
	type result struct {
		err   error
		state State
	}
	want := map[string]map[State]result{
		"give":            {0: {ErrUnknown, 0}, Claimed: {nil, Given}, Given: {ErrOrder, Given}, Answered: {ErrOrder, Answered}, Done: {ErrOrder, Done}},
		"answer":          {0: {ErrUnknown, 0}, Claimed: {nil, Answered}, Given: {nil, Answered}, Answered: {ErrOrder, Answered}, Done: {ErrOrder, Done}},
		"answer silently": {0: {ErrUnknown, 0}, Claimed: {nil, Done}, Given: {nil, Done}, Answered: {ErrOrder, Answered}, Done: {ErrOrder, Done}},
		"upload":          {0: {ErrUnknown, 0}, Claimed: {ErrOrder, Claimed}, Given: {ErrOrder, Given}, Answered: {nil, Answered}, Done: {ErrOrder, Done}},
		"upload beyond":   {0: {ErrUnknown, 0}, Claimed: {ErrOrder, Claimed}, Given: {ErrOrder, Given}, Answered: {ErrUnknown, Answered}, Done: {ErrOrder, Done}},
		"settle":          {0: {ErrUnknown, 0}, Claimed: {ErrOrder, Claimed}, Given: {ErrOrder, Given}, Answered: {nil, Answered}, Done: {nil, Done}},
		"settle beyond":   {0: {ErrUnknown, 0}, Claimed: {ErrOrder, Claimed}, Given: {ErrOrder, Given}, Answered: {ErrUnknown, Answered}, Done: {nil, Done}},
		"settle below":    {0: {ErrUnknown, 0}, Claimed: {ErrOrder, Claimed}, Given: {ErrOrder, Given}, Answered: {ErrUnknown, Answered}, Done: {nil, Done}},
	}
	both(t, func(t *testing.T, s subject) {
		n := 0
		for _, c := range calls {
			for state, want := range want[c.name] {
				n++
				q := id(n)
				if state > 0 {
					q = inState(t, s, n, state)
				}
				if err := c.do(t.Context(), s, q); !errors.Is(err, want.err) {
					t.Errorf("%s when %s: %v, want %v", c.name, state, err, want.err)
				}
				if got, known := s.Known(q); got != want.state || known != (want.state > 0) {
					t.Errorf("%s when %s: then %s, want %s", c.name, state, got, want.state)
				}
				if state > 0 {
					mustClaim(t, s, Question{ID: q}, false)
				}
			}
		}
	})
}

func TestARestartFindsEveryStep(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		ctx := t.Context()
		inState(t, s, 4, Answered)
		inState(t, s, 1, Claimed)
		inState(t, s, 5, Done)
		inState(t, s, 2, Given)
		inState(t, s, 3, Answered)
		must(t, s.Settle(ctx, id(3), 0, Outcome{MessageID: "m"}))
		must(t, s.Upload(ctx, id(3), 2, "file1"))
		must(t, s.Settle(ctx, id(3), 1, Outcome{Reason: "late"}))
		s.Advance("room", at(time.Hour))
		mustClaim(t, s, Question{ID: id(6)}, true)

		was := question(3)
		was.State = Answered
		was.Parts = []Part{{Question: id(3), Index: 2, Step: "answer", Room: "room", File: "/home/bot/picture.png", Upload: "file1", Owed: noon}}
		for _, kill := range []bool{true, false, true} {
			s.Store = s.again(t, s.Store, kill)
			all := openQuestions(t, s)
			order := ""
			for _, q := range all {
				order += fmt.Sprintf("%d %s %d, ", q.ID.At.Sub(noon)/time.Millisecond, q.State, len(q.Parts))
			}
			if want := "1 claimed 0, 2 given 0, 3 answered 1, 4 answered 3, 6 claimed 0, "; order != want {
				t.Fatalf("open after a restart:\n got %s\nwant %s", order, want)
			}
			if diff := cmp.Diff(was, all[2]); diff != "" {
				t.Errorf("question 3 (-want +got):\n%s", diff)
			}
			if all[4].Claimed.IsZero() {
				t.Error("a claim without a time was given none")
			}
			if ts, ok := s.Cursor("room"); !ok || !ts.Equal(at(time.Hour)) {
				t.Errorf("cursor = %v, %v", ts, ok)
			}
			for n := 1; n <= 6; n++ {
				mustClaim(t, s, question(n), false)
			}
		}
		must(t, s.Settle(ctx, id(3), 2, Outcome{MessageID: "m"}))
		if state, _ := s.Known(id(3)); state != Done {
			t.Errorf("after its last part: %s", state)
		}
	})
}

func TestClaimIsFreshOnceAmongMany(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		const questions, claimers = 20, 8
		var mu sync.Mutex
		fresh := make(map[int]int)
		var wg sync.WaitGroup
		for range claimers {
			wg.Go(func() {
				for n := range questions {
					ok, err := s.Claim(t.Context(), question(n))
					if err != nil {
						t.Error(err)
					}
					if ok {
						mu.Lock()
						fresh[n]++
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		for n := range questions {
			if fresh[n] != 1 {
				t.Errorf("question %d was fresh %d times", n, fresh[n])
			}
		}
	})
}

func TestRecordsGoAfter72Hours(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		start := time.Date(2030, 1, 10, 20, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(start))
		ask := func(name string) Question { return Question{ID: ID{Message: name, At: time.Now()}} }
		old, unfinished := ask("old"), ask("unfinished")
		mustClaim(t, s, old, true)
		must(t, s.Answer(t.Context(), old.ID, nil))
		mustClaim(t, s, unfinished, true)
		for hours := range 24 * 6 {
			time.Sleep(time.Hour)
			mustClaim(t, s, ask(fmt.Sprint("hour ", hours)), true)
			if hours%20 == 0 {
				s.Store = s.again(t, s.Store, hours%40 == 0)
			}
			_, known := s.Known(old.ID)
			switch age := time.Since(start); {
			case age <= 72*time.Hour && !known:
				t.Fatalf("forgotten after %v", age)
			case age >= 97*time.Hour && known:
				t.Fatalf("still known after %v", age)
			}
		}
		if state, _ := s.Known(unfinished.ID); state != Claimed {
			t.Fatalf("an unfinished question is %s once its slot is gone", state)
		}
		mustClaim(t, s, unfinished, false)
		must(t, s.Give(t.Context(), unfinished.ID))
		must(t, s.Answer(t.Context(), unfinished.ID, parts3[:1]))
		must(t, s.Settle(t.Context(), unfinished.ID, 0, Outcome{}))
		if _, known := s.Known(unfinished.ID); known {
			t.Error("it is known although it is done and its slot is gone")
		}
	})
}

func TestLimits(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		ctx := t.Context()
		long := strings.Repeat("x", maxQuestion)
		if _, err := s.Claim(ctx, Question{ID: ID{Message: long}, Room: "r"}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("an endless id: %v", err)
		}
		if _, err := s.Claim(ctx, Question{}); err == nil {
			t.Error("a question without an id was claimed")
		}
		odd := Question{ID: ID{Message: "\x00\xff" + long[:20000]}, Room: "room"}
		mustClaim(t, s, odd, true)
		if err := s.Answer(ctx, odd.ID, []Part{{Text: strings.Repeat("x", maxAnswer+1)}}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("an endless answer: %v", err)
		}
		if err := s.Answer(ctx, odd.ID, make([]Part, maxParts+1)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("endless parts: %v", err)
		}
		must(t, s.Answer(ctx, odd.ID, []Part{{Text: strings.Repeat("x", 1<<20)}, {}}))
		s.Store = s.again(t, s.Store, true)
		all := openQuestions(t, s)
		if len(all) != 1 || all[0].ID.Message != odd.ID.Message || len(all[0].Parts[0].Text) != 1<<20 {
			t.Errorf("after a restart: %d questions", len(all))
		}
	})
}

func TestClosedStore(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		inState(t, s, 1, Claimed)
		must(t, s.Close())
		must(t, s.Close())
		s.Advance("room", noon)
		for name, err := range map[string]error{
			"claim":  func() error { _, err := s.Claim(t.Context(), question(1)); return err }(),
			"give":   s.Give(t.Context(), id(1)),
			"answer": s.Answer(t.Context(), id(1), nil),
			"upload": s.Upload(t.Context(), id(1), 0, ""),
			"settle": s.Settle(t.Context(), id(1), 0, Outcome{}),
			"open": func() error {
				for _, err := range s.Open(t.Context()) {
					return err
				}
				return nil
			}(),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOpenWhileStepsAreTaken(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		for n := range 5 {
			inState(t, s, n, Given)
		}
		var seen []string
		for q, err := range s.Open(t.Context()) {
			must(t, err)
			seen = append(seen, q.ID.Message)
			if len(seen) == 1 {
				must(t, s.Answer(t.Context(), id(1), nil))
				must(t, s.Answer(t.Context(), id(3), parts3))
				inState(t, s, 9, Claimed)
			}
			if q.ID == id(3) && q.State != Answered {
				t.Errorf("question 3 is told as %s", q.State)
			}
		}
		if want := []string{id(0).Message, id(2).Message, id(3).Message, id(4).Message}; !cmp.Equal(seen, want) {
			t.Errorf("saw %v, want %v", seen, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var errs []error
		for _, err := range s.Open(ctx) {
			errs = append(errs, err)
			cancel()
		}
		if len(errs) != 2 || !errors.Is(errs[1], context.Canceled) {
			t.Errorf("after its context ended: %v", errs)
		}
	})
}

// What a caller does with what he got, or gave, is his own affair.
func TestNothingIsShared(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		inState(t, s, 1, Claimed)
		mine := []Part{{Text: "said", Index: 7, Question: id(9)}}
		must(t, s.Answer(t.Context(), id(1), mine))
		mine[0].Text = "changed"
		got := openQuestions(t, s)[0]
		got.Parts[0].Text = "changed"
		again := openQuestions(t, s)[0].Parts[0]
		if again.Text != "said" || again.Index != 0 || again.Question != id(1) || again.Owed.IsZero() {
			t.Errorf("the part is %+v", again)
		}
	})
}

func TestCallerWhoLeftBeforeHisStep(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if fresh, err := s.Claim(ctx, question(1)); fresh || !errors.Is(err, context.Canceled) {
			t.Fatalf("Claim = %v, %v", fresh, err)
		}
		mustClaim(t, s, question(1), true)
		if err := s.Give(ctx, id(1)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		must(t, s.Give(t.Context(), id(1)))
	})
}

// breaks makes a subject's file, or what stands in for one, fail.
func (s subject) breaks(err error) {
	switch s := s.Store.(type) {
	case *Memory:
		s.Fail(err)
	case *DB:
		s.disk.mu.Lock()
		defer s.disk.mu.Unlock()
		s.disk.write = func(f *file, bot string, d *draft, gone []string) error {
			if err != nil {
				return err
			}
			return f.commit(bot, d, gone)
		}
	}
}

func TestTroubleAndRepair(t *testing.T) {
	for _, fault := range []error{ErrReadOnly, ErrDamaged} {
		both(t, func(t *testing.T, s subject) {
			ctx, mend := t.Context(), s.Store.(Mender)
			inState(t, s, 1, Given)
			s.Advance("room", noon)
			must(t, mend.Trouble())
			s.breaks(fault)
			if fresh, err := s.Claim(ctx, question(2)); fresh || !errors.Is(err, fault) {
				t.Errorf("Claim = %v, %v", fresh, err)
			}
			if err := s.Answer(ctx, id(1), parts3); !errors.Is(err, fault) {
				t.Errorf("Answer: %v", err)
			}
			mustClaim(t, s, question(1), false)
			if state, _ := s.Known(id(1)); state != Given {
				t.Errorf("a step that failed shows: %s", state)
			}
			if !errors.Is(mend.Trouble(), fault) {
				t.Errorf("Trouble() = %v", mend.Trouble())
			}
			if fault == ErrReadOnly {
				s.breaks(nil)
			} else if db, ok := s.Store.(*DB); ok {
				db.goOn()
			}
			must(t, mend.Repair(ctx))
			must(t, mend.Trouble())
			must(t, s.Answer(ctx, id(1), parts3))
			mustClaim(t, s, question(2), true)
			s.Store = s.again(t, s.Store, true)
			if _, ok := s.Cursor("room"); !ok || len(openQuestions(t, s)) != 2 {
				t.Errorf("afterwards: cursor %v, %d open", ok, len(openQuestions(t, s)))
			}
		})
	}
}

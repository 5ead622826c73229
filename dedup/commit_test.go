package dedup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// errDisk is what a disk that fails says.
var errDisk = errors.New("input/output error")

// A gate stands before a DB's commits.
type commitGate struct {
	arrived chan struct{}
	pass    chan error
}

// stop makes each commit arrive, and wait to be told how it ends: nil, an
// error before anything is written, or errAfter.
func (db *DB) stop() commitGate {
	g := commitGate{make(chan struct{}), make(chan error)}
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	db.disk.write = func(f *file, bot string, d *draft, gone []string) error {
		g.arrived <- struct{}{}
		err := <-g.pass
		if err == nil || errors.Is(err, errAfter) {
			if err := f.commit(bot, d, gone); err != nil {
				return err
			}
		}
		return err
	}
	return g
}

// errAfter is an error that a commit ends with although it happened.
var errAfter = fmt.Errorf("after all: %w", errDisk)

func (db *DB) goOn() {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	db.disk.write = (*file).commit
}

func TestCallerWhoLeavesDuringTheCommit(t *testing.T) {
	for _, outcome := range []error{nil, errDisk, errAfter} {
		for _, k := range []kind{claim, give, answer} {
			t.Run(fmt.Sprint(outcome, " kind ", k), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db := openNew(t)
					if k > claim {
						inState(t, db, 1, Claimed)
					}
					step := func(ctx context.Context) error {
						switch k {
						case give:
							return db.Give(ctx, id(1))
						case answer:
							return db.Answer(ctx, id(1), nil)
						}
						fresh, err := db.Claim(ctx, question(1))
						if err == nil && !fresh {
							return errors.New("not fresh")
						}
						return err
					}
					g := db.stop()
					ctx, cancel := context.WithCancel(t.Context())
					returned := make(chan struct{})
					go func() {
						<-g.arrived
						cancel()
						<-returned
						g.pass <- outcome
					}()
					if err := step(ctx); !errors.Is(err, context.Canceled) {
						t.Fatalf("left: %v", err)
					}
					close(returned)
					synctest.Wait()
					db.goOn()
					if err := step(t.Context()); err != nil {
						t.Errorf("taken again: %v", err)
					}
					if err := step(t.Context()); err == nil {
						t.Error("and a third time, as if it were the first")
					}
				})
			})
		}
	}
}

func TestStepsWhoseCommitFailed(t *testing.T) {
	for _, outcome := range []error{errDisk, errAfter} {
		t.Run(outcome.Error(), func(t *testing.T) {
			path, ctx := statePath(t), t.Context()
			db := openAt(t, path)
			inState(t, db, 1, Claimed)
			inState(t, db, 2, Given)
			inState(t, db, 3, Given)
			inState(t, db, 4, Answered)
			steps := map[string]func() error{
				"give":    func() error { return db.Give(ctx, id(1)) },
				"answer":  func() error { return db.Answer(ctx, id(2), parts3) },
				"silence": func() error { return db.Answer(ctx, id(3), nil) },
				"settle":  func() error { return db.Settle(ctx, id(4), 0, Outcome{}) },
				"claim": func() error {
					fresh, err := db.Claim(ctx, question(5))
					if err == nil && !fresh {
						return errors.New("claimed for nobody")
					}
					return err
				},
			}
			db.Advance("room", noon)
			g := db.stop()
			failed := make(chan bool)
			go func() {
				defer close(failed)
				for range steps {
					<-g.arrived
					g.pass <- outcome
				}
			}()
			for name, step := range steps {
				if err := step(); !errors.Is(err, ErrReadOnly) || !errors.Is(err, errDisk) {
					t.Errorf("%s: %v", name, err)
				}
			}
			<-failed
			if !errors.Is(db.Trouble(), ErrReadOnly) {
				t.Errorf("Trouble() = %v", db.Trouble())
			}
			if state, _ := db.Known(id(1)); outcome == errDisk && state != Claimed {
				t.Errorf("a step that failed shows: %s", state)
			}
			db.goOn()
			for name, step := range steps {
				if err := step(); err != nil {
					t.Errorf("%s, again: %v", name, err)
				}
			}
			must(t, db.Trouble())
			must(t, db.Close())
			again := openAt(t, path)
			for n, want := range map[int]State{1: Given, 2: Answered, 3: Done, 4: Answered, 5: Claimed} {
				if got, _ := again.Known(id(n)); got != want {
					t.Errorf("question %d is %s, want %s", n, got, want)
				}
			}
			if _, ok := again.Cursor("room"); !ok {
				t.Error("the cursor was lost")
			}
		})
	}
}

// Two claim one message, in one transaction, and the one it falls to leaves.
func TestTheOtherClaimantGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		g := db.stop()
		go db.Claim(t.Context(), question(1))
		<-g.arrived
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := db.Claim(ctx, question(2)); gone <- err }()
		synctest.Wait()
		var fresh bool
		var wg sync.WaitGroup
		wg.Go(func() { fresh, _ = db.Claim(t.Context(), question(2)) })
		synctest.Wait()
		g.pass <- nil
		<-g.arrived // with both
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g.pass <- nil
		wg.Wait()
		if !fresh {
			t.Error("neither has it")
		}
		db.goOn()
		mustClaim(t, db, question(2), false)
	})
}

func TestOneTransactionForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		inState(t, db, 0, Done)
		g := db.stop()
		var wg sync.WaitGroup
		results := make([]error, 40)
		wg.Go(func() { db.Claim(t.Context(), question(1000)) })
		<-g.arrived
		for n := range results {
			wg.Go(func() {
				switch n % 4 {
				case 0: // these can't be taken, which is nobody else's concern
					results[n] = db.Give(t.Context(), id(0))
				case 1:
					results[n] = db.Settle(t.Context(), id(5000), 0, Outcome{})
				default:
					_, results[n] = db.Claim(t.Context(), question(n))
				}
			})
		}
		synctest.Wait()
		g.pass <- nil
		<-g.arrived
		g.pass <- nil
		wg.Wait()
		for n, err := range results {
			want := error(nil)
			switch n % 4 {
			case 0:
				want = ErrOrder
			case 1:
				want = ErrUnknown
			}
			if !errors.Is(err, want) {
				t.Errorf("step %d: %v, want %v", n, err, want)
			}
		}
	})
}

func TestIdleStoreHasNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		db := openAt(t, quickPath(t))
		inState(t, db, 1, Answered)
		db.Advance("room", noon)
	}
	for tries := 0; runtime.NumGoroutine() > before; tries++ {
		if tries > 1e6 {
			t.Fatalf("%d goroutines for 50 idle stores", runtime.NumGoroutine()-before)
		}
		runtime.Gosched()
	}
}

func TestCloseWaitsForSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := statePath(t)
		db := openAt(t, path)
		g := db.stop()
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { _, err = db.Claim(t.Context(), question(1)) })
		<-g.arrived
		closed := make(chan error)
		go func() { closed <- db.Close() }()
		synctest.Wait()
		if err := db.Give(t.Context(), id(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("a step while it closes: %v", err)
		}
		g.pass <- nil
		wg.Wait()
		must(t, errors.Join(err, <-closed))
		mustClaim(t, openAt(t, path), question(1), false)
	})
}

func TestCursorsThatCantBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := statePath(t)
		var log strings.Builder
		db, err := Open(path, Options{Bot: bot, Log: logTo(&log)})
		must(t, err)
		fails := 0
		db.disk.write = func(*file, string, *draft, []string) error { fails++; return errDisk }
		db.Advance("room", noon)
		time.Sleep(time.Minute)
		synctest.Wait()
		if fails < 5 || fails > 15 || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%d tries in a minute, log:\n%s", fails, log.String())
		}
		db.goOn()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		must(t, db.Trouble())
		db.abandon()
		if _, ok := openAt(t, path).Cursor("room"); !ok {
			t.Error("not written once it could be")
		}
	})
}

func TestCloseSaysWhenCursorsAreLost(t *testing.T) {
	db := openNew(t)
	db.disk.write = func(*file, string, *draft, []string) error { return errDisk }
	db.Advance("room", noon)
	if err := db.Close(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Close: %v", err)
	}
}

func TestOtherBotsRecords(t *testing.T) {
	path, now := statePath(t), noon
	open := func(bot string) *DB {
		db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return now }})
		must(t, err)
		return db
	}
	one := open("bot one")
	inState(t, one, 1, Given)
	one.Advance("room", noon)
	must(t, one.Close())
	two := open("bot two")
	if _, ok := two.Cursor("room"); ok || len(openQuestions(t, two)) > 0 {
		t.Error("one bot sees another's records")
	}
	mustClaim(t, two, question(1), true)
	must(t, two.Close())
	one = open("bot one")
	if state, _ := one.Known(id(1)); state != Given {
		t.Errorf("back at the first bot: %s", state)
	}
	must(t, one.Close())
	two = open("bot two")
	now = noon.Add(5 * 24 * time.Hour)
	mustClaim(t, two, Question{ID: ID{Message: "later", At: now}}, true)
	must(t, two.Close())
	one = open("bot one")
	if _, known := one.Known(id(1)); known {
		t.Error("another bot's records are kept for ever")
	}
	must(t, one.Close())
}

func TestLockedByAnother(t *testing.T) {
	path := statePath(t)
	db := openAt(t, path)
	if _, err := Open(path, Options{Bot: bot, Timeout: time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second opener: %v", err)
	}
	mustClaim(t, db, question(1), true)
	must(t, os.Rename(path, path+".moved"))
	second := openAt(t, path)
	mustClaim(t, second, question(1), true)
	if _, err := db.Claim(t.Context(), question(2)); !errors.Is(err, ErrDamaged) {
		t.Errorf("two write different files: %v", err)
	}
	if err := db.Repair(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("Repair against a living owner: %v", err)
	}
	mustClaim(t, second, question(2), true)
	must(t, second.Close())
	must(t, db.Repair(t.Context()))
	mustClaim(t, db, question(3), true)
}

func TestManyOpenAtOnce(t *testing.T) {
	path := statePath(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []*DB
	for range 8 {
		wg.Go(func() {
			db, err := Open(path, Options{Bot: bot, Timeout: time.Millisecond})
			if err != nil {
				if !errors.Is(err, ErrLocked) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			won = append(won, db)
			mu.Unlock()
		})
	}
	wg.Wait()
	usable := 0
	for _, db := range won {
		if fresh, err := db.Claim(t.Context(), question(1)); err == nil && fresh {
			usable++
		}
		db.Close()
	}
	if usable != 1 || len(beside(path, "")) != 1 {
		t.Errorf("%d of %d could claim; files %q", usable, len(won), beside(path, ""))
	}
}

func TestLeftoverOfACreationIsSwept(t *testing.T) {
	path := statePath(t)
	must(t, os.WriteFile(path+newInfix+"AAAA", []byte("half"), 0o600))
	must(t, openAt(t, path).Close()) // makes it
	must(t, openAt(t, path).Close()) // has its lock
	names, err := filepath.Glob(path + "*")
	must(t, err)
	if len(names) != 1 {
		t.Errorf("there are %q", names)
	}
}

// failOnce makes the next commit end with an error; nil is none.
func (db *DB) failOnce(outcome error) {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	db.disk.write = func(f *file, bot string, d *draft, gone []string) error {
		failed := outcome
		outcome = nil
		if failed == nil || errors.Is(failed, errAfter) {
			if err := f.commit(bot, d, gone); err != nil {
				return err
			}
		}
		return failed
	}
}

func TestCursorThatMovesDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := statePath(t)
		db := openAt(t, path)
		g := db.stop()
		var wg sync.WaitGroup
		db.Advance("room", at(time.Second))
		wg.Go(func() { _, _ = db.Claim(t.Context(), question(1)) })
		<-g.arrived
		db.Advance("room", at(time.Minute))
		g.pass <- nil
		wg.Wait()
		db.goOn()
		mustClaim(t, db, question(2), true)
		db.abandon()
		if ts, _ := openAt(t, path).Cursor("room"); !ts.Equal(at(time.Minute)) {
			t.Errorf("cursor = %v", ts)
		}
	})
}

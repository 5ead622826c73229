package dedup

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

func init() { children["stream"] = stream }

// How far a question is, as a number: each step takes it one further.
const (
	unheard = iota
	isClaimed
	isGiven
	isAnswered // with two parts
	isHalf     // one of them settled
	isDone
)

const streamWriters = 4

// target is how far the stream takes question n.
func target(n int) int { return 1 + n%isDone }

// stream takes the steps of one question after another, from a number on, with
// streamWriters at a time, and says so once each is taken. It ends by being
// killed.
func stream(args []string) error {
	first, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	db, err := Open(args[0], Options{Bot: bot})
	if err != nil {
		return err
	}
	if at := db.Quarantined(); at != "" {
		return fmt.Errorf("killing damaged the file: %s", at)
	}
	var wg sync.WaitGroup
	for w := range streamWriters {
		wg.Go(func() {
			for n := first + w; ; n += streamWriters {
				for step := range target(n) {
					if err := takeStep(db, n, step); err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
					fmt.Printf("%d %d\n", n, step+1)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// takeStep takes question n from step to the next.
func takeStep(s Store, n, step int) error {
	ctx := context.Background()
	switch step {
	case unheard:
		s.Advance(fmt.Sprint("room", n%streamWriters), id(n).At)
		fresh, err := s.Claim(ctx, question(n))
		if err == nil && !fresh {
			err = fmt.Errorf("question %d is not fresh", n)
		}
		return err
	case isClaimed:
		return s.Give(ctx, id(n))
	case isGiven:
		return s.Answer(ctx, id(n), parts3[:2])
	}
	return s.Settle(ctx, id(n), step-isAnswered, Outcome{})
}

// reachedIn reads from a store how far all its questions are.
func reachedIn(t *testing.T, s Store, n int) map[int]int {
	far := make(map[int]int)
	for i := range n {
		if _, known := s.Known(id(i)); known {
			far[i] = isDone
		}
	}
	for q, err := range s.Open(t.Context()) {
		must(t, err)
		i := int(q.ID.At.Sub(noon) / time.Millisecond)
		far[i] = int(q.State)
		if q.State == Answered && len(q.Parts) == 1 {
			far[i] = isHalf
		}
	}
	return far
}

// A process that is killed at any moment of a stream of steps leaves each step
// that it said was taken, and of every writer at most the one it was taking.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("DEDUP_KILLS")); err == nil {
		kills = n
	}
	path := statePath(t)
	said := make(map[int]int)
	next, ahead := 0, 0
	for range kills {
		took := killedStream(t, path, next, rand.IntN(300), said)
		for n := range took {
			next = max(next, n+1)
		}
		next += streamWriters // those that may have been begun
		db := openAt(t, path)
		far := reachedIn(t, db, next)
		begun := make(map[int]int)
		for n := range next {
			switch {
			case far[n] == said[n]:
			case far[n] == said[n]+1:
				ahead++
				begun[n%streamWriters]++
			default:
				t.Fatalf("question %d was said to be at %d and is at %d", n, said[n], far[n])
			}
			if ts, _ := db.Cursor(fmt.Sprint("room", n%streamWriters)); said[n] > 0 && ts.Before(id(n).At) {
				t.Fatalf("the cursor of question %d is behind it", n)
			}
			said[n] = far[n]
		}
		for w, n := range begun {
			if n > 1 {
				t.Fatalf("writer %d had %d steps under way", w, n)
			}
		}
		must(t, db.Close())
	}
	t.Logf("%d kills, %d questions, %d steps were taken and not yet said", kills, next, ahead)
	if next < kills*streamWriters*2 {
		t.Error("the stream hardly got anywhere")
	}
}

// killedStream runs a stream, kills it after it said so many things, and notes
// all it said.
func killedStream(t *testing.T, path string, first, after int, said map[int]int) map[int]bool {
	t.Helper()
	child := exec.Command(os.Args[0], path, strconv.Itoa(first))
	child.Env = append(os.Environ(), childEnv+"=stream")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	took := make(map[int]bool)
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		var n, step int
		if _, err := fmt.Sscan(lines.Text(), &n, &step); err != nil {
			t.Fatalf("it said %q", lines.Text())
		}
		said[n], took[n] = step, true
		if i == after {
			must(t, child.Process.Kill())
		}
	}
	_ = child.Wait()
	if s := child.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", child.ProcessState)
	}
	return took
}

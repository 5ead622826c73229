package channel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

// A worker is an agent that notes when it is closed.
type worker struct {
	agent.Echo
	closed atomic.Int64 // Unix seconds
	err    error
}

func (w *worker) Close(context.Context) error {
	w.closed.Store(time.Now().Unix())
	return w.err
}

// An agent that is replaced ends when its running turns have, and is waited for
// no longer than a minute; new turns are the next one's, and begin when it is
// gone.
func TestAnAgentIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := &worker{}, &worker{}, &worker{err: errors.New("hangs")}
		s, err := hire(Env{Agent: func(Start, Link) (agent.Agent, error) { return first, nil }}, Start{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, release := s.hire()
		_, another := s.hire()
		s.replace(second)
		got, done := s.hire()
		if h, ok := got.(heir); !ok || h.Agent != second {
			t.Errorf("hired %v", got)
		}
		began := make(chan time.Time, 1)
		go func() {
			if _, err := got.Begin(t.Context(), agent.Question{}); err != nil {
				t.Error(err)
			}
			began <- time.Now()
			done()
		}()
		impatient, stop := context.WithCancel(t.Context())
		stop()
		if _, err := got.Begin(impatient, agent.Question{}); !errors.Is(err, context.Canceled) {
			t.Errorf("one that was stopped while it waits: %v", err)
		}
		replaced := time.Now()
		time.Sleep(30 * time.Second)
		release()
		synctest.Wait()
		if first.closed.Load() != 0 {
			t.Error("closed with a turn running")
		}
		another()
		synctest.Wait()
		if after := (<-began).Sub(replaced); after != 30*time.Second {
			t.Errorf("the next turn began after %s", after)
		}
		if got, done := s.hire(); got != second {
			t.Errorf("then hired %v", got)
		} else {
			done()
		}
		if first.closed.Load() == 0 {
			t.Error("not closed with its last turn")
		}
		since := time.Now().Unix()
		_, stuck := s.hire()
		s.replace(third)
		time.Sleep(2 * time.Minute)
		if got := second.closed.Load() - since; got != 60 {
			t.Errorf("closed after %d s", got)
		}
		stuck()
		if err := s.close(t.Context()); err == nil || third.closed.Load() == 0 {
			t.Errorf("the last was closed with %v", err)
		}
	})
}

// One that is replaced before it did anything lets nobody past those before it.
func TestTwoReplacementsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := &worker{}, &worker{}, &worker{}
		s, err := hire(Env{Agent: func(Start, Link) (agent.Agent, error) { return first, nil }}, Start{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.hire() // and never released
		s.replace(second)
		s.replace(third)
		synctest.Wait()
		got, _ := s.hire()
		began := time.Now()
		if _, err := got.Begin(t.Context(), agent.Question{}); err != nil || time.Since(began) != replaceGrace {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if first.closed.Load() == 0 || second.closed.Load() == 0 {
			t.Error("one of them is left")
		}
		if err := s.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestReplacedAgentsEndWithTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &worker{}, &worker{}
		s, err := hire(Env{Agent: func(Start, Link) (agent.Agent, error) { return first, nil }}, Start{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.hire()
		s.replace(second)
		if err := s.close(t.Context()); err != nil {
			t.Error(err)
		}
		if first.closed.Load() == 0 || second.closed.Load() == 0 {
			t.Error("an agent was left")
		}
	})
}

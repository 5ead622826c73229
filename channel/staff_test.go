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
// no longer than a minute; new turns are the next one's.
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
		if got, done := s.hire(); got != second {
			t.Errorf("hired %v", got)
		} else {
			done()
		}
		time.Sleep(30 * time.Second)
		release()
		synctest.Wait()
		if first.closed.Load() != 0 {
			t.Error("closed with a turn running")
		}
		another()
		synctest.Wait()
		if first.closed.Load() == 0 {
			t.Error("not closed with its last turn")
		}
		began := time.Now().Unix()
		_, stuck := s.hire()
		s.replace(third)
		time.Sleep(2 * time.Minute)
		if got := second.closed.Load() - began; got != 60 {
			t.Errorf("closed after %d s", got)
		}
		stuck()
		if err := s.close(t.Context()); err == nil || third.closed.Load() == 0 {
			t.Errorf("the last was closed with %v", err)
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

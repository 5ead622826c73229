package supervisor

import (
	"context"
	"errors"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/internal/worker"
)

// This test's own binary is what the process carrier executes: it is the
// program a supervisor was started from.
func init() {
	if worker.IsWorker(os.Args) {
		os.Exit(worker.Main(os.Args, channel.Env{Agent: testAgent}))
	}
}

func TestMain(m *testing.M) {
	// Most of these tests wait for a second or two to pass.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("12")
	}
	goleak.VerifyTestMain(m)
}

// testAgent answers as echo does, whatever kind is set: what a supervisor does
// about agents does not depend on what they answer. The command "none" stands
// for a kind that can't be had.
func testAgent(s channel.Start, _ channel.Link) (agent.Agent, error) {
	if c := s.Settings.Agent.Command; len(c) > 0 && c[0] == "none" {
		return nil, errors.New("no such agent")
	}
	if c := s.Settings.Agent.Command; len(c) > 0 && c[0] == "vandal" {
		return vandal{}, nil
	}
	if c := s.Settings.Agent.Command; len(c) > 0 && c[0] == "confess" {
		return confessing{start: s}, nil
	}
	if c := s.Settings.Agent.Command; len(c) > 1 && c[0] == "slow" {
		d, err := time.ParseDuration(c[1])
		return slow{d: d}, err
	}
	return agent.Echo{}, nil
}

// slow is an echo that takes its time.
type slow struct {
	agent.Echo
	d time.Duration
}

func (s slow) Begin(_ context.Context, q agent.Question) (agent.Turn, error) {
	t := slowTurn{events: make(chan agent.Event, 2), cancel: make(chan struct{}, 1)}
	go func() {
		defer close(t.events)
		select {
		case <-time.After(s.d):
			t.events <- agent.Text{Chunk: "echo: " + q.Message.Text}
			t.events <- agent.Done{Stop: agent.Ended}
		case <-t.cancel:
			t.events <- agent.Done{Stop: agent.Cancelled}
		}
	}()
	return t, nil
}

type slowTurn struct {
	events chan agent.Event
	cancel chan struct{}
}

func (t slowTurn) Events() <-chan agent.Event  { return t.events }
func (t slowTurn) Answer(string, string) error { return nil }

func (t slowTurn) Cancel() {
	select {
	case t.cancel <- struct{}{}:
	default:
	}
}

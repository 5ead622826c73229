package supervisor

import (
	"context"
	"sync"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
)

// A moody agent panics or hangs where its channel asks it for its state.
type moody struct {
	agent.Echo
	mu    sync.Mutex
	panic bool
	hang  chan struct{}
}

func (m *moody) State() agent.State {
	m.mu.Lock()
	panics, hang := m.panic, m.hang
	m.mu.Unlock()
	if panics {
		panic("moody")
	}
	if hang != nil {
		<-hang
	}
	return m.Echo.State()
}

func (m *moody) Close(context.Context) error { return nil }

// moodyHouse has one profile, alice, whose agent is moody.
func moodyHouse(t *testing.T) (*house, *moody) {
	h, m := newHouse(t, worker.Shared), &moody{}
	h.add("alice", quick)
	h.add("bob", quick)
	h.config.Carrier = worker.NewShared(channel.Env{Agent: func(s channel.Start, _ channel.Link) (agent.Agent, error) {
		if s.Profile == "alice" {
			return m, nil
		}
		return agent.Echo{}, nil
	}})
	h.start()
	h.online("alice", "bob")
	return h, m
}

// In shared isolation a panic is the end of one channel alone.
func TestAPanicIsContained(t *testing.T) {
	t.Parallel()
	h, m := moodyHouse(t)
	undisturbed := h.undisturbed("bob")
	m.mu.Lock()
	m.panic = true
	m.mu.Unlock()
	h.must(h.super.Rescan(h.Context()))
	h.write("alice", "channel.yaml", quick+"limits: {queue: 3}\n") // has it make a report
	h.was("alice", "backoff crashed")
	m.mu.Lock()
	m.panic = false
	m.mu.Unlock()
	h.online("alice")
	undisturbed()
}

// In shared isolation nothing can end a channel that hangs: it is held, and goes
// on as told once it is over by itself. No second one runs beside it.
func TestAHungChannelIsHeld(t *testing.T) {
	t.Parallel()
	h, m := moodyHouse(t)
	undisturbed := h.undisturbed("bob")
	release := make(chan struct{})
	m.mu.Lock()
	m.hang = release
	m.mu.Unlock()
	h.write("alice", "channel.yaml", quick+"limits: {queue: 3}\n")
	h.pause(answerWithin / 5)
	h.write("alice", "channel.yaml", quick+"limits: {queue: 4}\n") // which is not taken
	p := h.await("alice", healthcheck.Held, healthcheck.Hung)
	if deref(p.Action) != "rcsupervisor run --isolation process" || *p.Run != 1 {
		h.Errorf("%q, run %d", deref(p.Action), *p.Run)
	}
	m.mu.Lock()
	m.hang = nil
	m.mu.Unlock()
	close(release)
	p = h.await("alice", healthcheck.Online, "")
	if *p.Run != 2 {
		h.Errorf("run %d", *p.Run)
	}
	undisturbed()
}

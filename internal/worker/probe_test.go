package worker

import (
	"context"
	"io"
	"strings"

	"rcsupervisor/channel"
	"rcsupervisor/channel/agent"
)

// A probe is an agent that runs a script for each question, as a real one runs
// a program, and answers with its output. Without a script it is an echo.
type probe struct {
	agent.Echo
	script []string
	link   channel.Link
}

func (p *probe) Begin(ctx context.Context, q agent.Question) (agent.Turn, error) {
	if len(p.script) == 0 {
		return p.Echo.Begin(ctx, q)
	}
	proc, err := p.link.Spawn(context.WithoutCancel(ctx), agent.Spec{
		Argv: p.script, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
	})
	if err != nil {
		return nil, err
	}
	t := &probeTurn{events: make(chan agent.Event, 2), proc: proc}
	go t.run()
	return t, nil
}

type probeTurn struct {
	events chan agent.Event
	proc   agent.Process
}

func (t *probeTurn) run() {
	defer close(t.events)
	t.proc.Stdin().Close()
	go io.Copy(io.Discard, t.proc.Stderr())
	out, _ := io.ReadAll(t.proc.Stdout())
	_ = t.proc.Wait()
	t.events <- agent.Text{Chunk: strings.TrimSpace(string(out))}
	t.events <- agent.Done{Stop: agent.Ended}
}

func (t *probeTurn) Events() <-chan agent.Event  { return t.events }
func (t *probeTurn) Answer(string, string) error { return nil }
func (t *probeTurn) Cancel()                     { _ = t.proc.Kill() }

package agent

import (
	"context"
	"errors"
)

// Echo answers "echo: " and the question's text. It runs nothing and can be
// trusted with everything, which is why widening applies to it at once.
type Echo struct{}

var _ Agent = Echo{}

// Begin answers at once.
func (Echo) Begin(_ context.Context, q Question) (Turn, error) {
	t := make(echoTurn, 2)
	t <- Text{Chunk: "echo: " + q.Message.Text}
	t <- Done{Stop: Ended}
	close(t)
	return t, nil
}

// State is always ready.
func (Echo) State() State { return State{Kind: "echo", State: "ready"} }

// Close has nothing to end.
func (Echo) Close(context.Context) error { return nil }

type echoTurn chan Event

func (t echoTurn) Events() <-chan Event { return t }
func (t echoTurn) Cancel()              {}

func (t echoTurn) Answer(string, string) error {
	return errors.New("echo asks nothing")
}

package worker

import (
	"context"
	"strconv"

	"rcsupervisor/channel/agent"
)

// spawn starts an agent's process below this one, as this one's user. What is
// left of it when it ends is the agent's own to end; what is left of all of
// them, at the end of a run, is this package's.
func spawn(ctx context.Context, s agent.Spec) (agent.Process, error) { return agent.Start(ctx, s) }

func itoa(n int) string { return strconv.Itoa(n) }

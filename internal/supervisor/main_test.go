package supervisor

import (
	"errors"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

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
	return agent.Echo{}, nil
}

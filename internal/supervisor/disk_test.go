package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/healthcheck"
)

// A ledger that can't be written: what was asked is done, and said not to last;
// status says so until it can be written again.
func TestTheLedgerCantBeWritten(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.start()
		h.online("alice")
		state := filepath.Join(h.dir, "state")
		h.must(os.RemoveAll(state))
		err := h.super.Stop(h.Context(), "alice")
		o, ok := errors.AsType[*OrderError](err)
		if !ok || !strings.Contains(o.Text, "forgotten when the supervisor ends") {
			h.Errorf("%v", err)
		}
		h.await("alice", healthcheck.Off, healthcheck.Operator)
		st, _ := h.super.Status(Everybody)
		if len(st.Supervisor.Problems) != 1 || !strings.HasPrefix(st.Supervisor.Problems[0], "the ledger can't be written") {
			h.Errorf("%q", st.Supervisor.Problems)
		}
		h.must(h.stop())
	})
}

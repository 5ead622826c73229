package healthcheck

import (
	"slices"
	"testing"
)

// The words are a contract: other programs read them from status --json.
func TestWords(t *testing.T) {
	states := []State{"off", "starting", "connecting", "online", "backoff", "needs-token", "needs-config", "held", "stopping"}
	if !slices.Equal(States(), states) {
		t.Errorf("states %v", States())
	}
	want := []Reason{
		"silent", "deaf", "closed", "dropped", "unreachable", "rate-limited", "refused", "identity",
		"crashed", "hung", "busy", "operator", "reload",
		"unsealed", "bad-config", "duplicate", "moved", "rebound", "rolled-back", "suspended",
		"gone", "name-taken", "ledger-lost",
	}
	if !slices.Equal(Reasons(), want) {
		t.Errorf("reasons %v", Reasons())
	}
	for _, r := range Reasons() {
		if !r.IsEnd() && !r.IsHold() {
			t.Errorf("%s is neither an end nor a hold", r)
		}
		if (sayings[r] == saying{}) {
			t.Errorf("%s has no words", r)
		}
	}
}

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		enabled, wanted, suspended bool
		want                       Reason
	}{
		{true, true, false, ""},
		{true, false, false, Operator},
		{false, true, false, Reload},
		{false, false, false, Reload},
		{true, true, true, Suspended},
		{true, false, true, Suspended},
		{false, true, true, Suspended},
		{false, false, true, Suspended},
	} {
		got := Resting(c.enabled, c.wanted, c.suspended)
		if got != c.want {
			t.Errorf("%+v rests for %q", c, got)
		}
		if Runs(c.enabled, c.wanted, c.suspended) != (got == "") {
			t.Errorf("%+v: Runs and Resting differ", c)
		}
	}
}

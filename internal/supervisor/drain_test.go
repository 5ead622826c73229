package supervisor

import (
	"slices"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// answers counts what a bot said in its room with the owner.
func (h *house) answers(name string) []string {
	var said []string
	for _, m := range h.server.Messages(h.server.AddDirect(h.owner, h.bots[name])) {
		if m.User.Username == name {
			said = append(said, m.Text)
		}
	}
	return said
}

// working asks a bot something that takes its time, and returns when it is at
// it.
func (h *house) working(name, text string) {
	h.Helper()
	h.server.Say(h.owner, h.server.AddDirect(h.owner, h.bots[name]), text)
	h.until(name+" is at work", func() bool {
		p, _ := h.super.Profile(Everybody, name)
		return p.Counters.Claimed > 0
	})
}

// At its end the supervisor takes nothing more in, and lets running turns come
// to theirs.
func TestRunningTurnsComeToTheirEnd(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.config.Drain = 20 * time.Second
		h.add("alice", "agent: {kind: exec, command: [slow, 2s]}\n")
		h.start()
		h.online("alice")
		h.working("alice", "what is the time?")
		began := time.Now()
		h.must(h.stop())
		if d := time.Since(began); d > 10*time.Second {
			h.Errorf("it took %v", d)
		}
		if got := h.answers("alice"); !slices.Contains(got, "echo: what is the time?") {
			h.Errorf("the bot said %q", got)
		}
	})
}

// The drain time is the longest it may take, and a second wish to end cuts it
// short.
func TestTheDrainIsBounded(t *testing.T) {
	t.Parallel()
	for name, hurry := range map[string]bool{"of itself": false, "by a second signal": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(h *house) {
				h.config.Drain = time.Second
				if hurry {
					h.config.Drain = time.Hour
				}
				h.add("alice", "agent: {kind: exec, command: [slow, 2h]}\n")
				h.start()
				h.online("alice")
				h.working("alice", "what is the time?")
				if hurry {
					time.AfterFunc(300*time.Millisecond, func() { close(h.hurry) })
				}
				began := time.Now()
				h.must(h.stop())
				if d := time.Since(began); d > killAfter {
					h.Errorf("it took %v", d)
				}
				// What was given to the agent is not asked again, and says so.
				h.write("alice", "channel.yaml", "agent: {kind: exec, command: [answer]}\n")
				h.start()
				h.online("alice")
				h.until("a note of the interruption", func() bool { return len(h.answers("alice")) > 0 })
				if got := h.answers("alice"); slices.Contains(got, "echo: what is the time?") {
					h.Errorf("the bot said %q", got)
				}
			})
		})
	}
}

// A profile that is stopped while it dials a server that does not answer is off
// at once.
func TestStoppingWhileItDials(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		h.server.Break(pretend.Fault{Kind: pretend.HoldConnected})
		h.start()
		h.await("alice", "connecting", "")
		began := time.Now()
		h.must(h.super.Stop(h.Context(), "alice"))
		if d := time.Since(began); d > 3*time.Second {
			h.Errorf("it took %v", d)
		}
	})
}

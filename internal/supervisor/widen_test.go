package supervisor

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// agentSettings are those of a profile whose agent could write its own files.
const agentSettings = "agent: {kind: exec, command: [answer]}\nhealth: {silence: 3s, ping: 1s, check: 5s}\n"

// roleOf is what a person may in a profile, as its channel was last told.
func (h *house) roleOf(name, id string) profile.Role {
	for _, p := range h.super.keeper(name).view.Load().start.Access.People {
		if p.ID == id {
			return p.Role
		}
	}
	return ""
}

// Files narrow, people widen: what an agent writes into its own access.yaml
// gives it nothing but a line that waits for a person.
func TestWhatFilesGiveWaitsForAPerson(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", agentSettings)
		mallory := h.server.AddUser("mallory", pretend.UserOptions{})
		friend := h.server.AddUser("friend", pretend.UserOptions{})
		h.start()
		h.online("alice")
		undisturbed := h.undisturbed("alice")
		h.asks("alice", "hello") // what a home holds when it is first seen is a person's
		access := "people:\n  - {id: %OWNER%, name: \"olivia\", role: owner}\n  - {id: %MALLORY%, name: \"mallory\", role: owner}\n"
		access = strings.NewReplacer("%OWNER%", h.owner.ID, "%MALLORY%", mallory.ID).Replace(access)
		h.write("alice", "access.yaml", access)
		p := h.awaitThat("alice", "with something pending", func(p ProfileStatus) bool { return len(p.Pending) == 1 })
		if want := "person " + mallory.ID + " becomes owner"; p.Pending[0] != want {
			h.Errorf("pending %q", p.Pending)
		}
		if !slices.ContainsFunc(p.Warnings, func(w healthcheck.Warning) bool { return w.Code == "pending" }) {
			h.Errorf("warnings %v", p.Warnings)
		}
		if plan := h.super.Plan(Everybody); len(plan.Profiles) != 1 || !slices.Equal(plan.Profiles[0].Pending, p.Pending) {
			h.Errorf("plan %+v", plan)
		}
		if r := h.roleOf("alice", mallory.ID); r != "" {
			h.Errorf("mallory is %s", r)
		}
		// What a person gives is in use at once, and nothing else with it.
		h.must(h.super.EditAccess(h.Context(), "alice", profile.LetIn(profile.Person{ID: friend.ID, Name: "friend", Role: profile.Member})))
		h.until("friend is let in", func() bool { return h.roleOf("alice", friend.ID) == profile.Member })
		if r := h.roleOf("alice", mallory.ID); r != "" {
			h.Errorf("mallory is %s", r)
		}
		// It is not forgotten by an end of the supervisor.
		undisturbed()
		h.must(h.stop())
		h.start()
		h.online("alice")
		if r := h.roleOf("alice", mallory.ID); r != "" {
			h.Errorf("after a restart mallory is %s", r)
		}
		if r := h.roleOf("alice", friend.ID); r != profile.Member {
			h.Errorf("after a restart friend is %q", r)
		}
		// Taken away at once, given back by a person alone.
		h.write("alice", "access.yaml", "people: []\n")
		h.until("the owner is out", func() bool { return h.roleOf("alice", h.owner.ID) == "" })
		h.write("alice", "access.yaml", access)
		h.awaitThat("alice", "with two things pending", func(p ProfileStatus) bool { return len(p.Pending) == 2 })
		taken, err := h.super.Accept(h.Context(), "alice")
		if err != nil || len(taken) != 2 {
			h.Errorf("accepted %q, %v", taken, err)
		}
		h.until("mallory is owner", func() bool { return h.roleOf("alice", mallory.ID) == profile.Owner })
		if taken, err := h.super.Accept(h.Context(), "alice"); err != nil || len(taken) != 0 {
			h.Errorf("accepted again %q, %v", taken, err)
		}
	})
}

// An agent can't make itself another one either.
func TestAnAgentIsNotChangedByItself(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", agentSettings)
		h.start()
		h.online("alice")
		h.write("alice", "channel.yaml", strings.Replace(agentSettings, "[answer]", "[sh, -c, evil]", 1)+"limits: {queue: 3}\n")
		p := h.awaitThat("alice", "with something pending", func(p ProfileStatus) bool { return len(p.Pending) > 0 })
		if !strings.HasPrefix(p.Pending[0], "agent.command changes") {
			h.Errorf("%q", p.Pending)
		}
		h.until("the queue is 3", func() bool { return h.super.keeper("alice").view.Load().start.Settings.Limits.Queue == 3 })
		if c := h.super.keeper("alice").view.Load().start.Settings.Agent.Command; !slices.Equal(c, []string{"answer"}) {
			h.Errorf("the agent is %q", c)
		}
	})
}

// echo runs nothing, so all its files say is believed.
func TestEchoIsBelieved(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", quick)
		friend := h.server.AddUser("friend", pretend.UserOptions{})
		h.start()
		h.online("alice")
		data, err := os.ReadFile(h.path("alice", "access.yaml"))
		h.must(err)
		h.write("alice", "access.yaml", string(data)+"  - {id: "+friend.ID+", role: member}\n")
		h.until("friend is let in", func() bool { return h.roleOf("alice", friend.ID) == profile.Member })
	})
}

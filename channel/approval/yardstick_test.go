package approval

import (
	"strings"
	"testing"

	"rcsupervisor/channel/agent"
)

// What keeps a shared bot from acting for the wrong person, where it is met by
// what is offered. The gate has who may decide.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	t.Run("one member changes approvals for everybody", func(t *testing.T) {
		o := func(id, name, kind string) agent.Option { return agent.Option{ID: id, Name: name, Kind: kind} }
		// All that Hermes and other agents offer, the order of which is theirs.
		asked := agent.Asked{ID: "1", Title: "Run a command", Body: "rm -rf build", Options: []agent.Option{
			o("allow_always", "Allow always", "allow_always"), o("allow_session", "Allow for session", "allow_always"), o("allow_once", "Allow once", "allow_once"),
			o("proceed_always", "Yes, and always", "allow_once"), o("s", "Allow for this session", ""), o("d", "Yes, don't ask again", "allow_once"),
			o("deny", "Deny", "reject_once"), o("deny_always", "Deny always", "reject_always"),
		}}
		b := New(0)
		a := ask("q1")
		a.Asked = asked
		b.Ask(a, at(0))
		b.Shown(a.Name(), at(0).Server)
		given := choicesOf(b, a.Name())
		var options []string
		for _, c := range given {
			options = append(options, c.Option)
		}
		if got := strings.Join(options, " "); got != "allow_once deny" {
			t.Errorf("offered: %s", got)
		}
		// One that offers nothing else can only be refused.
		for _, kind := range []string{"allow_always", "allow_once"} {
			if got := offer(agent.Asked{Options: []agent.Option{o("a", "Always allow", kind)}}); len(got) != 1 || !got[0].refuse || got[0].option != "" {
				t.Errorf("offered: %+v", got)
			}
		}
	})
}

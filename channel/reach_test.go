package channel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
)

// An agent that has far too much to say breaks nothing: the room sees the
// beginning and is told where the rest is, and the next question is answered.
func TestAnAnswerOfTenMegabytes(t *testing.T) {
	const agreed = `read _; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read _; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
say() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
`
	for name, test := range map[string]struct{ kind, script string }{
		"exec": {"exec", `case "$(cat)" in *'"text":"again"'*) echo fine;; *) yes 'a line of the answer' | head -c 10000000;; esac`},
		"acp, in pieces": {"acp", agreed + `read _
some=$(yes 'a line of the answer\n' | head -n 5000 | tr -d '\n')
for i in $(seq 100); do say "$some"; done
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read _; say fine; echo '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'
read _`},
		"acp, in one": {"acp", agreed + `read _
printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
yes 'a line of the answer\n' | head -n 500000 | tr -d '\n'
echo '"}}}}'
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read _; say fine; echo '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'
read _`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := overTCP(t, false, pretend.Options{})
			h.program(test.script)
			h.start.Settings.Agent.Kind = test.kind
			h.run().online(0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h.server.Say(h.owner, h.direct, "tell me everything")
			var said []string
			until := func(n int) {
				if h.server.Await(ctx, func() bool { said = h.said(h.direct); return len(said) >= n }) != nil {
					t.Fatalf("it said %d things\nlog:\n%s", len(said), h.super.lines())
				}
			}
			until(5)
			if !strings.HasPrefix(said[0], "a line of the answer\n") || !strings.Contains(said[3], "longer than I read") || said[4] != "" {
				t.Errorf("it said %.200q\nlog:\n%s", said, h.super.lines())
			}
			all := h.server.Messages(h.direct)
			if f := all[len(all)-1].Files; len(f) != 1 || f[0].Name != longName || f[0].Size != agent.MaxText+len(agent.SayCut) {
				t.Errorf("the file is %+v", f)
			}
			h.server.Say(h.owner, h.direct, "again")
			until(6)
			if !slices.Equal(said[5:], []string{"fine"}) {
				t.Errorf("and then it said %q\nlog:\n%s", said[5:], h.super.lines())
			}
			if left := h.state(outgoingName); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// Two hundred conversations of one profile at once: each gets its answer, once.
func TestTwoHundredConversations(t *testing.T) {
	const many = 200
	inBubble(t, pretend.V9, func(h *house) {
		people, rooms := make([]pretend.User, many), make([]pretend.Room, many)
		for i := range many {
			people[i] = h.server.AddUser(fmt.Sprint("person", i), pretend.UserOptions{})
			rooms[i] = h.server.AddDirect(people[i], h.bot)
			h.start.Access.People = append(h.start.Access.People, profile.Person{ID: people[i].ID, Role: profile.Member})
		}
		h.up()
		for range 3 {
			for i := range many {
				h.server.Say(people[i], rooms[i], fmt.Sprint("question ", i))
			}
		}
		h.pass(time.Minute)
		for i := range many {
			h.wants(rooms[i], slices.Repeat([]string{fmt.Sprint("echo: question ", i)}, 3)...)
		}
		if got := h.counters(); got.Answered != 3*many {
			h.t.Errorf("%d are counted as answered", got.Answered)
		}
	})
}

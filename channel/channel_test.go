package channel

import (
	"testing"

	"rcsupervisor/channel/pretend"
)

func eachVersion(t *testing.T, f func(h *house), options ...option) {
	t.Helper()
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) { inBubble(t, v, f, options...) })
	}
}

// The whole way of a message, on every kind of server.
func TestAQuestionIsAnswered(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "hello")
		h.say(h.member, h.lab, "@hermes what time is it?")
		h.say(h.member, h.lab, "nothing for you")
		h.say(h.member, h.den, "@hermes and here?")
		h.wants(h.direct, "echo: hello")
		h.wants(h.lab, "echo: what time is it?")
		h.wants(h.den, "echo: and here?")
		c := h.counters()
		if c.Claimed != 3 || c.Answered != 3 || c.Duplicates != 0 || c.Ignored["unwoken"] != 1 {
			h.t.Errorf("counted %+v", c)
		}
	})
}

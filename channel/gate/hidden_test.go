package gate

import (
	"strings"
	"testing"
	"time"
)

// What looks like a command is one, whatever is hidden in it; what only looks
// odd is what it is.
func TestCommandsWithSomethingHidden(t *testing.T) {
	for _, hidden := range []string{"\u200b", "\u2060", "\ufeff", "\u202e", "\ufe0f", "\U000e0100", "\U000e0041", "\u3164", "\u115f", "\u034f", "\u2065", "\u17b4"} {
		for _, text := range []string{hidden + "/yolo now", "/" + hidden + "yolo now", "/yo" + hidden + "lo now", "/yolo" + hidden + " now", "!y" + hidden + "olo now", "!" + hidden + hidden + "yolo now", " " + hidden + " !yolo now"} {
			m, f := direct(member, text)
			if v := Decide(m, f); v.Action != Refuse || v.Command != (Command{"yolo", "now"}) {
				t.Errorf("a member's %q: %+v", text, v)
			}
			m.Sender.ID = owner
			if v := Decide(m, f); v.Action != Ask || !v.Bare || !strings.HasPrefix(v.Text, "/yolo") {
				t.Errorf("an owner's %q: %+v", text, v)
			}
		}
		m, f := direct(member, "!st"+hidden+"op")
		if v := Decide(m, f); v.Action != Order || v.Command.Name != Stop {
			t.Errorf("!stop with %q in it: %+v", hidden, v)
		}
		// Words of approval, padded or parted by what is not seen, decide nothing.
		for _, text := range []string{"y" + hidden + "es", "approve" + strings.Repeat(hidden, 50), hidden + "always", "approve  " + hidden + "always.", "/app" + hidden + "rove"} {
			m, f := direct(owner, text)
			f.Requests = []Request{{ID: "q1", Room: m.RoomID, Sent: noon.Add(-time.Minute), Asker: member, Choices: []Choice{{Number: "41", Option: "allow"}}}}
			if v := Decide(m, f); v.Action != Refuse || v.Why != WhyPending {
				t.Errorf("%q while a request is open: %+v", text, v)
			}
		}
	}
	for _, text := range []string{"／yolo", "⁄yolo", "∕yolo", "！stop", "\\/yolo", "/ yolo", "/\x00yolo", "| /yolo", "/etc/hosts", "/\u200b", "@mia /yolo", "\u0301/yolo", "# /yolo"} {
		m, f := direct(member, text)
		if v := Decide(m, f); v.Action != Ask || v.Text != text {
			t.Errorf("a member's %q: %+v", text, v)
		}
	}
}

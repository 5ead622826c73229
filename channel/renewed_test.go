package channel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
)

// What was said before a conversation was begun anew is shown to no agent, also
// in the next run; other conversations know nothing of that.
func TestBegunAnewStaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		between func(path string) error
		shown   bool
	}{
		"a restart":      {func(string) error { return nil }, false},
		"a damaged file": {func(path string) error { return os.WriteFile(path, []byte(`{"v":1,"at":{"`), 0o600) }, true},
		"another form":   {func(path string) error { return os.WriteFile(path, []byte(`{"v":2,"at":[]}`), 0o600) }, true},
		"no file":        {os.Remove, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := &remembering{}
			fresh := func(h *house) { *a = remembering{scripted: *newScripted()}; withAgent(a)(h) }
			inBubble(t, pretend.V9, func(h *house) {
				ask := func(room pretend.Room, text string) string {
					h.say(h.owner, room, text)
					turn := a.next(h)
					turn.answer("an answer")
					h.pass(time.Second)
					return turn.Prompt
				}
				h.up()
				ask(h.direct, "the old secret")
				ask(h.den, "@hermes the other room's")
				h.say(h.owner, h.direct, "!new")
				h.pass(time.Second)
				if p := ask(h.direct, "hello"); strings.Contains(p, "old secret") {
					h.t.Errorf("in the same run the agent is shown\n%s", p)
				}
				h.again()
				path := filepath.Join(stateDir(h.start.Home), renewedName)
				if err := test.between(path); err != nil {
					h.t.Fatal(err)
				}
				fresh(h)
				h.up()
				p := ask(h.direct, "hello again")
				if strings.Contains(p, "old secret") != test.shown || !strings.Contains(p, "hello") {
					h.t.Errorf("in the next run the agent is shown\n%s\nlog:\n%s", p, h.super.lines())
				}
				if p := ask(h.den, "@hermes and here?"); !strings.Contains(p, "the other room's") {
					h.t.Errorf("in the other room the agent is shown\n%s", p)
				}
			}, fresh)
		})
	}
}

// What is remembered is bounded: who began anew longest ago is forgotten first.
func TestBegunAnewIsBounded(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		l, err := begin(h.t.Context(), h.env, &h.start, newSuper(h))
		if err != nil {
			h.t.Fatal(err)
		}
		defer l.end()
		l.renewed.at = make(map[string]time.Time)
		for i := range maxRenewed {
			l.renewed.at[fmt.Sprint(i)] = time.Now().Add(time.Duration(i)*time.Second - time.Hour)
		}
		l.anew("one")
		l.anew("another")
		if len(l.renewed.at) != maxRenewed || !l.since("1").IsZero() || l.since("2").IsZero() || l.since("one").IsZero() || l.since("another").IsZero() {
			h.t.Error("others are remembered")
		}
		l.renewed.at = nil
		if l.since("2").IsZero() || !l.since("1").IsZero() || l.since("another").IsZero() {
			h.t.Error("others are read again")
		}
	})
}

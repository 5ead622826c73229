package channel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
)

// Who answers before the server has said that the request is there is no less
// after it, by the server's time, which is what counts.
func TestADecisionOvertakesTheServersReply(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			a := newScripted()
			inBubble(t, v, func(h *house) {
				h.up()
				h.say(h.member, h.den, "@hermes clean up")
				turn := a.next(h)
				h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "chat.sendMessage", Delay: pretend.Duration(20 * time.Second)})
				turn.events <- wish("p1", "rm -rf build")
				h.pass(time.Second)
				m, yes, _ := h.request(h.den)
				h.say(h.member, h.den, yes)
				h.say(h.owner, h.den, yes)
				h.pass(time.Second)
				wantDecided(h, turn, "p1=allow")
				h.server.MendAll()
				h.pass(30 * time.Second)
				if text := h.present(m); !strings.Contains(text, "Allowed once by olivia.") || strings.Contains(text, yes) {
					h.t.Errorf("it shows\n%s", text)
				}
				turn.answer("done")
				h.pass(time.Second)
				h.wants(h.den, h.present(m), "done")
				if got := h.counters(); got.Claimed != 2 {
					h.t.Errorf("%d are counted as claimed, want the question and the answer", got.Claimed)
				}
			}, withScript(a))
		})
	}
}

// The same where the socket lost the request itself: the answer is held until the
// server has replied, and then counts.
func TestADecisionIsHeldUntilTheServersReply(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.den, "@hermes clean up")
		turn := a.next(h)
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "chat.sendMessage", Delay: pretend.Duration(20 * time.Second)})
		mend := h.server.Break(pretend.Fault{Kind: pretend.Deaf})
		turn.events <- wish("p1", "rm -rf build")
		h.pass(time.Second)
		mend()
		m, yes, no := h.request(h.den)
		h.say(h.owner, h.den, yes)
		h.say(h.owner, h.den, no)
		h.pass(10 * time.Second)
		wantDecided(h, turn)
		h.pass(10 * time.Second)
		wantDecided(h, turn, "p1=allow")
		h.server.MendAll()
		h.pass(10 * time.Second)
		if text := h.present(m); !strings.Contains(text, "Allowed once by olivia.") {
			h.t.Errorf("it shows\n%s", text)
		}
		if said := h.said(h.den); !slices.Contains(said, "That is no longer open.") {
			h.t.Errorf("it said %q", said)
		}
		turn.answer("done")
		h.pass(time.Second)
		if got := h.counters(); got.Claimed != 3 || got.Duplicates != 0 {
			h.t.Errorf("%d are counted as claimed, want the question and two answers; duplicates %d", got.Claimed, got.Duplicates)
		}
	}, withScript(a))
}

// An answer of before the request is told so, whenever that becomes known.
func TestAnAnswerOfBeforeTheRequest(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		turn := h.asking(a)
		_, yes, no := h.request(h.den)
		h.say(h.owner, h.den, no)
		h.pass(time.Second)
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "chat.sendMessage", Delay: pretend.Duration(20 * time.Second)})
		turn.events <- wish("p2", "rm -rf dist")
		h.rest()
		_, next, _ := h.request(h.den)
		if next == yes {
			h.t.Fatalf("%s came again", yes)
		}
		h.say(h.owner, h.den, next, pretend.SayOptions{At: time.Now().Add(-time.Minute)})
		h.pass(25 * time.Second)
		wantDecided(h, turn, "p1=deny")
		if said := h.said(h.den); !slices.Contains(said, "That was too early to be an answer to my question. Please answer once more.") {
			h.t.Errorf("it said %q", said)
		}
		h.server.MendAll()
		h.say(h.owner, h.den, next)
		h.pass(time.Second)
		wantDecided(h, turn, "p1=deny", "p2=allow")
		turn.answer("done")
		h.pass(time.Second)
	}, withScript(a))
}

// What is too long for messages is asked for with a file that shows all of it.
func TestALongRequestIsAFile(t *testing.T) {
	script := strings.Repeat("echo all of this @all\n", 10_000)
	for _, v := range pretend.Versions() {
		for name, test := range map[string]struct {
			before func(h *house)
			sent   bool
		}{
			"sent":                    {func(*house) {}, true},
			"after a while":           {func(h *house) { h.server.Break(pretend.Fault{Kind: pretend.BadGateway, Count: 2}) }, true},
			"larger than a file may":  {func(h *house) { h.server.Set("FileUpload_MaxFileSize", 1000) }, false},
			"larger than ours may be": {nil, false},
		} {
			t.Run(string(v)+" "+name, func(t *testing.T) {
				a := newScripted()
				inBubble(t, v, func(h *house) {
					if test.before == nil {
						h.start.Settings.Limits.FileBytes = 1000
					}
					h.up()
					h.say(h.member, h.den, "@hermes clean up")
					turn := a.next(h)
					if test.before != nil {
						test.before(h)
					}
					turn.events <- wish("p1", script)
					h.pass(10 * time.Second)
					if left := h.state(outgoingName); len(left) != 0 {
						h.t.Errorf("left: %q", left)
					}
					if !test.sent {
						wantDecided(h, turn, "p1=")
						if said := h.said(h.den); len(said) != 1 || !strings.Contains(said[0], "the file that shows it whole could not be sent") {
							h.t.Errorf("the room was told %q\nlog:\n%s", said, h.super.lines())
						}
						turn.answer("done")
						h.pass(time.Second)
						return
					}
					m, yes, _ := h.request(h.den)
					name := "request-" + yes + ".txt"
					if got := h.shown(h.den); !slices.Equal(got, []string{name}) {
						h.t.Errorf("sent %q\nlog:\n%s", got, h.super.lines())
					}
					all := h.server.Messages(h.den)
					if i := slices.IndexFunc(all, func(n pretend.Message) bool { return n.ID == m.ID }); len(all[i-1].Files) != 1 {
						h.t.Errorf("the file is not right above the request")
					} else if size := all[i-1].Files[0].Size; size != len("Run a command\n\n"+script) {
						h.t.Errorf("the file has %d bytes", size)
					}
					if !strings.Contains(m.Text, "`"+name+"` above shows the whole of it (10002 lines, 221 kB)") {
						h.t.Errorf("it is asked\n%s", m.Text)
					}
					h.say(h.member, h.den, yes)
					wantDecided(h, turn)
					h.say(h.owner, h.den, yes)
					wantDecided(h, turn, "p1=allow")
					h.pass(time.Second)
					if text := h.present(m); !strings.Contains(text, "Allowed once by olivia.") || strings.Contains(text, "**"+yes) {
						h.t.Errorf("afterwards it shows\n%s", text)
					}
					turn.answer("done")
					h.pass(time.Second)
				}, withScript(a))
			})
		}
	}
}

// A request that is a file ends as any other does.
func TestALongRequestThatNobodyDecides(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.den, "@hermes clean up")
		turn := a.next(h)
		turn.events <- wish("p1", strings.Repeat("echo all of this\n", 10_000))
		h.pass(10 * time.Second)
		m, yes, _ := h.request(h.den)
		h.again()
		withAgent(newScripted())(h)
		h.up()
		h.pass(3 * time.Second)
		if text := h.present(m); !strings.Contains(text, "Expired: I was restarted") || strings.Contains(text, "**"+yes) {
			h.t.Errorf("it shows\n%s\nlog:\n%s", text, h.super.lines())
		}
		if got := h.shown(h.den); len(got) != 1 {
			h.t.Errorf("sent %q", got)
		}
		wantDecided(h, turn)
	}, withScript(a))
}

// A server that takes less in one message is asked in smaller ones.
func TestARequestOnAServerOfShortMessages(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			a := newScripted()
			inBubble(t, v, func(h *house) {
				h.server.Set("Message_MaxAllowedSize", 600)
				turn := h.asking(a)
				m, _, no := h.request(h.den)
				h.say(h.owner, h.den, no)
				h.pass(time.Second)
				if !strings.Contains(h.present(m), "Refused by olivia.") {
					h.t.Errorf("it shows\n%s", h.present(m))
				}
				var script strings.Builder
				for i := range 100 {
					fmt.Fprintf(&script, "echo line %d\n", i)
				}
				turn.events <- wish("p2", script.String())
				h.pass(5 * time.Second)
				m, yes, _ := h.request(h.den)
				for _, text := range h.said(h.den) {
					if len(text) > 600 {
						h.t.Errorf("one has %d bytes", len(text))
					}
				}
				all := strings.Join(h.said(h.den), "\n")
				for i := range 100 {
					if !strings.Contains(all, fmt.Sprintf("echo line %d\n", i)) {
						h.t.Errorf("line %d is not shown", i)
					}
				}
				h.say(h.owner, h.den, yes)
				h.pass(time.Second)
				wantDecided(h, turn, "p1=deny", "p2=allow")
				if !strings.Contains(h.present(m), "Allowed once by olivia.") {
					h.t.Errorf("it shows\n%s", h.present(m))
				}
				turn.answer("done")
				h.pass(time.Second)
			}, withScript(a))
		})
	}
}

// A request expires before its agent's own limit, whatever its owner wishes.
func TestAnAgentsOwnLimit(t *testing.T) {
	for name, test := range map[string]struct{ own, waits time.Duration }{
		"none":   {0, 10 * time.Minute},
		"sooner": {time.Minute, 55 * time.Second},
		"later":  {time.Hour, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			a := newScripted()
			inBubble(t, pretend.V9, func(h *house) {
				h.start.Settings.Agent.ApprovalTimeout = 10 * time.Minute
				h.up()
				h.say(h.member, h.den, "@hermes clean up")
				turn := a.next(h)
				asked := wish("p1", "rm -rf build")
				if test.own > 0 {
					asked.Until = time.Now().Add(test.own)
				}
				turn.events <- asked
				h.rest()
				m, yes, _ := h.request(h.den)
				if want := fmt.Sprintf("within %d s.", int(test.waits.Seconds())); !strings.Contains(m.Text, want) {
					h.t.Errorf("it is asked\n%s", m.Text)
				}
				h.pass(test.waits - time.Millisecond)
				wantDecided(h, turn)
				h.pass(time.Millisecond)
				wantDecided(h, turn, "p1=")
				h.say(h.owner, h.den, yes)
				h.pass(time.Second)
				wantDecided(h, turn, "p1=")
				if said := h.said(h.den); said[len(said)-1] != "That is no longer open." {
					h.t.Errorf("it said %q", said)
				}
				turn.answer("done")
				h.pass(time.Second)
			}, withScript(a))
		})
	}
}

// While people have to decide, the room is not told that the agent is at it.
func TestProgressWhileARequestIsOpen(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.den, "@hermes clean up")
		turn := a.next(h)
		turn.events <- agent.Progress{Title: "removing the build"}
		turn.events <- wish("p1", "rm -rf build")
		h.pass(30 * time.Second)
		m, yes, _ := h.request(h.den)
		h.wants(h.den, m.Text, "⏳ I am waiting for a decision.")
		h.say(h.owner, h.den, yes)
		h.pass(20 * time.Second)
		h.wants(h.den, h.present(m), "⏳ I am working on it.")
		turn.events <- agent.Progress{Title: "removing the build"}
		h.pass(20 * time.Second)
		h.wants(h.den, h.present(m), "⏳ removing the build")
		turn.answer("done")
		h.pass(5 * time.Second)
		h.wants(h.den, h.present(m), "done")
	}, withScript(a))
}

// An owner may leave the room while he is waited for; then nobody decides.
func TestTheOwnerLeavesWhileARequestIsOpen(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		turn := h.asking(a)
		m, _, _ := h.request(h.den)
		h.server.Leave(h.den, h.owner)
		h.pass(time.Minute)
		wantDecided(h, turn, "p1=")
		if text := h.present(m); !strings.Contains(text, "Nobody decided in time") {
			h.t.Errorf("it shows\n%s", text)
		}
		// The next one is refused at once: it is known by now.
		turn.events <- wish("p2", "rm -rf dist")
		h.pass(3 * time.Second)
		wantDecided(h, turn, "p1=", "p2=")
		if said := h.said(h.den); !strings.Contains(said[len(said)-1], "no owner is in this room") {
			h.t.Errorf("it said %q", said)
		}
		turn.answer("done")
		h.pass(time.Second)
	}, withScript(a))
}

// A request whose message is gone, or can't be edited, is decided and over all
// the same.
func TestARequestThatCantBeEdited(t *testing.T) {
	for name, before := range map[string]func(h *house, m pretend.Message){
		"deleted by its author's hand": func(h *house, m pretend.Message) { h.server.Delete(m.ID, h.bot) },
		"editing is not allowed": func(h *house, _ pretend.Message) {
			h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "chat.update", Code: 400, Text: "Message editing not allowed [error-action-not-allowed]"})
		},
		"the server fails for a while": func(h *house, _ pretend.Message) {
			h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "chat.update", Count: 3})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newScripted()
			inBubble(t, pretend.V9, func(h *house) {
				turn := h.asking(a)
				m, yes, _ := h.request(h.den)
				before(h, m)
				h.rest()
				if got := turn.decided(); len(got) == 0 {
					h.say(h.owner, h.den, yes)
					wantDecided(h, turn, "p1=allow")
				}
				h.pass(time.Minute)
				if strings.HasPrefix(name, "the server") && !strings.Contains(h.present(m), "Allowed once by olivia.") {
					h.t.Errorf("it shows\n%s", h.present(m))
				}
				if strings.HasPrefix(name, "editing") && !strings.Contains(h.super.lines(), "still shows its numbers") {
					h.t.Errorf("the log:\n%s", h.super.lines())
				}
				n := len(turn.decided())
				h.say(h.owner, h.den, yes)
				h.pass(time.Second)
				if len(turn.decided()) != n {
					h.t.Errorf("decided %q", turn.decided())
				}
				turn.events <- wish("p2", "rm -rf dist")
				h.pass(3 * time.Second)
				_, next, _ := h.request(h.den)
				h.say(h.owner, h.den, next)
				h.rest()
				if got := turn.decided(); got[len(got)-1] != "p2=allow" {
					h.t.Errorf("decided %q", got)
				}
				turn.answer("done")
				h.pass(time.Second)
			}, withScript(a))
		})
	}
}

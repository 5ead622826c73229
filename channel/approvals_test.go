package channel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/approval"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
)

// wish is a request as agents make one.
func wish(id, command string) agent.Asked {
	return agent.Asked{ID: id, Title: "Run a command", Body: command, Options: []agent.Option{
		{ID: "allow", Name: "Allow", Kind: "allow_once"},
		{ID: "always", Name: "Always allow", Kind: "allow_always"},
		{ID: "deny", Name: "Reject", Kind: "reject_once"},
	}}
}

// request returns the newest message of the bot's in a room that asks for a
// decision, and its two numbers.
func (h *house) request(room pretend.Room) (m pretend.Message, allow, refuse string) {
	h.t.Helper()
	all := h.server.Messages(room)
	for i := len(all) - 1; i >= 0; i-- {
		numbers := regexp.MustCompile(`\*\*(\d+)\*\* to allow once, \*\*(\d+)\*\* to refuse`).FindStringSubmatch(all[i].Text)
		if all[i].User.ID == h.bot.ID && numbers != nil {
			return all[i], numbers[1], numbers[2]
		}
	}
	h.t.Fatalf("nothing is asked in the room; the bot said\n  %s\nlog:\n%s", strings.Join(h.said(room), "\n  "), h.super.lines())
	return m, "", ""
}

// present is a message's text as it is now.
func (h *house) present(m pretend.Message) string {
	now, _ := h.server.Message(m.ID)
	return now.Text
}

// withScript puts a fresh scripted agent in echo's place.
func withScript(a *scripted) option {
	return func(h *house) { *a = *newScripted(); withAgent(a)(h) }
}

// asking brings a house to where a member's question in the group waits for an
// owner.
func (h *house) asking(a *scripted) *turn {
	h.t.Helper()
	h.up()
	h.say(h.member, h.den, "@hermes clean up")
	turn := a.next(h)
	turn.events <- wish("p1", "rm -rf build")
	h.pass(3 * time.Second)
	return turn
}

func wantDecided(h *house, turn *turn, want ...string) {
	h.t.Helper()
	h.rest()
	if got := turn.decided(); !slices.Equal(got, want) {
		h.t.Errorf("the agent was answered %q, want %q\nlog:\n%s", got, want, h.super.lines())
	}
}

func TestAnOwnerDecides(t *testing.T) {
	for _, v := range pretend.Versions() {
		for _, allow := range []bool{true, false} {
			t.Run(fmt.Sprint(v, allow), func(t *testing.T) {
				a := newScripted()
				inBubble(t, v, func(h *house) {
					turn := h.asking(a)
					m, yes, no := h.request(h.den)
					if !strings.Contains(m.Text, "rm -rf build") || strings.Contains(m.Text, "lways") {
						h.t.Errorf("shown was\n%s", m.Text)
					}
					number, option, outcome := yes, "p1=allow", "Allowed once by olivia."
					if !allow {
						number, option, outcome = no, "p1=deny", "Refused by olivia."
					}
					h.say(h.member, h.den, number)
					wantDecided(h, turn)
					h.say(h.owner, h.den, number)
					h.pass(time.Second)
					wantDecided(h, turn, option)
					if text := h.present(m); !strings.Contains(text, outcome) || strings.Contains(text, number) {
						h.t.Errorf("afterwards it shows\n%s", text)
					}
					turn.answer("done")
					h.pass(time.Second)
					h.wants(h.den, h.present(m), "done")
				}, withScript(a))
			})
		}
	}
}

// Nothing but an offered number, or yes or no in time, from an owner, live, in
// the room and thread where it was asked, is a decision.
func TestWhatNeverDecides(t *testing.T) {
	for name, say := range map[string]func(h *house, yes, no string){
		"nothing":            func(h *house, _, _ string) { h.say(h.owner, h.den, " ") },
		"an unknown number":  func(h *house, _, _ string) { h.say(h.owner, h.den, "7") },
		"a number in a text": func(h *house, yes, _ string) { h.say(h.owner, h.den, yes+" please") },
		"more than a number": func(h *house, yes, no string) { h.say(h.owner, h.den, yes+" "+no) },
		"a member":           func(h *house, yes, _ string) { h.say(h.member, h.den, yes); h.say(h.member, h.den, "yes") },
		"a bot":              func(h *house, yes, _ string) { h.say(h.owner, h.den, yes, pretend.SayOptions{Bot: "hook"}) },
		"another room":       func(h *house, yes, _ string) { h.say(h.owner, h.lab, yes) },
		"a room of two":      func(h *house, yes, _ string) { h.say(h.owner, h.direct, yes) },
		"a thread": func(h *house, yes, _ string) {
			root := h.say(h.owner, h.den, "a root")
			h.say(h.owner, h.den, yes, pretend.SayOptions{Thread: root.ID})
		},
		"before it was asked": func(h *house, yes, _ string) {
			h.say(h.owner, h.den, yes, pretend.SayOptions{At: time.Now().Add(-10 * time.Second)})
		},
		"an edited message": func(h *house, yes, _ string) {
			m := h.say(h.owner, h.den, "hm")
			h.pass(time.Second)
			h.server.Edit(m.ID, h.owner, yes)
		},
		"what was missed": func(h *house, yes, _ string) {
			h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(2 * time.Second)})
			h.pass(100 * time.Millisecond)
			h.server.Say(h.owner, h.den, yes)
			h.await("the next connection", func(r Report) bool { return r.Connection >= 2 && r.Phase == Online && !r.CatchingUp })
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newScripted()
			inBubble(t, pretend.V7, func(h *house) {
				turn := h.asking(a)
				m, yes, no := h.request(h.den)
				say(h, yes, no)
				h.pass(3 * time.Second)
				wantDecided(h, turn)
				// A number alone is never a question either, and the real answer
				// still counts.
				h.say(h.owner, h.den, no)
				h.pass(3 * time.Second)
				wantDecided(h, turn, "p1=deny")
				// What is over stays so, whatever is said.
				for _, again := range []string{yes, no} {
					h.say(h.owner, h.den, again)
				}
				h.pass(3 * time.Second)
				wantDecided(h, turn, "p1=deny")
				if text := h.present(m); !strings.Contains(text, "Refused by olivia.") {
					h.t.Errorf("it shows\n%s", text)
				}
				turn.answer("done")
				h.pass(time.Second)
				select {
				case next := <-a.turns:
					if next.Room.ID == h.den.ID && (next.Message.Text == yes || next.Message.Text == no) {
						h.t.Errorf("%q became a question", next.Message.Text)
					}
					next.answer("NO_REPLY")
				default:
				}
			}, withScript(a))
		})
	}
}

func TestYesCountsOnceItCanBeMeant(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "clean up")
		turn := a.next(h)
		turn.events <- wish("p1", "rm -rf build")
		h.pass(time.Second)
		h.say(h.owner, h.direct, "yes")
		wantDecided(h, turn)
		h.pass(2 * time.Second)
		h.say(h.owner, h.direct, "yes")
		wantDecided(h, turn, "p1=allow")
		turn.answer("done")
		h.pass(time.Second)
	}, withScript(a))
}

// Two rooms never see or decide what is the other's, and in one conversation
// one request is open at a time.
func TestRequestsOfTwoRooms(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		first := h.asking(a)
		h.say(h.owner, h.direct, "install it")
		second := a.next(h)
		second.events <- wish("p1", "make install")
		first.events <- wish("p2", "rm -rf dist")
		h.pass(3 * time.Second)
		_, inDen, _ := h.request(h.den)
		_, inDirect, _ := h.request(h.direct)
		if inDen == inDirect {
			h.t.Fatalf("both have the number %s", inDen)
		}
		if said := strings.Join(h.said(h.den), "\n"); strings.Contains(said, "make install") {
			h.t.Errorf("in the group it says\n%s", said)
		}
		if said := strings.Join(h.said(h.direct), "\n"); strings.Contains(said, "rm -rf") {
			h.t.Errorf("in the room of two it says\n%s", said)
		}
		h.say(h.owner, h.den, inDirect)
		h.say(h.owner, h.direct, inDen)
		wantDecided(h, first)
		wantDecided(h, second)
		h.say(h.owner, h.den, inDen)
		wantDecided(h, first, "p1=allow")
		h.pass(3 * time.Second)
		m, next, no := h.request(h.den)
		if next == inDen || !strings.Contains(m.Text, "rm -rf dist") {
			h.t.Errorf("the next request is\n%s", m.Text)
		}
		h.say(h.owner, h.den, inDen) // once more: of the one that is over
		wantDecided(h, first, "p1=allow")
		h.say(h.owner, h.den, no)
		wantDecided(h, first, "p1=allow", "p2=deny")
		wantDecided(h, second)
		first.answer("one")
		second.answer("two")
		h.pass(time.Second)
	}, withScript(a))
}

// How a request ends that nobody decides: the agent is refused, and the message
// says so and shows no numbers any more.
func TestUndecided(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(h *house, turn *turn)
		want []string
		says string
	}{
		"time":          {func(h *house, _ *turn) { h.pass(time.Minute) }, []string{"p1="}, "Nobody decided in time"},
		"stop":          {func(h *house, _ *turn) { h.say(h.owner, h.den, "@hermes !stop") }, nil, "the work was stopped"},
		"blocked":       {func(h *house, _ *turn) { h.block(h.member) }, nil, "the work was stopped"},
		"the agent":     {func(_ *house, turn *turn) { turn.events <- agent.Withdrawn{ID: "p1"} }, nil, "went on without an answer"},
		"the turn":      {func(_ *house, turn *turn) { turn.answer("without it") }, nil, "No longer open"},
		"a dead agent":  {func(_ *house, turn *turn) { turn.events <- agent.Done{Stop: agent.Failed, Err: errAgentPanics} }, nil, "the agent ended"},
		"begin it anew": {func(h *house, _ *turn) { h.say(h.owner, h.den, "@hermes !new") }, nil, "the work was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &remembering{}
			inBubble(t, pretend.V9, func(h *house) {
				turn := h.asking(&a.scripted)
				m, yes, _ := h.request(h.den)
				test.end(h, turn)
				h.pass(3 * time.Second)
				wantDecided(h, turn, test.want...)
				if text := h.present(m); !strings.Contains(text, test.says) || strings.Contains(text, yes) {
					h.t.Errorf("it shows\n%s\nlog:\n%s", text, h.super.lines())
				}
				h.say(h.owner, h.den, yes)
				wantDecided(h, turn, test.want...)
			}, func(h *house) { a.scripted = *newScripted(); withAgent(a)(h) })
		})
	}
}

// A remembering agent can begin conversations anew.
type remembering struct {
	scripted
	renewed []string
}

func (r *remembering) Renew(conversation string) { r.renewed = append(r.renewed, conversation) }

func (h *house) block(u pretend.User) {
	access := h.start.Access
	access.People = []profile.Person{{ID: h.owner.ID, Role: profile.Owner}, {ID: u.ID, Role: profile.Blocked}}
	h.super.commands <- Apply{Settings: h.start.Settings, Access: access, Credentials: h.start.Credentials}
}

// A run that is killed leaves a request behind. It never comes true: the next
// run edits it, and its numbers mean nothing else.
func TestARequestDoesNotOutliveItsRun(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V7, func(h *house) {
		turn := h.asking(a)
		m, yes, _ := h.request(h.den)
		h.again()
		wantDecided(h, turn)
		if text := h.present(m); !strings.Contains(text, yes) {
			h.t.Errorf("at the end of its run it shows\n%s", text)
		}
		b := newScripted()
		withAgent(b)(h)
		h.server.Say(h.owner, h.den, yes) // while nobody listens
		h.up()
		h.pass(3 * time.Second)
		if text := h.present(m); !strings.Contains(text, "Expired: I was restarted") || strings.Contains(text, yes) {
			h.t.Errorf("it shows\n%s\nlog:\n%s", text, h.super.lines())
		}
		h.say(h.owner, h.den, yes)
		h.pass(time.Second)
		b.none(h)
		wantDecided(h, turn)
		info, err := os.Stat(filepath.Join(h.start.Home, "rocketchat", "state", requestsName))
		if err != nil || info.Mode().Perm() != 0o600 {
			h.t.Errorf("the record: %v %v", info, err)
		}
		// The second run's own requests have other numbers.
		h.say(h.member, h.den, "@hermes again")
		next := b.next(h)
		next.events <- wish("p1", "rm -rf build")
		h.pass(3 * time.Second)
		if _, other, _ := h.request(h.den); other == yes {
			h.t.Errorf("the number %s came again", yes)
		}
		next.answer("done")
		h.pass(time.Second)
	}, withScript(a))
}

// With no owner in the room nobody could decide: it is refused at once, and
// said. Where the asker may decide, he does.
func TestWhoCouldDecide(t *testing.T) {
	for name, test := range map[string]struct {
		room  func(h *house) pretend.Room
		start func(*Start)
		asks  bool
	}{
		"a group without an owner":   {func(h *house) pretend.Room { return h.on(h.server.AddGroup("team", h.member, h.bot)) }, nil, false},
		"a channel without an owner": {func(h *house) pretend.Room { return h.on(h.server.AddChannel("open", h.member, h.bot)) }, nil, false},
		"a member alone":             {func(h *house) pretend.Room { return h.server.AddDirect(h.member, h.bot) }, nil, false},
		"a room of three": {func(h *house) pretend.Room {
			return h.on(h.server.AddDirect(h.member, h.stranger, h.bot))
		}, nil, false},
		"a room of three with an owner": {func(h *house) pretend.Room {
			return h.on(h.server.AddDirect(h.member, h.owner, h.bot))
		}, nil, true},
		"the asker may": {func(h *house) pretend.Room { return h.server.AddDirect(h.member, h.bot) }, func(s *Start) { s.Access.Approvals = "asker" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newScripted()
			inBubble(t, pretend.V9, func(h *house) {
				if test.start != nil {
					test.start(&h.start)
				}
				room := test.room(h)
				h.up()
				h.say(h.member, room, "@hermes clean up")
				turn := a.next(h)
				turn.events <- wish("p1", "rm -rf build")
				h.pass(3 * time.Second)
				if !test.asks {
					wantDecided(h, turn, "p1=")
					if said := h.said(room); len(said) != 1 || !strings.Contains(said[0], "no owner is in this room") {
						h.t.Errorf("the room was told %q", said)
					}
				} else {
					_, yes, _ := h.request(room)
					wantDecided(h, turn)
					who := h.owner
					if h.start.Access.Approvals == "asker" {
						who = h.member
					}
					h.say(who, room, yes)
					wantDecided(h, turn, "p1=allow")
				}
				turn.answer("done")
				h.pass(time.Second)
			}, withScript(a))
		})
	}
}

// Who is in a room may not be known; then it is asked, and time decides.
func TestMembersThatCantBeAskedFor(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "groups.members"})
		h.say(h.member, h.den, "@hermes clean up")
		turn := a.next(h)
		turn.events <- wish("p1", "rm -rf build")
		h.pass(20 * time.Second)
		_, yes, _ := h.request(h.den)
		h.say(h.owner, h.den, yes)
		wantDecided(h, turn, "p1=allow")
		turn.answer("done")
		h.pass(time.Second)
	}, withScript(a))
}

// on switches a room on, without a mention.
func (h *house) on(r pretend.Room) pretend.Room {
	h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: r.ID})
	return r
}

// A connection that ends while a request is open ends neither the turn nor the
// request.
func TestARequestOutlivesItsConnection(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		turn := h.asking(a)
		_, yes, _ := h.request(h.den)
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(2 * time.Second)})
		last := h.await("the next connection", func(r Report) bool { return r.Connection >= 2 && r.Phase == Online && !r.CatchingUp })
		h.rest()
		h.say(h.owner, h.den, yes)
		wantDecided(h, turn, "p1=allow")
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(2 * time.Second)})
		h.pass(100 * time.Millisecond)
		turn.answer("done")
		h.await("the one after", func(r Report) bool { return r.Connection > last.Connection && r.Phase == Online && !r.CatchingUp })
		h.pass(time.Second)
		if said := h.said(h.den); !slices.Contains(said, "done") {
			h.t.Errorf("it said %q", said)
		}
	}, withScript(a))
}

// A thread of another room leads nowhere: neither the request nor the answer goes
// there, and nobody there decides.
func TestAThreadOfAnotherRoom(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		root := h.say(h.stranger, h.lab, "a root elsewhere")
		h.say(h.owner, h.direct, "clean up", pretend.SayOptions{Thread: root.ID})
		turn := a.next(h)
		turn.events <- wish("p1", "rm -rf build")
		h.pass(3 * time.Second)
		m, yes, _ := h.request(h.direct)
		if m.Thread != "" {
			h.t.Errorf("it is asked in the thread %s", m.Thread)
		}
		h.say(h.owner, h.lab, yes, pretend.SayOptions{Thread: root.ID})
		wantDecided(h, turn)
		turn.answer("done")
		h.pass(time.Second)
		if said := h.said(h.lab); len(said) != 0 {
			h.t.Errorf("in the other room it said %q", said)
		}
		if said := h.said(h.direct); said[len(said)-1] != "done" {
			h.t.Errorf("it said %q", said)
		}
	}, withScript(a))
}

func TestWhyARequestIsOver(t *testing.T) {
	if _, ok := whyOver(fmt.Errorf("turn: %w", conversation.ErrEnding)); ok {
		t.Error("at the end of the channel a request is closed by it")
	}
	if why, ok := whyOver(nil); why != approval.Ended || !ok {
		t.Error(why, ok)
	}
}

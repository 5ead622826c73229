package channel

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// A stage is a moment in a channel's life at which a command may come.
type stage struct {
	name  string
	reach func(h *house, a *scripted)
	// owed: an answer waits in the store at that moment.
	owed bool
	// running: a turn runs.
	running bool
}

var stages = []stage{
	{name: "before the first connection", reach: func(h *house, _ *scripted) {
		h.server.Break(pretend.Fault{Kind: pretend.Unreachable})
		h.run()
		h.rest()
	}},
	{name: "waiting for a place to dial from", reach: func(h *house, _ *scripted) {
		h.allow = func(ctx context.Context, _ Permit) error {
			<-ctx.Done()
			return ctx.Err()
		}
		h.run()
		h.rest()
	}},
	{name: "dialling", reach: func(h *house, _ *scripted) {
		h.env.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		h.run()
		h.rest()
	}},
	{name: "waiting for `connected`", reach: func(h *house, _ *scripted) {
		h.server.Break(pretend.Fault{Kind: pretend.HoldConnected})
		h.run()
		h.rest()
	}},
	{name: "waiting for the login", reach: func(h *house, _ *scripted) {
		h.server.Break(pretend.Fault{Kind: pretend.HoldLogin})
		h.run()
		h.rest()
	}},
	{name: "waiting for `ready`", reach: func(h *house, _ *scripted) {
		h.server.Break(pretend.Fault{Kind: pretend.HoldReady})
		h.run()
		h.rest()
	}},
	{name: "learning what the server is", reach: func(h *house, _ *scripted) {
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Delay: pretend.Duration(25 * time.Second)})
		h.run()
		h.rest()
	}},
	{name: "online", reach: func(h *house, _ *scripted) { h.up() }},
	{name: "catching up", reach: func(h *house, _ *scripted) {
		h.up()
		h.pass(time.Minute)
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Second)})
		h.pass(100 * time.Millisecond)
		h.server.Say(h.owner, h.direct, "missed")
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "im.history", Delay: pretend.Duration(25 * time.Second)})
		h.await("catching up", func(r Report) bool { return r.CatchingUp })
		h.rest()
	}},
	{name: "a turn runs", running: true, reach: func(h *house, a *scripted) {
		h.up()
		h.say(h.owner, h.direct, "one")
		h.pass(time.Millisecond)
		h.say(h.owner, h.direct, "two")
	}},
	{name: "the answer is being posted", owed: true, reach: func(h *house, a *scripted) {
		h.up()
		h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "chat.sendMessage", Delay: pretend.Duration(25 * time.Second)})
		h.say(h.owner, h.direct, "one")
		a.next(h).answer("the answer")
		h.rest()
	}},
	{name: "the answer waits for a connection", owed: true, reach: func(h *house, a *scripted) {
		h.up()
		h.say(h.owner, h.direct, "one")
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Hour)})
		h.rest()
		a.next(h).answer("the answer")
		h.pass(time.Second)
	}},
	{name: "the store can't be written to", reach: func(h *house, _ *scripted) {
		h.up()
		h.store.(*dedup.Memory).Fail(dedup.ErrReadOnly)
		h.say(h.owner, h.direct, "one")
		h.pass(time.Second)
	}},
	{name: "after the connection has ended", reach: func(h *house, _ *scripted) {
		h.up()
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(time.Hour)})
		h.pass(time.Second)
	}},
}

// inEachStage brings a channel to each moment of its life.
func inEachStage(t *testing.T, f func(h *house, a *scripted, s stage)) {
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			a := newScripted()
			inBubble(t, pretend.V7, func(h *house) {
				s.reach(h, a)
				f(h, a, s)
				if h.done != nil && s.owed {
					// what a real supervisor would see to
					h.server.MendAll()
				}
			}, func(h *house) {
				*a = *newScripted()
				withAgent(a)(h)
			})
		})
	}
}

// Whatever a channel is doing, it ends at once when it is told to, when its
// supervisor is gone, or when its context ends; and what it leaves is whole.
func TestStopInEachStage(t *testing.T) {
	ends := map[string]func(h *house){
		"stop":              func(h *house) { h.super.stop() },
		"the link is gone":  func(h *house) { h.super.quit(); close(h.super.commands) },
		"the context ended": func(h *house) { h.super.quit(); h.cancel() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inEachStage(t, func(h *house, a *scripted, s stage) {
				began := time.Now()
				end(h)
				h.over()
				if took := time.Since(began); took > 5*time.Second {
					h.t.Errorf("the end took %s", took)
				}
				memory := h.store.(*dedup.Memory)
				memory.Fail(nil)
				var states []dedup.State
				for q, err := range memory.Reopen().Open(h.t.Context()) {
					if err != nil {
						h.t.Fatal(err)
					}
					states = append(states, q.State)
				}
				want := []dedup.State(nil)
				switch {
				case s.running:
					want = []dedup.State{dedup.Given, dedup.Claimed}
				case s.owed:
					want = []dedup.State{dedup.Answered}
				}
				if !slices.Equal(states, want) {
					h.t.Errorf("it left questions %v, want %v", states, want)
				}
			})
		})
	}
}

// A drain lets what runs end and what is owed be posted, takes nothing more in,
// begins nothing, and is over by its deadline.
func TestDrainInEachStage(t *testing.T) {
	inEachStage(t, func(h *house, a *scripted, s stage) {
		h.super.quit()
		began := time.Now()
		h.super.commands <- Drain{Deadline: began.Add(20 * time.Second)}
		h.pass(100 * time.Millisecond)
		h.server.Say(h.owner, h.direct, "too late")
		if s.running {
			r := h.await("draining", func(r Report) bool { return r.Phase == Draining })
			if r.OnlineSince.IsZero() {
				h.t.Error("the connection went with the drain")
			}
			a.next(h).answer("the answer")
		}
		h.overIn(25 * time.Second)
		took := time.Since(began)
		if s.running && (took > time.Second || !slices.Equal(h.said(h.direct), []string{"the answer"})) {
			h.t.Errorf("after %s the bot said %v", took, h.said(h.direct))
		}
		if !s.running && !s.owed && took > time.Second {
			h.t.Errorf("nothing was left to do, and it took %s", took)
		}
		select {
		case turn := <-a.turns:
			if !s.running && !s.owed && turn.Message.Text == "too late" || turn.Message.Text == "two" {
				h.t.Errorf("a turn was begun: %q", turn.Message.Text)
			}
		default:
		}
	})
}

// One connection is made at a time, in the order of their numbers, and none
// while it drains.
func TestConnectIsObeyedOnce(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		for _, n := range []uint64{1, 2, 0, 3} {
			h.super.commands <- Connect{Number: n}
		}
		h.pass(time.Minute)
		if opened, _ := h.server.Sockets(); opened != 1 {
			h.t.Errorf("%d sockets were opened", opened)
		}
		r, _ := h.super.look()
		if r.Connection != 1 || r.Phase != Online {
			h.t.Errorf("%+v", r)
		}
	})
}

// A beat is answered with a report, whatever else goes on.
func TestABeatIsAnsweredInEachStage(t *testing.T) {
	inEachStage(t, func(h *house, _ *scripted, _ stage) {
		_, changed := h.super.look()
		h.super.commands <- Beat{}
		h.rest()
		select {
		case <-changed:
		default:
			h.t.Error("no report came")
		}
	})
}

// New settings are in use at once, whatever a channel is doing.
func TestApplyInEachStage(t *testing.T) {
	inEachStage(t, func(h *house, _ *scripted, s stage) {
		next := h.start
		next.Settings.Health.Check = time.Hour
		next.Access.People = append(slices.Clone(next.Access.People), profile.Person{ID: h.stranger.ID, Role: profile.Owner})
		began := time.Now()
		h.super.commands <- Apply{Settings: next.Settings, Access: next.Access, Credentials: next.Credentials}
		h.rest()
		if time.Since(began) > 0 || len(h.super.commands) != 0 {
			h.t.Error("the command was not taken at once")
		}
	})
}

// What a change of the files means: access and settings take effect on what
// comes next, a connection is made anew where it has to be and only there, and
// what can't be used leaves all as it was.
func TestApply(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		apply := func(reconnect bool, change func(*Start)) {
			change(&h.start)
			h.super.commands <- Apply{
				Settings: h.start.Settings, Access: h.start.Access, Credentials: h.start.Credentials,
				Siblings: h.start.Siblings, CA: h.start.CA, Reconnect: reconnect,
			}
			h.pass(time.Second)
		}
		stranger := h.server.AddDirect(h.stranger, h.bot)
		h.say(h.stranger, stranger, "let me in")
		h.wants(stranger, strangerLine)
		apply(false, func(s *Start) {
			s.Access.People = append(slices.Clone(s.Access.People), profile.Person{ID: h.stranger.ID, Role: profile.Member})
		})
		h.say(h.stranger, stranger, "and now?")
		h.wants(stranger, strangerLine, "echo: and now?")
		apply(false, func(s *Start) { s.Siblings = []string{h.stranger.ID} })
		h.say(h.stranger, stranger, "a sibling talks")
		h.wants(stranger, strangerLine, "echo: and now?")
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Fatalf("it ended %v", got)
		}
		apply(true, func(s *Start) {})
		h.await("the next connection", func(r Report) bool { return r.Connection == 2 && r.Phase == Online })
		if got := h.super.reasons(); !slices.Equal(got, []healthcheck.Reason{healthcheck.Reload}) {
			h.t.Errorf("it ended %v", got)
		}
		good := h.start
		apply(true, func(s *Start) { s.CA = []byte("no certificate") })
		apply(false, func(s *Start) { *s = good; s.Settings.Agent.Kind = "oracle" })
		h.start = good
		h.say(h.owner, h.direct, "still there?")
		h.wants(h.direct, "echo: still there?")
		if r, _ := h.super.look(); r.Connection != 2 {
			h.t.Errorf("a bad file cost the connection: %+v", r)
		}
	})
}

// P60 in small: who is blocked, or no longer let in, is not answered any more.
func TestTheUnwelcomeAreDropped(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.member, h.den, "@hermes one")
		h.say(h.owner, h.den, "@hermes two")
		h.say(h.member, h.den, "@hermes three")
		first := a.next(h)
		access := h.start.Access
		access.People = []profile.Person{{ID: h.owner.ID, Role: profile.Owner}, {ID: h.member.ID, Role: profile.Blocked}}
		h.super.commands <- Apply{Settings: h.start.Settings, Access: access, Credentials: h.start.Credentials}
		h.rest()
		select {
		case <-first.gone:
		default:
			h.t.Error("his running turn goes on")
		}
		a.next(h).answer("to the owner")
		a.none(h)
		h.pass(time.Second)
		h.wants(h.den, "to the owner")
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

// A panic is the channel's end, not the process's, and nothing of it stays
// behind.
func TestAPanicEndsTheChannelAlone(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		var caught any
		h.wrap = func(run func() error) (err error) {
			defer func() { caught = recover() }()
			return run()
		}
		h.up()
		h.super.quit()
		h.say(h.owner, h.direct, "hello")
		h.over()
		if err, ok := caught.(error); !ok || !errors.Is(err, errAgentPanics) {
			h.t.Errorf("caught %v", caught)
		}
	}, withAgent(panicking{}))
}

var errAgentPanics = errors.New("the agent's fault")

type panicking struct{ agent.Echo }

func (panicking) Begin(context.Context, agent.Question) (agent.Turn, error) { panic(errAgentPanics) }

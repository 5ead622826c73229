package channel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
	"rcsupervisor/profile"
)

// RC.ReactNative#7505, #7506: what time it is here says nothing of what was
// missed there; and what is said while the history is fetched is heard.
func TestCursorsGoByTheServersClock(t *testing.T) {
	for _, off := range []time.Duration{-26 * time.Hour, -90 * time.Minute, 90 * time.Minute, 26 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(off)})
				h.up()
				h.pass(20 * time.Minute)
				h.say(h.owner, h.direct, "before")
				h.pass(20 * time.Minute)
				h.again()
				h.server.Say(h.owner, h.direct, "missed")
				h.pass(30 * time.Minute)
				slow := h.server.Break(pretend.Fault{Kind: pretend.Slow, Route: "im.history", Delay: pretend.Duration(20 * time.Second)})
				h.run()
				h.await("catching up", func(r Report) bool { return r.CatchingUp })
				h.say(h.owner, h.direct, "meanwhile")
				h.await("caught up", func(r Report) bool { return !r.CatchingUp })
				slow()
				h.pass(time.Second)
				h.again()
				h.up()
				h.pass(time.Minute)
				h.wants(h.direct, echoes("before", "missed", "meanwhile")...)
				if c := h.counters(); c.Missed != 0 {
					h.t.Errorf("counted %+v", c)
				}
			})
		})
	}
}

// RC#3132, hubot-rocketchat#59: a room that the bot is asked into is heard
// without another connection; so is one that it left and came back to, from
// then on.
func TestRoomsComeAndGo(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		late := h.server.AddGroup("late", h.owner, h.member)
		h.start.Access.Rooms = append(slices.Clone(h.start.Access.Rooms), profile.Room{ID: late.ID, Mention: true})
		h.super.commands <- Apply{Settings: h.start.Settings, Access: h.start.Access, Credentials: h.start.Credentials}
		h.rest()
		h.say(h.owner, late, "@hermes before you came")
		h.server.Invite(late, h.bot, h.owner)
		h.pass(time.Second)
		h.say(h.owner, late, "@hermes one")
		h.pass(time.Minute)
		h.server.Kick(late, h.bot, h.owner)
		h.say(h.owner, late, "@hermes while you were out")
		h.pass(time.Minute)
		h.server.Invite(late, h.bot, h.owner)
		h.pass(time.Second)
		h.say(h.owner, late, "@hermes two")
		h.pass(time.Minute)
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Errorf("it ended %v", got)
		}
		// The same while nobody listens.
		h.away(5*time.Minute, func() {
			h.server.Say(h.owner, late, "@hermes three, missed")
			h.pass(time.Second)
			h.server.Kick(late, h.bot, h.owner)
			h.pass(time.Second)
			h.server.Say(h.owner, late, "@hermes out again")
			h.pass(time.Second)
			h.server.Invite(late, h.bot, h.owner)
			h.pass(time.Second)
			h.server.Say(h.owner, late, "@hermes four, missed")
		})
		h.pass(time.Minute)
		h.wants(late, echoes("one", "two", "four, missed")...) // three was said before it came in again
	})
}

// matterbridge#745: what every message bears makes none of them an edit.
func TestNotEveryMessageIsAnEdit(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		for i, more := range []string{
			`"editedAt":null,"editedBy":null`,
			`"reactions":{},"starred":[],"urls":[],"mentions":[],"channels":[],"md":[]`,
			`"tcount":0,"dcount":0,"replies":[],"unread":true`,
		} {
			now := h.server.Now().UnixMilli()
			h.server.Break(pretend.Fault{Kind: pretend.OddFrame, Text: fmt.Sprintf(
				`{"msg":"changed","collection":"stream-room-messages","id":"id","fields":{"eventName":"__my_messages__","args":[`+
					`{"_id":"odd%d","rid":%q,"msg":"%d","ts":{"$date":%d},"_updatedAt":{"$date":%d},"u":{"_id":%q,"username":"olivia"},%s},`+
					`{"roomParticipant":true,"roomType":"d"}]}}`, i, h.direct.ID, i, now, now+3000, h.owner.ID, more)})
			h.pass(time.Second)
		}
		h.wants(h.direct, echoes("0", "1", "2")...)
	})
}

// RC#27454, #18115, #18116, #22441: while it works the bot is seen to type, in
// the form of its server, in the thread, over a socket that is logged in.
func TestTypingIsSeen(t *testing.T) {
	for _, v := range pretend.Versions() {
		t.Run(string(v), func(t *testing.T) {
			a := newScripted()
			inBubble(t, v, func(h *house) {
				h.up()
				root := h.say(h.member, h.lab, "a thread")
				h.say(h.owner, h.lab, "@hermes work", pretend.SayOptions{Thread: root.ID})
				turn := a.next(h)
				h.pass(45 * time.Second)
				turn.answer("done")
				h.pass(time.Second)
				seen := h.server.Typing(h.lab)
				on := 0
				for _, e := range seen {
					if e.User != h.bot.ID || v != pretend.V34 && e.Thread != root.ID {
						h.t.Errorf("seen: %+v", e)
					}
					if e.Activity != "" {
						on++
					}
				}
				if on < 4 || on > 6 || seen[len(seen)-1].Activity != "" {
					h.t.Errorf("seen to type %d times: %+v", on, seen)
				}
			}, withScript(a))
		})
	}
}

// Days after its record is gone a message that is published again is too old to
// be answered; and about midnight each has one record.
func TestRecordsAndDays(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		h.pass(time.Until(midnight) - 50*time.Millisecond)
		var want []string
		var said []pretend.Message
		for i := range 10 {
			said = append(said, h.server.Say(h.owner, h.direct, fmt.Sprint(i)))
			want = append(want, fmt.Sprintf("echo: %d", i))
			h.pass(10 * time.Millisecond)
		}
		for range 6 {
			for _, m := range said {
				h.server.Touch(m.ID, pretend.Repeated)
				h.server.React(m.ID, h.owner, ":+1:")
				h.rest()
			}
			h.again()
			h.up()
			h.wants(h.direct, want...)
			h.pass(24 * time.Hour)
			h.say(h.member, h.lab, "@hermes another day") // lets go of old ones
		}
		if _, known := h.store.Known(dedup.ID{Message: said[0].ID, At: said[0].Time}); known {
			h.t.Error("its record is still there")
		}
	})
}

// The disk is full for a minute, from each step on: nothing is lost, nothing is
// said twice, and the agent is asked once. Also when the process is ended
// meanwhile.
func TestTheDiskIsFullAtEachStep(t *testing.T) {
	for _, ends := range []bool{false, true} {
		for n := range 11 { // three claims, two gives, three answers, three settles
			t.Run(fmt.Sprintf("step %d, ended %v", n+1, ends), func(t *testing.T) {
				inBubble(t, pretend.V9, func(h *house) { fullFrom(h, n, ends) })
			})
		}
	}
}

func fullFrom(h *house, n int, ends bool) {
	memory := h.store.(*dedup.Memory)
	h.store = &filling{Store: memory, left: n, full: func() { memory.Fail(dedup.ErrFull) }}
	h.keep = func(dedup.Store) dedup.Store { return memory.Reopen() }
	h.up()
	h.server.Say(h.owner, h.direct, "one")
	h.server.Say(h.owner, h.lab, "@hermes !help")
	h.pass(10 * time.Millisecond)
	h.server.Say(h.owner, h.den, "@hermes two")
	h.pass(time.Minute)
	if ends {
		h.stop()
	}
	memory.Fail(nil)
	if ends {
		h.store = memory.Reopen()
		h.up()
	}
	h.pass(2 * time.Minute)
	for room, answer := range map[string]string{h.direct.ID: "echo: one", h.lab.ID: helpText, h.den.ID: "echo: two"} {
		where, _ := h.server.FindRoom(room)
		got := h.said(where)
		noted := ends && len(got) == 1 && got[0] == conversation.NoteInterrupted
		if !noted && !slices.Equal(got, []string{answer}) {
			h.t.Errorf("in %s the bot said %q, want %q\nlog:\n%s", room, got, answer, h.super.lines())
		}
	}
}

// A filling store calls full before its step after so many.
type filling struct {
	dedup.Store
	full func()
	mu   sync.Mutex
	left int
}

func (f *filling) step() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		f.full()
	}
	f.left--
}

func (f *filling) Claim(ctx context.Context, q dedup.Question) (bool, error) {
	f.step()
	return f.Store.Claim(ctx, q)
}

func (f *filling) Give(ctx context.Context, id dedup.ID) error {
	f.step()
	return f.Store.Give(ctx, id)
}

func (f *filling) Answer(ctx context.Context, id dedup.ID, parts []dedup.Part) error {
	f.step()
	return f.Store.Answer(ctx, id, parts)
}

func (f *filling) Settle(ctx context.Context, id dedup.ID, index int, o dedup.Outcome) error {
	f.step()
	return f.Store.Settle(ctx, id, index, o)
}

package channel

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// A mortal store lets so many steps onto the disk, and none after: what a kill
// at that moment leaves. With after set the step is on disk and its caller
// never hears of it.
type mortal struct {
	dedup.Store
	mu    sync.Mutex
	left  int
	after bool
	died  chan struct{}
}

func (m *mortal) step(ctx context.Context, take func() error) error {
	m.mu.Lock()
	if m.left < 0 {
		m.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	m.left--
	dying := m.left < 0
	if dying {
		close(m.died)
	}
	m.mu.Unlock()
	if dying && !m.after {
		<-ctx.Done()
		return ctx.Err()
	}
	err := take()
	if dying {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (m *mortal) Claim(ctx context.Context, q dedup.Question) (fresh bool, err error) {
	err = m.step(ctx, func() error { fresh, err = m.Store.Claim(context.Background(), q); return err })
	return fresh, err
}

func (m *mortal) Give(ctx context.Context, id dedup.ID) error {
	return m.step(ctx, func() error { return m.Store.Give(context.Background(), id) })
}

func (m *mortal) Answer(ctx context.Context, id dedup.ID, parts []dedup.Part) error {
	return m.step(ctx, func() error { return m.Store.Answer(context.Background(), id, parts) })
}

func (m *mortal) Settle(ctx context.Context, id dedup.ID, index int, o dedup.Outcome) error {
	return m.step(ctx, func() error { return m.Store.Settle(context.Background(), id, index, o) })
}

func (m *mortal) Open(ctx context.Context) iter.Seq2[dedup.Question, error] { return m.Store.Open(ctx) }

// hermes#100032, matterbridge#2089: the process is killed at each step of two
// questions and a command, before it and after it. With the next start each has
// exactly one whole answer, or exactly one note that it was interrupted.
func TestKilledBetweenSteps(t *testing.T) {
	const steps = 12 // of three claims, two gives, three answers, three settles, and one more
	for _, after := range []bool{false, true} {
		for n := range steps {
			t.Run(fmt.Sprintf("at step %d, on disk %v", n+1, after), func(t *testing.T) {
				inBubble(t, pretend.V9, func(h *house) { killedAt(h, n, after) })
			})
		}
	}
}

func killedAt(h *house, n int, after bool) {
	memory := h.store.(*dedup.Memory)
	// A kill leaves the socket's other end in the dark; here it is cut.
	kill := &mortal{Store: memory, left: n - 1, after: after, died: make(chan struct{})}
	if n == 0 {
		kill.left = 0
	}
	h.store = kill
	h.keep = func(dedup.Store) dedup.Store { return memory.Reopen() }
	h.run()
	h.await("online", func(r Report) bool { return r.Phase == Online })
	h.rest()
	h.server.Say(h.owner, h.direct, "one")
	h.server.Say(h.member, h.lab, "@hermes two")
	h.server.Say(h.owner, h.den, "@hermes !help")
	h.pass(2 * time.Second)
	h.again()
	h.run()
	h.await("online again", func(r Report) bool { return r.Phase == Online && !r.CatchingUp })
	h.pass(2 * time.Minute)
	whole := func(room pretend.Room, answer string) {
		h.t.Helper()
		got := h.said(room)
		if !slices.Equal(got, []string{answer}) && !slices.Equal(got, []string{conversation.NoteInterrupted}) {
			h.t.Errorf("in %s the bot said %q\nlog:\n%s", room.Name, got, h.super.lines())
		}
	}
	whole(h.direct, "echo: one")
	whole(h.lab, "echo: two")
	whole(h.den, helpText)
	for q, err := range h.store.Open(h.t.Context()) {
		h.t.Errorf("left open: %+v, %v", q, err)
	}
}

// What each state of a question comes to at the next start.
func TestWhatAStartFinishes(t *testing.T) {
	a := newScripted()
	inBubble(t, pretend.V7, func(h *house) {
		h.up()
		// claimed: behind the one that runs; given: runs; answered: not yet posted.
		h.server.Break(pretend.Fault{Kind: pretend.ServerError, Route: "chat.sendMessage"})
		h.say(h.member, h.lab, "@hermes answered")
		a.next(h).answer("the answer")
		h.say(h.owner, h.direct, "given")
		a.next(h)
		claimed := h.say(h.owner, h.direct, "claimed")
		gone := h.say(h.owner, h.direct, "claimed and deleted")
		h.again()
		h.server.MendAll()
		h.server.Delete(gone.ID, h.owner)
		h.server.Edit(claimed.ID, h.owner, "claimed and edited")
		*a = *newScripted()
		h.up()
		if turn := a.next(h); turn.Message.Text != "claimed and edited" {
			h.t.Errorf("asked %q", turn.Message.Text)
		} else {
			turn.answer("asked once")
		}
		a.none(h)
		h.pass(time.Minute)
		h.wants(h.lab, "the answer")
		h.wants(h.direct, conversation.NoteInterrupted, "asked once")
		if c := h.counters(); c.Interrupted != 1 || c.Ignored["gone"] != 1 {
			h.t.Errorf("counted %+v", c)
		}
		// done: whatever comes of it, it is a duplicate, also after one more start.
		h.again()
		*a = *newScripted()
		h.up()
		h.server.Touch(claimed.ID, pretend.Repeated)
		a.none(h)
		if c := h.counters(); c.Duplicates+c.Ignored["edited"] != 1 {
			h.t.Errorf("counted %+v", c)
		}
		h.wants(h.direct, conversation.NoteInterrupted, "asked once")
	}, func(h *house) { *a = *newScripted(); withAgent(a)(h) })
}

// hermes#90464: what comes between the process's start and its being online is
// answered, by the cursor and not by guess.
func TestWhatComesDuringTheStart(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.pass(time.Minute)
		h.again()
		mend := h.server.Break(pretend.Fault{Kind: pretend.HoldReady})
		h.run()
		h.rest()
		h.server.Say(h.owner, h.direct, "are you starting?")
		h.pass(5 * time.Second)
		mend()
		h.pass(time.Minute)
		h.server.Say(h.owner, h.direct, "are you there?")
		h.pass(time.Second)
		h.wants(h.direct, "echo: are you starting?", "echo: are you there?")
	})
}

// hermes#78514: what one bot has handled says nothing of another's store.
func TestStoresAreNotShared(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		m := h.say(h.owner, h.lab, "@hermes @robo hello")
		h.wants(h.lab, "echo: @robo hello")
		h.stop()
		h.store = dedup.NewMemory()
		h.bot, h.start = h.otherBot, h.tokenOf(h.otherBot)
		h.up()
		h.server.Touch(m.ID, pretend.Repeated)
		h.pass(time.Second)
		h.wants(h.lab, "echo: @hermes hello")
	})
}

package channel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/lane"
)

// Bounds of the intake. What comes while maxWaiting messages wait is not taken
// in, and the cursor stays before it.
const (
	maxWaiting   = 4096
	claimsAtOnce = 64
	claimRetry   = 2 * time.Second
)

// An intake leads what the socket brings through the gate to claimed
// questions: in the order in which it came, on a goroutine of its own, so that
// the reading one never waits.
type intake struct {
	life   *life
	lane   lane.Lane[heard]
	rooms  rooms
	closed atomic.Bool
}

// heard is one message on its way in.
type heard struct {
	message  *chat.Message
	room     gate.Room
	caughtUp bool
}

// judged is a message the gate let through.
type judged struct {
	heard
	verdict gate.Verdict
	fresh   bool
}

func newIntake(l *life) *intake {
	in := &intake{life: l}
	in.lane = lane.Lane[heard]{Group: &l.work, Bound: maxWaiting, Do: in.do}
	in.rooms = rooms{intake: in, known: make(map[string]*room)}
	return in
}

// put takes one live message. It never waits.
func (in *intake) put(m *chat.Message, where chat.Context) {
	in.add(heard{message: m, room: gate.FromEvent(where)})
}

func (in *intake) add(h heard) {
	if in.closed.Load() {
		return
	}
	if !in.lane.Put(h) {
		in.life.tally.count(func(c *Counters) { c.Missed++ })
	}
}

func (in *intake) close() { in.closed.Store(true) }

func (in *intake) do(batch []heard) {
	for len(batch) > 0 && !in.closed.Load() {
		n := min(len(batch), claimsAtOnce)
		in.take(batch[:n])
		batch = batch[n:]
	}
}

// take judges a few messages, claims together those that ask for something,
// and sends them on in their order.
func (in *intake) take(batch []heard) {
	asking := make([]judged, 0, len(batch))
	for _, h := range batch {
		if in.rooms.hold(&h) {
			continue
		}
		v := in.judge(h)
		switch v.Action {
		case gate.Ignore:
			in.ignored(h, v)
		case gate.Retry:
			in.rooms.find(h)
		default:
			asking = append(asking, judged{heard: h, verdict: v})
		}
	}
	if !in.claim(asking) {
		return
	}
	for _, j := range asking {
		if !j.fresh {
			in.life.tally.count(func(c *Counters) { c.Duplicates++ })
			continue
		}
		in.life.tally.count(func(c *Counters) { c.Claimed++ })
		in.settled(j.heard, j.verdict)
		in.life.dispatch(j)
	}
}

// judge asks the gate.
func (in *intake) judge(h heard) gate.Verdict {
	l := in.life
	r := l.rules.Load()
	return gate.Decide(*h.message, gate.Facts{
		Self: r.self, Policy: r.policy, Room: h.room, CaughtUp: h.caughtUp,
		Now: l.serverNow(), Age: r.settings.Limits.Age,
	})
}

// ignored counts a message that goes no further. An edit may still change a
// question that waits for its turn.
func (in *intake) ignored(h heard, v gate.Verdict) {
	in.life.tally.ignored(string(v.Step))
	in.settled(h, v)
	if v.Step == gate.StepEdited {
		in.life.edited(h)
	}
}

// settled moves the room's cursor past a message that needs nothing more.
func (in *intake) settled(h heard, v gate.Verdict) {
	if v.MoveCursor {
		in.life.store.Advance(h.message.RoomID, h.message.Sent.Time)
	}
}

// claim makes questions ours, durably, all at once. While the store can't be
// written to nothing is taken in: it waits, and with it all that comes behind.
// It reports false when the channel ended first.
func (in *intake) claim(asking []judged) bool {
	left := make([]*judged, len(asking))
	for i := range asking {
		left[i] = &asking[i]
	}
	for try := 0; len(left) > 0; try++ {
		if try > 0 && !in.pause() {
			return false
		}
		failed := in.claimOnce(left)
		in.life.storeFailed(failed.err)
		left = failed.left
	}
	return true
}

// unclaimed is what a try left.
type unclaimed struct {
	mu   sync.Mutex
	left []*judged
	err  error
}

func (in *intake) claimOnce(asking []*judged) *unclaimed {
	failed := &unclaimed{}
	one := func(j *judged) {
		fresh, err := in.life.store.Claim(in.life.ctx, in.question(j))
		if err == nil {
			j.fresh = fresh
			return
		}
		failed.mu.Lock()
		defer failed.mu.Unlock()
		failed.left, failed.err = append(failed.left, j), err
	}
	if len(asking) == 1 {
		one(asking[0])
		return failed
	}
	var wg sync.WaitGroup
	for _, j := range asking {
		wg.Go(func() { one(j) })
	}
	wg.Wait()
	return failed
}

// question is what the store keeps of a message: never its text.
func (in *intake) question(j *judged) dedup.Question {
	k := in.life.key(j.message, j.verdict.Kind)
	return dedup.Question{
		ID:   dedup.ID{Message: j.message.ID, At: j.message.Sent.Time},
		Room: k.Room, Thread: k.Thread, Asker: j.message.Sender.ID,
	}
}

// pause waits before the store is asked again.
func (in *intake) pause() bool {
	t := time.NewTimer(claimRetry)
	defer t.Stop()
	select {
	case <-t.C:
		return !in.closed.Load()
	case <-in.life.ctx.Done():
		return false
	}
}

// serverNow is the time by the server's clock.
func (l *life) serverNow() time.Time {
	offset, _ := l.client.Load().ClockOffset()
	return time.Now().Add(offset)
}

// roomTimeout bounds asking for a room's facts.
const roomTimeout = 20 * time.Second

// facts asks the server what a room is, for events that don't say.
func (l *life) facts(id string) (gate.Room, error) {
	ctx, cancel := context.WithTimeout(l.ctx, roomTimeout)
	defer cancel()
	info, err := l.client.Load().Room(ctx, id)
	if err != nil {
		return gate.Room{}, err
	}
	subs, _, err := l.client.Load().Subscriptions(ctx, time.Time{})
	if err != nil {
		return gate.Room{}, err
	}
	member := false
	for _, s := range subs {
		member = member || s.RoomID == id
	}
	return gate.FromInfo(info, member, false), nil
}

package trial

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
)

// What a channel finds when it comes back after half an hour.
const (
	missedRooms   = 50
	missedDirects = 2 // of the rooms; in them every message is a question
	missedTime    = 30 * time.Minute
)

// How much more may live in memory while all that is read and answered, and
// what the pretend server needs to keep one answer, in the same process.
const (
	flat = 16 << 20
	kept = 4 << 10
)

// A channel that missed thousands of messages reads them at the rate that its
// server allows, answers what asked for an answer within its bounds, and counts
// the rest. It runs on a fake clock, so the server's minutes cost none.
func TestMissed(t *testing.T) {
	for _, c := range []struct {
		name     string
		messages int
		budget   int // limits.catch_up_messages
	}{
		{"all", 5000, 5000},
		{"bounded", 1000, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := quickDir(t)
			synctest.Test(t, func(t *testing.T) { missed(t, dir, c.messages, c.budget) })
		})
	}
}

func missed(t *testing.T, dir string, messages, budget int) {
	asked := newTally()
	w, dial := away(t, dir, asked)
	ctx := patiently(t, 2*time.Hour) // of the fake clock
	o := w.tell(orders{})
	o.Settings.Limits.CatchUpMessages = budget
	env := channel.Env{Dial: dial}

	// It has been heard in half of the rooms; the others have no cursor.
	s := newScript()
	s.begun = asked.add
	c := w.runInside(env, o, s)
	must(t, c.await(ctx, online))
	for _, room := range w.rooms[missedRooms/2:] {
		w.ask(w.speaker(room), room, "")
	}
	must(t, w.await(ctx, w.questions()...))
	c.drain(t)
	heard := len(w.questions())

	w.goOn(messages, min(messages, number(t, "TRIAL_MISSED", 100)))
	questions := len(w.questions()) - heard
	began, m := time.Now(), newMeter()
	s = newScript()
	s.begun = func(id string) {
		asked.add(id)
		m.measure()
	}
	c = w.runInside(env, o, s)
	must(t, c.await(ctx, online))
	var live []*question
	for _, room := range w.rooms[:10] {
		live = append(live, w.ask(w.speaker(room), room, ""))
	}
	must(t, w.await(ctx, live...))
	total := questions + len(live)
	err := c.await(ctx, func(r channel.Report) bool {
		n := r.Counters
		return online(r) && int(n.Claimed+n.Missed) >= total && n.Answered == n.Claimed
	})
	if err != nil {
		r, _ := c.latest()
		t.Fatalf("%v: of %d questions: %+v", err, questions, r)
	}
	took := time.Since(began)
	counts := c.drain(t)
	v := w.judge()
	t.Logf("%d messages, %d of them questions; %v; claimed %d, caught up %d, missed %d, in %v of the server's time; %d KiB more in memory",
		messages, questions, v, counts.Claimed, counts.CaughtUp, counts.Missed, took.Round(time.Second), m.most>>10)

	// A live question that its room's history has too may count as caught up; the
	// bound is not for those.
	claimed, caughtUp, lost := int(counts.Claimed), int(counts.CaughtUp), int(counts.Missed)
	if caughtUp > budget+len(live) || caughtUp < min(questions, budget) || claimed-caughtUp > len(live) || claimed+lost != total {
		t.Errorf("claimed %d, caught up %d, missed %d, of %d questions and %d live ones", claimed, caughtUp, lost, questions, len(live))
	}
	if total <= budget && lost > 0 {
		t.Errorf("%d questions were missed", lost)
	}
	if v.answered != heard+claimed || len(v.faults) != total-claimed {
		t.Errorf("%v; %d should be left out", v, total-claimed)
		t.Log(v.faults[:min(len(v.faults), 5)])
	}
	if m.most > flat+kept*int64(claimed) {
		t.Errorf("%d MiB more in memory", m.most>>20)
	}
}

// away is a world of many rooms, whose server counts the calls of the bot.
func away(t *testing.T, dir string, asked *tally) (*world, func(context.Context, string, string) (net.Conn, error)) {
	server := pretend.New(pretend.Options{RESTCalls: 120})
	t.Cleanup(func() { server.Close() })
	w := &world{server: server, url: "http://127.0.0.1:3000", home: newHome(t, dir), key: "the key of this trial", begun: asked.all}
	w.bot = server.AddUser("hermes", pretend.UserOptions{Bot: true, Limited: true})
	for i := range missedDirects {
		w.people = append(w.people, server.AddUser(fmt.Sprint("person", i), pretend.UserOptions{}))
	}
	all := append(slices.Clone(w.people), w.bot)
	for i := range missedRooms - missedDirects {
		kind := []string{"c", "p"}[i%2]
		w.rooms = append(w.rooms, server.AddRoom(kind, fmt.Sprint("room", i), all...))
	}
	for _, p := range w.people {
		w.rooms = append(w.rooms, server.AddDirect(p, w.bot))
	}
	return w, server.Pipe()
}

// speaker is one who may ask in a room.
func (w *world) speaker(room pretend.Room) pretend.User {
	if room.Kind == "d" {
		return w.personOf(room)
	}
	return w.people[len(room.Name)%len(w.people)]
}

// goOn is people talking while no channel runs: in the direct rooms, and among
// each other in the rest, where so many of all messages are questions.
func (w *world) goOn(messages, questions int) {
	every := messages / questions
	for n := range messages {
		room := w.rooms[n%len(w.rooms)]
		if room.Kind == "d" || n/len(w.rooms)%every == 0 || every <= 1 {
			w.say(w.plan(w.speaker(room), room, "", 1))
		} else {
			w.server.Say(w.people[n%len(w.people)], room, fmt.Sprint("I think so too, for the ", n, "th time"))
		}
		time.Sleep(missedTime / time.Duration(messages))
	}
}

// A meter is how much more lives in memory than when it was made, at most.
type meter struct {
	mu    sync.Mutex
	base  int64
	calls int
	most  int64
}

func newMeter() *meter { return &meter{base: living()} }

// measure takes every fiftieth measure.
func (m *meter) measure() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls++; m.calls%50 == 1 {
		m.most = max(m.most, living()-m.base)
	}
}

// living is how many bytes live in memory.
func living() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

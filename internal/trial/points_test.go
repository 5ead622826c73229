package trial

import (
	"os"
	"strings"
	"testing"

	"rcsupervisor/channel/pretend"
)

// What becomes of a question.
type outcome string

const (
	answered    outcome = "answered"
	interrupted outcome = "interrupted"
	either      outcome = "answered or interrupted"
)

// points are all moments between two durable steps of a question with three
// parts, in the order in which they come, and what becomes of a question whose
// process ended there.
var points = []struct {
	point point
	want  outcome
}{
	{before(atClaim), answered},
	{after(atClaim), answered},
	{before(atMove), answered},
	{after(atMove), answered},
	{before(atGive), answered},
	{after(atGive), interrupted},
	{atAgent, interrupted},
	{before(atAnswer), interrupted},
	{after(atAnswer), answered},
	{sent(part(atPost, 0)), answered},
	{replied(part(atPost, 0)), answered},
	{before(part(atSettle, 0)), answered},
	{after(part(atSettle, 0)), answered},
	{sent(part(atPost, 1)), answered},
	{replied(part(atPost, 1)), answered},
	{before(part(atSettle, 1)), answered},
	{after(part(atSettle, 1)), answered},
	{sent(part(atPost, 2)), answered},
	{replied(part(atPost, 2)), answered},
	{before(part(atSettle, 2)), answered},
	{after(part(atSettle, 2)), answered},
}

// A process that ends at any point of a question's way keeps the promise: for a
// question it hears live, and for one it has missed.
func TestEveryPoint(t *testing.T) {
	for _, c := range points {
		t.Run(name(c.point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pretend.Options{})
			room := w.rooms[len(w.rooms)-1]
			ctx := patiently(t, patience)

			live := w.plan(w.personOf(room), room, "", 3)
			first := w.begin(t, orders{Crash: w.crash(c.point, live)})
			must(t, first.await(ctx, online))
			w.say(live)
			first.mustEndAt(ctx, t)
			second := w.begin(t, orders{})
			w.mustBecome(ctx, t, live, c.want)
			second.kill(t)

			missed := w.plan(w.personOf(room), room, "", 3)
			at := w.crash(c.point, missed)
			w.say(missed)
			w.begin(t, orders{Crash: at}).mustEndAt(ctx, t)

			last := w.begin(t, orders{})
			w.mustBecome(ctx, t, missed, whenMissed(c.point, c.want))
			w.mustEnd(ctx, t, last, w.ask(w.personOf(room), room, ""))
		})
	}
}

// whenMissed is what becomes of a question that was read from its room's
// history. There the cursor moves when the whole room was read, by which time
// the agent may have been given the question.
func whenMissed(p point, want outcome) outcome {
	if p == before(atMove) || p == after(atMove) {
		return either
	}
	return want
}

// A process that ends at any point of finishing what another left keeps it too.
func TestEveryPairOfPoints(t *testing.T) {
	for _, c := range points {
		for _, d := range points {
			if !telling(c.point, d.point) && os.Getenv("TRIAL_PAIRS") == "" {
				continue
			}
			want := c.want
			if want == answered && state(c.point) < state(after(atGive)) && state(d.point) >= state(c.point) {
				want = whenMissed(d.point, d.want) // the second process gives it to the agent, and may end there
			}
			t.Run(name(c.point)+","+name(d.point), func(t *testing.T) {
				t.Parallel()
				pair(t, c.point, d.point, want)
			})
		}
	}
}

func pair(t *testing.T, one, two point, want outcome) {
	w := newWorld(t, pretend.Options{})
	room := w.rooms[len(w.rooms)-1]
	ctx := patiently(t, patience)
	q := w.plan(w.personOf(room), room, "", 3)
	first := w.begin(t, orders{Crash: w.crash(one, q)})
	must(t, first.await(ctx, online))
	w.say(q)
	first.mustEndAt(ctx, t)
	// It may never come to the second point: then it comes to the end.
	second := w.begin(t, orders{Crash: w.crash(two, q)})
	for over := false; !over; {
		changed := w.server.Changed()
		if w.over(q) {
			second.kill(t)
			break
		}
		select {
		case <-changed:
		case <-second.exited:
			second.mustBeKilled(t)
			over = true
		case <-ctx.Done():
			t.Fatalf("it comes to no end: %v", w.judge().faults)
		}
	}
	last := w.begin(t, orders{})
	w.mustBecome(ctx, t, q, want)
	w.mustEnd(ctx, t, last, w.ask(w.personOf(room), room, ""))
}

// telling pairs are run always: a note in place of an answer, and a question
// read again, each ended at its steps.
func telling(one, two point) bool {
	switch one {
	case atAgent:
		return state(two) >= state(before(atAnswer)) && !strings.HasSuffix(string(two), "1") && !strings.HasSuffix(string(two), "2")
	case after(atClaim):
		return state(two) >= state(before(atGive)) && state(two) <= state(after(atAnswer))
	}
	return false
}

// state is where among the points one stands.
func state(p point) int {
	for i, c := range points {
		if c.point == p {
			return i
		}
	}
	panic("no point " + string(p))
}

func name(p point) string { return strings.ReplaceAll(string(p), " ", "-") }

// crash is what a child is told to end at a point of a question's.
func (w *world) crash(p point, q *question) crash {
	return crash{Point: p, Question: q.id, Room: q.room, At: w.server.Now(), Posts: q.answer, Note: q.note}
}

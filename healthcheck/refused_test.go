package healthcheck

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A refusal costs two logins, and then a question now and then (RC#23947: a
// valid token refused once; hermes-agent#118388: hundreds of tries a day).
func TestRefused(t *testing.T) {
	h, now := online(day), day.Add(time.Hour)
	d, h := Next(h, Ended{Reason: Refused, Detail: "login 403"}, now, flat)
	if (d != Decision{Do: Reread}) || h.State != Connecting {
		t.Fatalf("the first time: %+v, %+v", d, h)
	}
	h, now = again(t, d, h, now)
	d, h = Next(h, Ended{Reason: Refused}, now, flat)
	if (d != Decision{Do: Probe, After: time.Minute}) || h.State != NeedsToken || !h.Alive {
		t.Fatalf("the second time: %+v, %+v", d, h)
	}
	// Two logins in all; from here on the token is only asked about.
	if h.Restarts != 1 {
		t.Errorf("%d restarts", h.Restarts)
	}
	for i, want := range []time.Duration{2, 5, 15, 15, 15} {
		now = now.Add(d.After)
		h = h.Began(now, flat)
		answer := Denied
		if i%2 == 1 {
			answer = Unsure
		}
		d, h = h.Probed(answer, now)
		if (d != Decision{Do: Probe, After: want * time.Minute}) || h.State != NeedsToken {
			t.Fatalf("probe %d: %+v, %+v", i, d, h)
		}
	}
	now = now.Add(d.After)
	h = h.Began(now, flat)
	d, taken := h.Probed(Taken, now)
	if (d != Decision{Do: Dial}) || taken.State != Connecting {
		t.Errorf("taken: %+v, %+v", d, taken)
	}
	d, changed := h.Changed(now)
	if (d != Decision{Do: Dial}) || changed.Refusals != 0 || changed.Probes != 0 {
		t.Errorf("changed: %+v, %+v", d, changed)
	}
	// The new token is refused too: it has the same two tries.
	changed = changed.Began(now, flat)
	d, changed = Next(changed, Ended{Reason: Refused}, now, flat)
	if d.Do != Reread {
		t.Errorf("a new token refused: %+v, %+v", d, changed)
	}
}

// A server that takes a token, and refuses it within the minute, again and
// again, is asked ever more seldom instead of in a circle.
func TestRefusedInTurn(t *testing.T) {
	h, now := online(day), day
	var waits []time.Duration
	for range 12 {
		now = now.Add(10 * time.Second)
		d, next := Next(h, Ended{Reason: Refused}, now, flat)
		waits = append(waits, d.After)
		now = now.Add(d.After)
		if d.Do == Probe {
			next = next.Began(now, flat)
			d, next = next.Probed(Taken, now)
			waits[len(waits)-1] += d.After
			now = now.Add(d.After)
		}
		h = next.Began(now, flat).Online(now)
	}
	m := time.Minute
	want := []time.Duration{0, m, 2 * m, 5 * m, 15 * m, 15 * m, 15 * m, 15 * m, 15 * m, 15 * m, 15 * m, 15 * m}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestRefusedCommon(t *testing.T) {
	for _, refusals := range []int{0, 1} {
		h := started(day)
		h.Refusals = refusals
		d, h := Next(h, Ended{Reason: Refused, Common: true, Limit: 10 * time.Minute}, day, flat)
		if d.Do != Await || h.State != Backoff || h.Reason != Refused || !h.RetryAt.Equal(day.Add(10*time.Minute)) {
			t.Errorf("%+v, %+v", d, h)
		}
		d, h = h.Released(day.Add(time.Minute))
		if (d != Decision{Do: Dial}) || h.State != Connecting {
			t.Errorf("released: %+v, %+v", d, h)
		}
	}
	// One that waits for a token already is drawn in; others are not.
	for _, c := range []struct {
		h    History
		want State
	}{
		{refusedTwice(), Backoff},
		{online(day), Online},
		{New(day), Off},
		{held(Unsealed), NeedsToken},
	} {
		_, h := c.h.Doubted(time.Minute, day)
		if h.State != c.want {
			t.Errorf("%s/%s doubted is %s", c.h.State, c.h.Reason, h.State)
		}
	}
}

// refusedTwice waits for a token, with its worker alive.
func refusedTwice() History {
	_, h := Next(online(day), Ended{Reason: Refused}, day, flat)
	_, h = Next(h.Began(day, flat), Ended{Reason: Refused}, day, flat)
	return h
}

// held is a profile without a run that rests for r.
func held(r Reason) History {
	_, h := New(day).Start(day)
	_, h = Next(h.Began(day, nil), Ended{Reason: r, Over: true}, day, flat)
	return h
}

func TestUnreachable(t *testing.T) {
	h, now := online(day), day.Add(time.Hour)
	_, h = Next(h, Ended{Reason: Closed}, now, flat)
	h = h.Began(now, flat)
	for i, want := range []time.Duration{0, 1, 2, 5, 5, 5} {
		d, next := Next(h, Ended{Reason: Unreachable}, now, flat)
		if d.Do != Await || d.After != 0 || next.State != Backoff || next.Flapping {
			t.Fatalf("end %d: %+v, %+v", i, d, next)
		}
		// Released at once, it still keeps its distance.
		d, next = next.Released(now)
		if d.Do != Dial || d.After != want*time.Second {
			t.Fatalf("end %d: released: %+v", i, d)
		}
		h, now = again(t, d, next, now)
	}
	// Who didn't dial keeps none.
	_, h = Next(h, Ended{Reason: Unreachable, Common: true}, now, flat)
	d, h := h.Released(now)
	if (d != Decision{Do: Dial}) {
		t.Errorf("%+v, %+v", d, h)
	}
	// And what came before is not made worse by it.
	if h.Streak != 1 {
		t.Errorf("streak %d", h.Streak)
	}
}

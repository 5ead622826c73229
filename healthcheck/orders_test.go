package healthcheck

import (
	"testing"
	"time"
)

// where is a profile in every situation that an order can find it in.
func where() map[string]History {
	_, stopping := online(day).Stop(Operator, day)
	_, restarting := online(day).Restart(day)
	_, ending := Next(online(day), Ended{Reason: BadConfig}, day, flat)
	_, suspending := online(day).Stop(Suspended, day)
	_, leaving := online(day).Stop(Gone, day)
	_, planned := New(day).Start(day)
	_, backoff := Next(started(day), Ended{Reason: Closed}, day, flat)
	_, backoff = Next(backoff.Began(day, flat), Ended{Reason: Closed}, day, flat)
	_, crashed := Next(backoff, Ended{Reason: Crashed}, day, flat)
	_, limited := Next(online(day), Ended{Reason: RateLimited, Limit: time.Minute}, day, flat)
	_, unreached := Next(started(day), Ended{Reason: Unreachable}, day, flat)
	_, doubted := Next(started(day), Ended{Reason: Refused, Common: true}, day, flat)
	_, off := online(day).Stop(Operator, day)
	_, off = Next(off, Ended{Reason: Operator, Over: true}, day, flat)
	_, lost := New(day).Stop(LedgerLost, day)
	_, stuck := Next(online(day), Ended{Reason: Hung, Stuck: true}, day, flat)
	m := map[string]History{
		"new": New(day), "planned": planned, "connecting": started(day), "online": online(day),
		"stopping": stopping, "restarting": restarting, "ending": ending, "suspending": suspending, "leaving": leaving,
		"backoff": backoff, "crashed": crashed, "limited": limited, "unreached": unreached, "doubted": doubted,
		"refused": refusedTwice(), "off": off, "lost": lost, "stuck": stuck,
	}
	for _, r := range []Reason{Unsealed, BadConfig, Duplicate, Identity, Moved, Rebound, RolledBack, Suspended, NameTaken} {
		m[string(r)] = held(r)
	}
	return m
}

// outcome is what an order comes to: what to do, the state, and in a run that
// is being ended what is to come after it.
type outcome struct {
	do    Do
	state State
	then  Do
}

func TestOrders(t *testing.T) {
	start := func(h History) (Decision, History) { return h.Start(day) }
	resume := func(h History) (Decision, History) { return h.Resume(day) }
	restart := func(h History) (Decision, History) { return h.Restart(day) }
	stop := func(h History) (Decision, History) { return h.Stop(Operator, day) }
	gone := func(h History) (Decision, History) { return h.Stop(Gone, day) }
	changed := func(h History) (Decision, History) { return h.Changed(day) }
	freed := func(h History) (Decision, History) { return h.Freed(Duplicate, day) }
	released := func(h History) (Decision, History) { return h.Released(day) }

	// A field left out means that the order changes nothing.
	type row struct{ start, resume, restart, stop, gone, changed, freed, released *outcome }
	o := func(do Do, state State, then ...Do) *outcome {
		o := outcome{do: do, state: state}
		if len(then) > 0 {
			o.then = then[0]
		}
		return &o
	}
	begin, dial, off, leave := o(Begin, Starting), o(Dial, Connecting), o(Rest, Off), o(Leave, Off)
	halt, again, bye := o(Halt, Stopping), o(Halt, Stopping, Begin), o(Halt, Stopping, Leave)
	table := map[string]row{
		"new":        {start: begin, resume: begin, restart: begin, stop: off, gone: leave},
		"off":        {start: begin, resume: begin, restart: begin, stop: off, gone: leave},
		"planned":    {start: begin, resume: begin, restart: begin, stop: off, gone: leave},
		"connecting": {restart: again, stop: halt, gone: bye},
		"online":     {restart: again, stop: halt, gone: bye},
		"stopping":   {start: again, resume: again, restart: again, stop: halt, gone: bye},
		"restarting": {start: again, resume: again, restart: again, stop: halt, gone: bye},
		"ending":     {start: again, resume: again, restart: again, stop: halt, gone: bye, changed: again},
		"suspending": {resume: again, gone: bye},
		"leaving":    {},
		"backoff":    {start: dial, resume: dial, restart: again, stop: halt, gone: bye, changed: dial},
		"crashed":    {start: begin, resume: begin, restart: begin, stop: off, gone: leave, changed: begin},
		"limited":    {start: dial, resume: dial, restart: again, stop: halt, gone: bye},
		"unreached":  {start: dial, resume: dial, restart: again, stop: halt, gone: bye, released: dial},
		"doubted":    {start: dial, resume: dial, restart: again, stop: halt, gone: bye, changed: dial, released: dial},
		"refused":    {start: dial, resume: dial, restart: again, stop: halt, gone: bye, changed: dial},
		"lost":       {start: begin, resume: begin, restart: begin, stop: off, gone: leave},
		"stuck": {
			start: o(Rest, Held, Begin), resume: o(Rest, Held, Begin), restart: o(Rest, Held, Begin),
			stop: o(Rest, Held), gone: o(Rest, Held, Leave),
		},
		"suspended":  {resume: begin, gone: leave},
		"name-taken": {start: begin, resume: begin, restart: begin, stop: off, gone: leave},
		"duplicate":  {start: begin, resume: begin, restart: begin, stop: off, gone: leave, changed: begin, freed: begin},
	}
	for _, r := range []Reason{Unsealed, BadConfig, Identity, Moved, Rebound, RolledBack} {
		table[string(r)] = row{start: begin, resume: begin, restart: begin, stop: off, gone: leave, changed: begin}
	}
	places := where()
	if len(places) != len(table) {
		t.Fatalf("%d situations, %d rows", len(places), len(table))
	}
	for name, h := range places {
		r, ok := table[name]
		if !ok {
			t.Fatalf("no row for %s", name)
		}
		for verb, c := range map[string]struct {
			tell func(History) (Decision, History)
			want *outcome
		}{
			"start": {start, r.start}, "resume": {resume, r.resume}, "restart": {restart, r.restart}, "stop": {stop, r.stop},
			"gone": {gone, r.gone}, "changed": {changed, r.changed}, "freed": {freed, r.freed}, "released": {released, r.released},
		} {
			want := outcome{h.Plan, h.State, h.Then}
			if c.want != nil {
				want = *c.want
			}
			d, got := c.tell(h)
			if (outcome{d.Do, got.State, got.Then}) != want {
				t.Errorf("%s, %s: %+v, %s then %q; want %+v", name, verb, d, got.State, got.Then, want)
			}
			if c.want != nil && d.After != 0 {
				t.Errorf("%s, %s: as told, and yet it waits %v", name, verb, d.After)
			}
			if got.Alive != h.Alive {
				t.Errorf("%s, %s: an order doesn't end or make a run by itself", name, verb)
			}
			if d.Do != Rest && d.Do != Probe && d.Do != Await && c.want != nil && got.Again && verb != "released" {
				t.Errorf("%s, %s: counts as a restart", name, verb)
			}
		}
	}
}

// Whatever comes after the stop, a run that ended as badly as can be is over.
func TestStopThatFails(t *testing.T) {
	for _, r := range []Reason{Crashed, Hung, Operator, Closed, Refused, Busy} {
		_, h := online(day).Restart(day)
		d, h := Next(h, Ended{Reason: r, Over: true}, day, flat)
		if (d != Decision{Do: Begin}) || h.State != Starting || h.Reason != Operator || h.Streak != 0 {
			t.Errorf("restart, %s: %+v, %+v", r, d, h)
		}
		if h = h.Began(day, flat); h.Restarts != 0 {
			t.Errorf("restart, %s: counted", r)
		}
		_, h = online(day).Stop(Operator, day)
		d, h = Next(h, Ended{Reason: r, Over: true}, day, flat)
		if (d != Decision{}) || h.State != Off || h.Reason != Operator {
			t.Errorf("stop, %s: %+v, %+v", r, d, h)
		}
	}
}

// A file that is mended while the run it broke is still ending must not be
// waited for again.
func TestMendedWhileStopping(t *testing.T) {
	_, h := Next(online(day), Ended{Reason: BadConfig}, day, flat)
	_, h = h.Changed(day)
	d, h := Next(h, Ended{Reason: Operator, Over: true}, day, flat)
	if d.Do != Begin {
		t.Errorf("%+v, %+v", d, h)
	}
	// and so with a bot that another let go of
	_, h = Next(online(day), Ended{Reason: Duplicate}, day, flat)
	_, h = h.Freed(Moved, day)
	if h.Then != Rest {
		t.Errorf("freed for another reason: %+v", h)
	}
	_, h = h.Freed(Duplicate, day)
	if d, h = Next(h, Ended{Reason: Operator, Over: true}, day, flat); d.Do != Begin {
		t.Errorf("%+v, %+v", d, h)
	}
}

// A run that was told to connect anew, or whose server or bot is another, goes
// on at once and is no fault.
func TestAsTold(t *testing.T) {
	for _, r := range []Reason{Operator, Reload} {
		for _, over := range []bool{false, true} {
			h := online(day)
			h.Streak, h.Refusals = 6, 2
			d, h := Next(h, Ended{Reason: r, Over: over}, day, flat)
			want := Dial
			if over {
				want = Begin
			}
			if (d != Decision{Do: want}) || h.Streak != 0 || h.Refusals != 0 {
				t.Errorf("%s: %+v, %+v", r, d, h)
			}
			if h = h.Began(day, flat); h.Restarts != 0 || h.Reason != r {
				t.Errorf("%s: %+v", r, h)
			}
		}
	}
}

// Since is of the state, and the reason of one that runs is its last end.
func TestSinceAndReason(t *testing.T) {
	h := New(day)
	at := func(s int) time.Time { return day.Add(time.Duration(s) * time.Second) }
	check := func(s State, r Reason, since int) {
		t.Helper()
		if h.State != s || h.Reason != r || !h.Since.Equal(at(since)) {
			t.Fatalf("%s/%q since %v, want %s/%q since %v", h.State, h.Reason, h.Since, s, r, at(since))
		}
	}
	check(Off, "", 0)
	_, h = h.Start(at(1))
	check(Starting, "", 1)
	h = h.Began(at(2), nil)
	check(Starting, "", 1)
	_, h = Next(h, Ended{Reason: BadConfig, Detail: "channel.yaml:3: unknown key", Over: true}, at(3), nil)
	check(NeedsConfig, BadConfig, 3)
	_, h = h.Changed(at(4))
	check(Starting, "", 4)
	if h.Error != "" {
		t.Errorf("an error that was mended: %q", h.Error)
	}
	h = h.Began(at(4), nil).Dialing(at(5))
	check(Connecting, "", 5)
	h = h.Online(at(6))
	check(Online, "", 6)
	_, h = Next(h, Ended{Reason: Silent, Detail: "no frame for 70 s"}, at(90), nil)
	check(Connecting, Silent, 90)
	h = h.Began(at(91), nil).Online(at(92))
	check(Online, Silent, 92)
	if h.Error != "" || h.Restarts != 1 {
		t.Errorf("online: %+v", h)
	}
	_, h = Next(h, Ended{Reason: Closed}, at(93), nil)
	check(Backoff, Closed, 93)
	_, h = h.Stop(Operator, at(94))
	check(Stopping, Operator, 94)
	_, h = Next(h, Ended{Reason: Operator, Over: true}, at(95), nil)
	check(Off, Operator, 95)
}

package healthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A world is a supervisor in small: it carries out what the rules decide, for
// a few profiles of two servers, and holds them to what they promise. Its
// clock has two hands: real, which only goes forward, and wall, which is what
// the rules are given and may be set.
type world struct {
	t        *rapid.T
	real     time.Time
	wall     time.Duration // wall clock minus real
	steps    bool          // the wall clock may be set
	stepped  bool          // and was, at least once
	jitter   Jitter
	servers  []*Server
	up       []bool // servers: there
	trusting []bool // servers: take tokens
	profiles []*tenant
}

// A tenant is a profile and what is really so of it.
type tenant struct {
	name   string
	server int
	h      History
	d      Decision
	due    time.Time // real; zero: no timer

	run, conn, halting, stuck bool
	wanted, left              bool
	suspended                 bool

	// What the rules may not go below, counted from outside.
	rereads int         // of the sealed file, since the last fresh start
	direct  int         // waits by steps since the last fresh start
	bound   time.Time   // real: nothing that the rules do by themselves comes earlier
	ends    []time.Time // real: what counts for flapping since the last fresh start
	flaps   bool
	online  time.Time
}

func (w *world) now() time.Time { return w.real.Add(w.wall) }

// obey carries out a decision, or arms the one timer for it.
func (w *world) obey(p *tenant, d Decision, h History) {
	p.d, p.h, p.due = d, h, time.Time{}
	if d.After < 0 {
		w.t.Fatalf("%s: wait of %v", p.name, d.After)
	}
	if d.Do != Await {
		w.servers[p.server].Leave(p.name, w.now())
	}
	switch d.Do {
	case Rest:
	case Await:
		s := w.servers[p.server]
		if h.Reason == Unreachable {
			s.Unreachable(p.name, w.now(), w.jitter)
		}
	case Halt:
		if !p.run {
			w.t.Fatalf("%s: halt without a run", p.name)
		}
		p.halting, p.conn = true, false
	case Leave:
		if p.run {
			w.t.Fatalf("%s leaves behind a run", p.name)
		}
		p.left = true
	default:
		if d.After == 0 {
			w.fire(p)
		} else {
			p.due = w.real.Add(d.After)
		}
	}
}

// fire carries out what a timer was armed for.
func (w *world) fire(p *tenant) {
	p.due = time.Time{}
	do, own := p.d.Do, p.h.Again
	p.h = p.h.Began(w.now(), w.jitter)
	if do == Probe {
		d, h := p.h.standing(w.now())
		p.d, p.due = d, w.real.Add(d.After)
		answer := Denied
		if !w.up[p.server] {
			answer = Unsure
		} else if w.trusting[p.server] {
			answer = Taken
		}
		d, h = h.Probed(answer, w.now())
		w.obey(p, d, h)
		return
	}
	if !p.wanted || p.suspended {
		w.t.Fatalf("%s runs though nobody wants it: %+v", p.name, p.h)
	}
	if own && w.real.Before(p.bound) {
		w.t.Fatalf("%s: %v too soon: %+v", p.name, p.bound.Sub(w.real), p.h)
	}
	if (do == Begin) == p.run && do != Reread {
		w.t.Fatalf("%s: %s, and a run is %v", p.name, do, p.run)
	}
	if p.conn || p.halting || p.stuck {
		w.t.Fatalf("%s: %s beside another: %+v", p.name, do, p)
	}
	p.run, p.conn = true, true
	p.h = p.h.Dialing(w.now())
	if p.h.State != Connecting {
		w.t.Fatalf("%s is %s after %s", p.name, p.h.State, do)
	}
	if w.servers[p.server].Down() {
		w.end(p, Ended{Reason: Unreachable, Common: true})
	}
}

// fresh is what forgives everything.
func (p *tenant) fresh() {
	p.direct, p.rereads, p.ends, p.flaps, p.bound = 0, 0, nil, false, time.Time{}
}

// end has p's connection or run end.
func (w *world) end(p *tenant, e Ended) {
	over := e.over()
	if e.Stuck {
		p.stuck, p.halting, p.conn = true, false, false
	} else if over {
		p.run, p.halting, p.stuck, p.conn = false, false, false, false
	} else {
		p.conn = false
	}
	wasOnline, state := p.h.State == Online, p.h.State
	if wasOnline && (w.real.Sub(p.online) >= Steady || w.stepped) {
		p.direct, p.rereads = 0, 0
		if p.flaps || w.stepped {
			p.ends, p.flaps = nil, false
		}
	}
	if e.Reason == Refused {
		common, limit, others := w.servers[p.server].Refused(p.name, w.now(), w.jitter)
		e.Common, e.Limit = common, limit
		defer func() {
			for _, n := range others {
				o := w.profiles[slices.IndexFunc(w.profiles, func(o *tenant) bool { return o.name == n })]
				d, h := o.h.Doubted(limit, w.now())
				w.obey(o, d, h)
			}
		}()
	}
	if (e.Reason == Operator || e.Reason == Reload) && state != Stopping && state != Held {
		p.fresh()
	}
	if counts(e.Reason, wasOnline) && state != Stopping && state != Held {
		p.ends = append(p.ends, w.real)
		if n := len(p.ends); n > FlapEnds && w.real.Sub(p.ends[n-1-FlapEnds]) < FlapWindow {
			p.flaps = true
		}
	}
	before := p.h
	d, h := Next(p.h, e, w.now(), w.jitter)
	if waits := state == Held || state == NeedsToken || state == NeedsConfig || before.Plan == Await || (state == Backoff && before.Reason == RateLimited); !waits {
		w.bound(p, e, d, state)
	} else if state == Held && before.Again && e.over() && !e.Reason.IsHold() {
		w.bound(p, Ended{Reason: Hung}, d, Online)
	} else if state != Held && !e.Stuck && e.Reason != Operator && e.Reason != Reload && !e.Reason.IsHold() {
		p.direct++
	}
	w.obey(p, d, h)
}

// bound says how long p has to wait at least, by the words of the table.
func (w *world) bound(p *tenant, e Ended, d Decision, was State) {
	if was == Stopping || was == Held || e.Stuck {
		return
	}
	least := time.Duration(0)
	if e.Reason.IsHold() {
		return
	}
	switch e.Reason {
	case Operator, Reload, Unreachable:
		return
	case Refused:
		switch d.Do {
		case Await:
		case Reread:
			if p.rereads++; p.rereads > 1 && !w.stepped {
				w.t.Fatalf("%s: the file is read again for the %d. time", p.name, p.rereads)
			}
			if p.flaps {
				least = FlapPause
			}
		default:
			least = time.Minute
		}
	case RateLimited:
		least = min(max(LeastLimit, e.Limit), MostLimit)
		p.direct++
	default:
		least = step(againSteps[:], p.direct) * 85 / 100
		if p.flaps && e.Reason != Busy {
			least = FlapPause
		}
		p.direct++
	}
	if !w.stepped {
		if b := w.real.Add(least - time.Microsecond); b.After(p.bound) {
			p.bound = b
		}
	}
}

// pass lets time go by, firing what is due in its order.
func (w *world) pass(d time.Duration) {
	until := w.real.Add(d)
	for range 100_000 {
		var act func()
		next := until
		for _, p := range w.profiles {
			if !p.due.IsZero() && !p.due.After(next) {
				next, act = p.due, func() { w.fire(p) }
			}
		}
		for i, s := range w.servers {
			if d, ok := s.Due(w.now()); ok && !w.real.Add(d).After(next) {
				next, act = w.real.Add(d), func() { w.take(i) }
			}
		}
		w.real = next
		if act == nil {
			return
		}
		act()
	}
	w.t.Fatal("time stands still")
}

// take does what is due of server i.
func (w *world) take(i int) {
	s := w.servers[i]
	q, ok, names := s.Take(w.now())
	if ok {
		yes := w.up[i]
		if q.Kind == Token {
			yes = yes && w.trusting[i]
		}
		names = append(names, s.Answer(q, yes, w.now(), w.jitter)...)
	}
	w.release(names)
}

func (w *world) release(names []string) {
	for _, n := range names {
		p := w.profiles[slices.IndexFunc(w.profiles, func(p *tenant) bool { return p.name == n })]
		d, h := p.h.Released(w.now())
		w.obey(p, d, h)
	}
}

// connect lets p's connection come to what its server gives.
func (w *world) connect(p *tenant) {
	if !p.conn || p.h.State != Connecting {
		return
	}
	s := w.servers[p.server]
	if !w.up[p.server] {
		w.end(p, Ended{Reason: Unreachable})
		return
	}
	w.release(s.Connected(p.name, w.now()))
	if !w.trusting[p.server] {
		w.end(p, Ended{Reason: Refused})
		return
	}
	p.h = p.h.Online(w.now())
	p.online = w.real
	w.release(s.Online(p.name, w.now()))
}

// live gives p a number of lives, one as soon as may be after the other, each
// online for the same time and ended for the same reason.
func (w *world) live(p *tenant, r Reason, lives int, online time.Duration) {
	for range lives {
		if !p.due.IsZero() {
			w.pass(p.due.Sub(w.real))
		}
		w.connect(p)
		w.pass(online)
		if p.conn {
			w.end(p, Ended{Reason: r})
		}
	}
}

// check holds the world to what is promised at every moment.
func (w *world) check() {
	for _, p := range w.profiles {
		h := p.h
		if h.Alive != p.run {
			w.t.Fatalf("%s: alive is %v, a run is %v: %+v", p.name, h.Alive, p.run, h)
		}
		if !Possible(h.State, h.Reason) {
			w.t.Fatalf("%s: %s for %q has no words", p.name, h.State, h.Reason)
		}
		if h.Flapping && !p.flaps && !w.stepped {
			w.t.Fatalf("%s: flaps, though only %d ends count", p.name, len(p.ends))
		}
		if why := w.stuckIn(p); why != "" {
			w.t.Fatalf("%s is stuck, %s: %+v\n%+v", p.name, why, p, h)
		}
	}
}

// stuckIn says what is missing for p to get on, "" for nothing.
func (w *world) stuckIn(p *tenant) string {
	h := p.h
	switch h.State {
	case Starting, Connecting, Online:
		if !p.conn {
			return "without a connection"
		}
	case Stopping:
		if !p.halting {
			return "nobody ends its run"
		}
	case Backoff:
		if h.Plan == Await {
			if _, ok := w.servers[p.server].Due(w.now()); !ok {
				return "its server doesn't know that it waits"
			}
			return ""
		}
		if p.due.IsZero() {
			return "without a timer"
		}
	case NeedsToken:
		if h.Reason == Refused && p.due.IsZero() {
			return "without a probe"
		}
		fallthrough
	case NeedsConfig, Held, Off:
		if Explain(h, Facts{Profile: p.name}, w.now()).Action == "" && !p.left {
			return "and nobody can help"
		}
	}
	return ""
}

// heal makes the world a good one, does for each profile what its state asks
// of a person, and sees everybody online.
func (w *world) heal() {
	for i := range w.servers {
		w.up[i], w.trusting[i] = true, true
	}
	settled := func() bool {
		for _, p := range w.profiles {
			if p.h.State != Online && !p.left {
				return false
			}
		}
		return true
	}
	for range 40 {
		for _, p := range w.profiles {
			if p.run && (p.halting || p.stuck) {
				w.end(p, Ended{Reason: Operator, Over: true})
			}
			w.resume(p)
			switch {
			case p.left:
			case p.h.State == Off, p.h.Reason == LedgerLost, p.h.Reason == NameTaken:
				w.start(p)
			case p.h.State == Held || p.h.State == NeedsConfig || p.h.Reason == Unsealed:
				p.fresh()
				d, h := p.h.Changed(w.now())
				w.obey(p, d, h)
			}
			w.connect(p)
		}
		w.check()
		if settled() {
			return
		}
		w.pass(time.Minute)
	}
	for _, p := range w.profiles {
		if p.h.State != Online {
			w.t.Errorf("%s never came online: %+v\n%+v", p.name, p, p.h)
		}
	}
}

// In any order of ends, findings, files, verbs, outages and steps of the
// clock: never two runs at once, never faster than allowed, never stuck; and
// when the world is well again and people have done what they were told,
// everybody is online.
func TestModel(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint("age", i), rapid.MakeCheck(func(t *rapid.T) {
			w := &world{
				t: t, real: day, servers: []*Server{NewServer(), NewServer()},
				up: []bool{true, true}, trusting: []bool{true, true},
				steps: i%2 == 1,
			}
			w.jitter = func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "jitter") }
			for i := range 5 {
				p := &tenant{name: fmt.Sprint("p", i), server: i / 4, h: New(w.now())}
				w.profiles = append(w.profiles, p)
				w.start(p)
			}
			for range 1 + i/2 {
				t.Repeat(w.actions())
			}
			w.heal()
		}))
	}
}

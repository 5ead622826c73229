package healthcheck

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// An outage plays a server that goes away under many profiles: their
// histories, the one Server and the one Dials, on a clock of its own.
type outage struct {
	t        *testing.T
	now      time.Time
	events   queue
	server   *Server
	dials    *Dials
	jitter   Jitter
	byName   map[string]*History
	back     time.Time // when the server is there again
	online   int
	last     time.Time // when the last came online
	attempts int       // dials while it was away
	probes   int
	asking   int
	begun    []time.Time // logins
	turn     time.Time   // when take is due again, zero: not
}

type event struct {
	at time.Time
	do func()
}

// queue is a heap of events, the earliest first.
type queue []event

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (o *outage) at(d time.Duration, do func()) { heap.Push(&o.events, event{o.now.Add(d), do}) }

// obey carries out what was decided for name.
func (o *outage) obey(name string, d Decision, h History) {
	*o.byName[name] = h
	switch d.Do {
	case Dial:
		o.at(d.After, func() {
			if h := *o.byName[name]; h.Plan == Dial {
				*o.byName[name] = h.Began(o.now, o.jitter)
				o.dials.Ask("server", name)
				o.take()
			}
		})
	case Await:
		o.server.Unreachable(name, o.now, o.jitter)
		o.watch()
	default:
		o.t.Fatalf("%s: %+v, %+v", name, d, h)
	}
}

// take dials whom the budget lets dial.
func (o *outage) take() {
	for {
		name, wait, ok := o.dials.Take(o.now)
		if !ok {
			if wait > 0 && !o.turn.After(o.now) {
				o.turn = o.now.Add(wait)
				o.at(wait, func() { o.take() })
			}
			return
		}
		if o.server.Down() {
			o.dials.Done(name)
			o.end(name, Ended{Reason: Unreachable, Common: true})
			continue
		}
		o.dial(name)
	}
}

// dial takes 40 ms to be ready, or as long to be found in vain.
func (o *outage) dial(name string) {
	if o.now.Before(o.back) {
		o.attempts++
		o.at(40*time.Millisecond, func() {
			o.dials.Done(name)
			o.end(name, Ended{Reason: Unreachable})
			o.take()
		})
		return
	}
	o.begun = append(o.begun, o.now)
	o.at(40*time.Millisecond, func() {
		o.dials.Done(name)
		*o.byName[name] = o.byName[name].Online(o.now)
		o.online++
		o.last = o.now
		o.release(o.server.Online(name, o.now))
		o.take()
	})
}

func (o *outage) end(name string, e Ended) {
	d, h := Next(*o.byName[name], e, o.now, o.jitter)
	o.obey(name, d, h)
}

func (o *outage) release(names []string) {
	for _, n := range names {
		d, h := o.byName[n].Released(o.now)
		o.obey(n, d, h)
	}
}

// watch asks the server what is due, and comes again when something will be.
func (o *outage) watch() {
	q, ok, names := o.server.Take(o.now)
	o.release(names)
	if ok {
		o.probes++
		if o.asking++; o.asking > 1 {
			o.t.Fatalf("%d probes at once", o.asking)
		}
		o.at(20*time.Millisecond, func() {
			o.asking--
			o.release(o.server.Answer(q, !o.now.Before(o.back), o.now, o.jitter))
			o.watch()
		})
		return
	}
	if d, some := o.server.Due(o.now); some && o.asking == 0 {
		o.at(d, func() {
			if d, some := o.server.Due(o.now); some && d == 0 && o.asking == 0 {
				o.watch()
			}
		})
	}
}

// play has n profiles lose their server for a minute, and runs until the last
// event or an hour.
func play(t *testing.T, n int) *outage {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	o := &outage{
		t: t, now: day, server: NewServer(), dials: NewDials(), byName: map[string]*History{},
		back: day.Add(time.Minute), jitter: func() float64 { return random.Float64()*2 - 1 },
	}
	for i := range n {
		name := fmt.Sprint("p", i)
		h := online(day.Add(-time.Hour))
		o.byName[name] = &h
		o.at(0, func() { o.end(name, Ended{Reason: Closed}) })
	}
	for len(o.events) > 0 && o.now.Sub(day) < time.Hour {
		e := heap.Pop(&o.events).(event)
		o.now = e.at
		e.do()
	}
	if o.online != n {
		t.Fatalf("%d of %d came online again", o.online, n)
	}
	return o
}

// A server that is away for a minute is asked by one probe at a time; when it
// is back, everybody is, as fast as the budget for one server lets them and no
// faster.
func TestOutage(t *testing.T) {
	for _, n := range []int{1, 20, 300, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			o := play(t, n)
			// The next probe is at most 5 s and its jitter away; then come the
			// logins, fifty in the first second.
			most := 5750*time.Millisecond + 600*time.Millisecond + time.Duration((n-1)/DialsPerSecond)*time.Second
			healed := o.last.Sub(o.back)
			t.Logf("%d profiles: all online %v after the server's return; %d dials and %d probes while it was away", n, healed, o.attempts, o.probes)
			if healed > most {
				t.Errorf("all online after %v, want %v at most", healed, most)
			}
			if n <= 250 && healed > 10*time.Second {
				t.Errorf("all online after %v", healed)
			}
			if o.attempts > DialsPerServer {
				t.Errorf("%d dials while it was away", o.attempts)
			}
			if o.probes > 16 {
				t.Errorf("%d probes in a minute", o.probes)
			}
			for i := DialsPerSecond; i < len(o.begun); i++ {
				if gap := o.begun[i].Sub(o.begun[i-DialsPerSecond]); gap < time.Second {
					t.Fatalf("%d logins in %v", DialsPerSecond+1, gap)
				}
			}
			for name, h := range o.byName {
				if h.Flapping || h.Restarts == 0 {
					t.Fatalf("%s: %+v", name, h)
				}
			}
		})
	}
}

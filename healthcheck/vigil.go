package healthcheck

import (
	"container/list"
	"time"
)

// A vigil is the profiles that wait for one thing of their server. One of
// them asks at a time, in turn, so that a profile whose own way is broken
// holds nobody up; the others are spared the asking.
type vigil struct {
	steps   []time.Duration
	spread  func(Jitter, time.Duration) time.Duration
	open    bool // somebody has to wait
	waiting list.List
	places  map[string]*list.Element

	asked int       // steps gone since it opened, or since the server last let somebody in
	due   time.Time // when the next question is due
	wait  time.Duration

	number uint64 // of the question in flight, 0: none
	last   uint64 // of the last question asked
}

// join puts name at the end of those who wait, once.
func (v *vigil) join(name string) {
	if v.places == nil {
		v.places = make(map[string]*list.Element)
	}
	if v.places[name] == nil {
		v.places[name] = v.waiting.PushBack(name)
	}
}

// leave takes name out. A question it has in flight is forgotten, and the next
// in turn asks as soon as it is looked at.
func (v *vigil) leave(name string, now time.Time) {
	e := v.places[name]
	if e == nil {
		return
	}
	if v.number != 0 && v.waiting.Front() == e {
		v.number = 0
		v.due, v.wait = now, 0
	}
	v.waiting.Remove(e)
	delete(v.places, name)
}

// plan sets the time of the next question by the steps.
func (v *vigil) plan(now time.Time, j Jitter) {
	v.wait = v.spread(j, step(v.steps, v.asked))
	v.due = now.Add(v.wait)
	v.asked++
}

// in is how long it is to the next question, or to the loss of the one in
// flight. ok is false if nobody waits.
func (v *vigil) in(now time.Time) (d time.Duration, ok bool) {
	if !v.open || v.waiting.Len() == 0 {
		return 0, false
	}
	if v.due.Sub(now) > v.wait { // the clock was set back
		v.due = now.Add(v.wait)
	}
	return max(0, v.due.Sub(now)), true
}

// ask begins the next question if it is due. One in flight whose time is over
// is lost: that is an answer too, and the next in turn asks.
func (v *vigil) ask(now time.Time) (name string, number uint64, ok bool) {
	if d, some := v.in(now); !some || d > 0 {
		return "", 0, false
	}
	if v.number != 0 {
		v.waiting.MoveToBack(v.waiting.Front())
	}
	v.last++
	v.number = v.last
	v.wait = ProbeLimit
	v.due = now.Add(ProbeLimit)
	return v.waiting.Front().Value.(string), v.number, true
}

// failed takes the answer no to question number; another's than the one in
// flight came late and says nothing.
func (v *vigil) failed(number uint64, now time.Time, j Jitter) {
	if number == 0 || number != v.number {
		return
	}
	v.number = 0
	v.waiting.MoveToBack(v.waiting.Front())
	v.plan(now, j)
}

// release lets everybody go, in the order they came.
func (v *vigil) release() []string {
	v.open, v.number = false, 0
	if v.waiting.Len() == 0 {
		return nil
	}
	names := make([]string, 0, v.waiting.Len())
	for e := v.waiting.Front(); e != nil; e = e.Next() {
		names = append(names, e.Value.(string))
	}
	v.waiting.Init()
	clear(v.places)
	return names
}

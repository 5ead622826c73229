package deliver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"rcsupervisor/dedup"
	"rcsupervisor/internal/lane"
)

// Late is the reason of a part that could not be posted within its age.
const Late = "late"

// A Poster says one part. The same Part gives the same message, however often
// it is asked; a nil error settles it.
type Poster interface {
	Post(context.Context, dedup.Part) (dedup.Outcome, error)
}

// Config is what a Delivery works with. All fields are needed.
type Config struct {
	Store   dedup.Store
	Poster  Poster
	Age     func() time.Duration // limits.answer_age, asked for each try
	Settled func(dedup.Part, dedup.Outcome)
	Asked   func(error) time.Duration // how long a failure asks to wait, 0: it doesn't say
	// Doomed is the reason of a part that has failed so often with err that it
	// is given up, "" to go on.
	Doomed func(err error, tries int) string
	Caught func(any) // gets the value of a panic; see conversation.Config
	Log    *slog.Logger
}

// errOffline cancels what is being posted when the connection ends.
var errOffline = errors.New("no connection is online")

// A Delivery owes parts to rooms. Owe, Owed and SetOnline may be called from
// any goroutine and wait for nothing; Close waits for what runs.
type Delivery struct {
	Config
	ctx    context.Context // ends with Close; lanes outlive the call that started them
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	online  context.Context // ends with the connection; nil while there is none
	offline context.CancelCauseFunc
	arrived chan struct{} // closed when a connection comes online
	rooms   map[string]*room
	owed    int
	idle    chan struct{} // closed while nothing is owed
}

// A room is what is owed to one room, in order.
type room struct {
	lane  lane.Lane[dedup.Part]
	count int // parts put and not yet settled; guarded by Delivery.mu
}

// New returns a Delivery that is not online.
func New(c Config) *Delivery {
	d := &Delivery{Config: c, arrived: make(chan struct{}), rooms: make(map[string]*room), idle: make(chan struct{})}
	close(d.idle)
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Owe posts parts that the store holds as owed, behind what their rooms are
// owed already. After Close they stay in the store.
func (d *Delivery) Owe(parts []dedup.Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return
	}
	for _, p := range parts {
		r := d.rooms[p.Room]
		if r == nil {
			r = &room{lane: lane.Lane[dedup.Part]{Group: &d.group, Do: d.postAll}}
			d.rooms[p.Room] = r
		}
		if d.owed == 0 {
			d.idle = make(chan struct{})
		}
		r.count++
		d.owed++
		r.lane.Put(p)
	}
}

// postAll is a room's lane.
func (d *Delivery) postAll(batch []dedup.Part) {
	defer func() {
		if p := recover(); p != nil {
			d.Caught(p)
		}
	}()
	for _, p := range batch {
		d.post(p)
		d.left(p.Room)
	}
}

// left forgets a room that is owed nothing more.
func (d *Delivery) left(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.rooms[name]
	if r.count--; r.count == 0 {
		delete(d.rooms, name)
	}
	if d.owed--; d.owed == 0 {
		close(d.idle)
	}
}

// SetOnline says whether there is a connection to post beside. When it ends,
// what is being posted is broken off; its id finds out later whether it was.
func (d *Delivery) SetOnline(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case on && d.online == nil:
		d.online, d.offline = context.WithCancelCause(d.ctx)
		close(d.arrived)
	case !on && d.online != nil:
		d.offline(errOffline)
		d.online, d.offline = nil, nil
		d.arrived = make(chan struct{})
	}
}

// Owed returns how many parts are still owed.
func (d *Delivery) Owed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owed
}

// Drained waits until nothing is owed, or for ctx.
func (d *Delivery) Drained(ctx context.Context) error {
	d.mu.Lock()
	idle := d.idle
	d.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops posting and waits for the calls under way to end. What is still
// owed stays in the store.
func (d *Delivery) Close() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.group.Wait()
}

// post tries one part until it is settled or the delivery ends.
func (d *Delivery) post(p dedup.Part) {
	for tries := 1; ; tries++ {
		online, ok := d.connected(p)
		if d.ctx.Err() != nil {
			return
		}
		outcome, err := dedup.Outcome{Reason: Late}, error(nil)
		if ok {
			outcome, err = d.say(online, p)
		}
		switch reason := d.doomed(err, tries); {
		case err == nil:
			d.settle(p, outcome)
			return
		case reason != "":
			d.settle(p, dedup.Outcome{Reason: reason})
			return
		case d.ctx.Err() != nil:
			return
		case online.Err() != nil:
			tries = 0 // the connection ended, which says nothing of the part
		default:
			d.Log.Debug("not posted yet", "message", p.Question.Message, "part", p.Index, "try", tries, "err", err)
			d.pause(max(wait(tries-1), d.Asked(err)), d.lateAt(p))
		}
	}
}

func (d *Delivery) doomed(err error, tries int) string {
	if err == nil {
		return ""
	}
	return d.Doomed(err, tries)
}

// say posts a part beside the connection that is online, while it is not late.
func (d *Delivery) say(online context.Context, p dedup.Part) (dedup.Outcome, error) {
	ctx, cancel := context.WithDeadline(online, d.lateAt(p))
	defer cancel()
	if ctx.Err() != nil && online.Err() == nil {
		return dedup.Outcome{Reason: Late}, nil
	}
	return d.Poster.Post(ctx, p)
}

func (d *Delivery) lateAt(p dedup.Part) time.Time { return p.Owed.Add(d.Age()) }

// connected waits for a connection. It reports false when the part is late by
// then, or the delivery has ended.
func (d *Delivery) connected(p dedup.Part) (context.Context, bool) {
	late := time.NewTimer(time.Until(d.lateAt(p)))
	defer late.Stop()
	for {
		d.mu.Lock()
		online, arrived := d.online, d.arrived
		d.mu.Unlock()
		if online != nil {
			return online, true
		}
		select {
		case <-arrived:
		case <-late.C:
			return nil, false
		case <-d.ctx.Done():
			return nil, false
		}
	}
}

// Await waits for a connection that is online. It returns ctx's error when that
// ended first, and context.Canceled when the delivery did.
func (d *Delivery) Await(ctx context.Context) error {
	for {
		d.mu.Lock()
		online, arrived := d.online, d.arrived
		d.mu.Unlock()
		if online != nil {
			return ctx.Err()
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ctx.Done():
			return d.ctx.Err()
		}
	}
}

// settle stores how a part ended, however long the store can't be written to:
// a part that was posted is never forgotten to be, while this process lives.
// After it, the derived id finds the message again.
func (d *Delivery) settle(p dedup.Part, o dedup.Outcome) {
	for try := 0; ; try++ {
		err := d.Store.Settle(d.ctx, p.Question, p.Index, o)
		if err == nil || errors.Is(err, dedup.ErrUnknown) {
			d.Settled(p, o)
			return
		}
		if d.ctx.Err() != nil {
			return
		}
		if try == 0 {
			d.Log.Warn("an answer was posted and can't be marked so", "message", p.Question.Message, "err", err)
		}
		d.pause(wait(try), time.Time{})
	}
}

// pause waits for t, at most until a moment unless it is zero, and no longer
// than the delivery lives.
func (d *Delivery) pause(t time.Duration, until time.Time) {
	if !until.IsZero() {
		t = min(t, time.Until(until))
	}
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
	}
}

// wait is how long to leave a server or store alone after try failures.
func wait(try int) time.Duration {
	steps := [...]time.Duration{1, 2, 5, 10, 30}
	return steps[min(try, len(steps)-1)] * time.Second
}

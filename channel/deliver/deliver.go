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
	Age     func() time.Duration // limits.answer_age, asked for each part
	Settled func(dedup.Part, dedup.Outcome)
	Asked   func(error) time.Duration // how long a failure asks to wait, 0: it doesn't say
	Log     *slog.Logger
}

// A Delivery owes parts to rooms. Owe and SetOnline may be called from any
// goroutine; Close waits for what runs.
type Delivery struct {
	Config
	ctx    context.Context // ends with Close; lanes outlive the call that started them
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	online chan struct{} // closed while online
	isOn   bool
	rooms  map[string]*room
	owed   int
	idle   chan struct{} // closed while nothing is owed
}

// A room is what is owed to one room, in order.
type room struct {
	lane  lane.Lane[dedup.Part]
	count int // parts put and not yet settled; guarded by Delivery.mu
}

// New returns a Delivery that is not online.
func New(c Config) *Delivery {
	d := &Delivery{Config: c, online: make(chan struct{}), rooms: make(map[string]*room), idle: make(chan struct{})}
	close(d.idle)
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Owe posts parts that the store holds as owed, behind what their rooms are
// owed already.
func (d *Delivery) Owe(parts []dedup.Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range parts {
		r := d.rooms[p.Room]
		if r == nil {
			r = &room{}
			r.lane.Group = &d.group
			r.lane.Do = func(batch []dedup.Part) {
				for _, p := range batch {
					d.post(p)
					d.left(p.Room)
				}
			}
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

// SetOnline says whether there is a connection to post beside.
func (d *Delivery) SetOnline(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case on && !d.isOn:
		close(d.online)
	case !on && d.isOn:
		d.online = make(chan struct{})
	}
	d.isOn = on
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
	d.cancel()
	d.group.Wait()
}

// post tries one part until it is settled or the delivery ends.
func (d *Delivery) post(p dedup.Part) {
	for try := 0; d.waitOnline(p); try++ {
		outcome, err := dedup.Outcome{Reason: Late}, error(nil)
		ctx, cancel := context.WithDeadline(d.ctx, p.Owed.Add(d.Age()))
		if ctx.Err() == nil {
			outcome, err = d.Poster.Post(ctx, p)
		}
		cancel()
		if d.ctx.Err() != nil {
			return
		}
		if err == nil {
			d.settle(p, outcome)
			return
		}
		d.Log.Debug("not posted yet", "message", p.Question.Message, "part", p.Index, "try", try+1, "err", err)
		d.pause(max(wait(try), d.Asked(err)))
	}
}

// waitOnline waits for a connection, at most until the part is late. It
// reports false when the delivery has ended.
func (d *Delivery) waitOnline(p dedup.Part) bool {
	d.mu.Lock()
	online := d.online
	d.mu.Unlock()
	select {
	case <-online:
		return d.ctx.Err() == nil
	default:
	}
	late := time.NewTimer(time.Until(p.Owed.Add(d.Age())))
	defer late.Stop()
	select {
	case <-online:
	case <-late.C:
	case <-d.ctx.Done():
	}
	return d.ctx.Err() == nil
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
		d.pause(wait(try))
	}
}

func (d *Delivery) pause(t time.Duration) {
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

package approval

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel/gate"
	"rcsupervisor/internal/lane"
)

// Config is what a [Desk] works with. All fields are needed.
type Config struct {
	// Post has one text said at a place, as often as it takes, and returns the
	// time the server gave it. An error while ctx lives says that it can never
	// be said there.
	Post func(ctx context.Context, p Place, text string) (sent time.Time, err error)
	// Attach has a file sent at a place, as often as it takes. An error while ctx
	// lives says that it can never be, or may not have been.
	Attach func(ctx context.Context, p Place, f File) error
	// ID is the message id of a text at a place.
	ID func(p Place) string
	// Edit has the text at a place replaced, as often as it takes. One that is
	// not there is no error.
	Edit func(ctx context.Context, p Place, text string) error
	// Save keeps a record until the next one. It is called before anything of
	// it is shown, and not twice at a time.
	Save func(record []byte) error
	// Server is a time of ours by the server's clock.
	Server func(ours time.Time) time.Time
	Log    *slog.Logger
}

// tellFor is how long the room may have to wait for being told of a refusal.
const tellFor = 10 * time.Minute

// A Desk keeps a profile's book while its channel runs. Its methods may be
// called from any goroutine, and don't wait for the server.
type Desk struct {
	config Config
	life   context.Context // of what is posted and edited
	end    context.CancelFunc
	group  sync.WaitGroup
	seen   atomic.Pointer[[]gate.Request] // what the gate is shown

	mu     sync.Mutex
	book   *Book // guarded by mu, as all below
	decide map[string]func(option string) error
	sheets map[string]*sheet
	held   map[string][]func() // by request: what was said while it was being posted
	saved  []byte
	timer  *time.Timer
	closed bool
}

// A sheet is one request in its room: what is posted of it, and then edited, in
// that order.
type sheet struct {
	lane  lane.Lane[func()]
	leave context.CancelFunc // ends the posting; nil where nothing is
}

// Open returns a desk with the record of an earlier one, nil for none. What was
// open then is edited to say that it is no longer. A record that can't be read
// is as none, and logged.
func Open(c Config, recorded []byte) *Desk {
	d := &Desk{
		config: c, decide: make(map[string]func(string) error), sheets: make(map[string]*sheet), held: make(map[string][]func()),
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.timer = time.AfterFunc(time.Hour, d.expire)
	d.timer.Stop()
	d.act(func(at Moment) (then []Effect) {
		if recorded != nil {
			var err error
			if d.book, then, err = Load(recorded, at); err == nil {
				d.saved = recorded
				return then
			}
			c.Log.Warn("the record of open requests can't be read; messages of an earlier run keep their numbers", "err", err)
		}
		d.book = New(rand.IntN(threeDigits))
		if recorded == nil {
			d.saved = d.book.Record() // nothing needs no record
		}
		return nil
	})
	return d
}

// Ask is [Desk.Request] with a decide that always reaches the agent.
func (d *Desk) Ask(a Ask, decide func(option string)) {
	d.Request(a, func(option string) error {
		decide(option)
		return nil
	})
}

// Request puts a request before people. decide is called once, with the option
// that was chosen or "" to refuse, unless the request is withdrawn or ended
// first. Its error says that the agent no longer waited: then nothing was
// allowed, whatever was chosen, and nobody is told that it was. It is called
// with the desk's lock held: it must neither block nor call the desk.
func (d *Desk) Request(a Ask, decide func(option string) error) {
	refused := false
	d.act(func(at Moment) []Effect {
		if refused = d.closed; refused {
			return nil
		}
		d.decide[a.Name()] = decide
		return d.book.Ask(a, at)
	})
	if refused {
		_ = decide("")
	}
}

// Withdraw takes back a request whose agent no longer waits.
func (d *Desk) Withdraw(question, asked string) {
	name := nameOf(question, asked)
	d.act(func(at Moment) []Effect {
		delete(d.decide, name)
		return d.book.Close(name, Withdrawn, at)
	})
}

// End takes back all requests of a turn. It is called whenever one ends,
// however it does.
func (d *Desk) End(question string, why Why) {
	d.act(func(at Moment) []Effect {
		then := d.book.End(question, why, at)
		for _, r := range d.book.requests {
			if r.place.Question == question {
				delete(d.decide, r.name)
			}
		}
		return then
	})
}

// Answer takes what the gate has found somebody to have said. What it returns
// is to be said to him; "" for a decision that counts.
//
// While a request is being posted nobody knows when it came to be in its room,
// and so not whether the answer was meant for it. It is held then: again is
// called once that is known, or the request is over, to have the gate judge the
// answer once more. It is called with the desk's lock held, and must neither
// block nor call the desk; at the end of the channel it is not.
func (d *Desk) Answer(answer gate.Answer, by string, again func()) (say string, held bool) {
	d.act(func(at Moment) (then []Effect) {
		if answer.State != gate.Missed && d.book.showing(answer.Request) {
			d.held[answer.Request] = append(d.held[answer.Request], again)
			held = true
			return nil
		}
		decide := d.decide[answer.Request]
		if option, counts := d.book.counts(answer, at); counts && decide != nil {
			delete(d.decide, answer.Request)
			if decide(option) != nil {
				say = sayOver
				return d.book.Close(answer.Request, Withdrawn, at)
			}
		}
		say, then = d.book.Answer(answer, by, at)
		return then
	})
	return say, held
}

// Heard takes note of a message of the bot's own that came over the socket: it
// may be a request that is in its room before the server said so to whoever
// posted it.
func (d *Desk) Heard(room, id string, sent time.Time) {
	for _, r := range *d.seen.Load() {
		if r.Sent.IsZero() && r.Closed.IsZero() && r.Room == room {
			d.act(func(Moment) []Effect {
				if r := d.book.find(r.ID); r != nil && d.config.ID(r.place) == id {
					d.book.Shown(r.name, sent)
				}
				return nil
			})
		}
	}
}

// Rewritten takes note that somebody else has changed, or taken away, a message
// of the bot's own. A request that it shows is refused: what was decided about
// what stands there now would be decided about something else.
func (d *Desk) Rewritten(room, id string) {
	for _, r := range *d.seen.Load() {
		if r.Closed.IsZero() && r.Room == room {
			d.act(func(at Moment) []Effect {
				if r := d.book.find(r.ID); r != nil && d.shows(r, id) {
					return d.book.Close(r.name, Rewritten, at)
				}
				return nil
			})
		}
	}
}

// shows reports whether a message is one of a request's texts.
func (d *Desk) shows(r *request, id string) bool {
	for p := r.place; p.Index >= 0; p.Index-- {
		if d.config.ID(p) == id {
			return true
		}
	}
	return false
}

// Requests are what the gate has to know of a conversation.
func (d *Desk) Requests(room, thread string) []gate.Request {
	var here []gate.Request
	for _, r := range *d.seen.Load() {
		if r.Room == room && r.Thread == thread {
			here = append(here, r)
		}
	}
	return here
}

// Close lets go of what is open, which the next desk refuses, and waits for
// what is being posted to end.
func (d *Desk) Close() {
	d.mu.Lock()
	d.closed = true
	d.timer.Stop()
	d.mu.Unlock()
	d.end()
	d.group.Wait()
}

func (d *Desk) expire() {
	d.act(func(at Moment) []Effect { return d.book.Expire(at) })
}

// act changes the book, writes it down, and has follow what has to.
func (d *Desk) act(change func(Moment) []Effect) {
	d.mu.Lock()
	now := time.Now()
	then := change(Moment{Ours: now, Server: d.config.Server(now)})
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.keep()
	defer d.mu.Unlock()
	for name, again := range d.held {
		if !d.book.showing(name) {
			delete(d.held, name)
			for _, f := range again {
				f()
			}
		}
	}
	for _, e := range then {
		switch e := e.(type) {
		case Decide:
			if decide := d.decide[e.Name]; decide != nil {
				delete(d.decide, e.Name)
				_ = decide(e.Option) // a refusal: an agent that waits no more has none
			}
		case Show:
			s := d.sheet(e.Name)
			ctx, leave := context.WithCancel(d.life)
			s.leave = leave
			s.lane.Put(func() { d.show(ctx, e) })
		case Edit:
			s := d.sheet(e.Name)
			if s.leave != nil {
				s.leave()
			}
			s.lane.Put(func() { d.edit(e) })
		case Tell:
			d.group.Go(func() { d.tell(e) })
		}
	}
}

// keep writes the book down if it changed, and sets the clock for it.
func (d *Desk) keep() {
	list := d.book.Requests()
	d.seen.Store(&list)
	if record := d.book.Record(); !bytes.Equal(record, d.saved) {
		if err := d.config.Save(record); err != nil {
			d.config.Log.Warn("open requests can't be written down; a restart would leave their numbers in the room", "err", err)
		} else {
			d.saved = record
		}
	}
	if next := d.book.Next(); next.IsZero() {
		d.timer.Stop()
	} else {
		d.timer.Reset(time.Until(next))
	}
}

// sheet is the one of a request; the caller holds d.mu.
func (d *Desk) sheet(name string) *sheet {
	s := d.sheets[name]
	if s == nil {
		s = &sheet{lane: lane.Lane[func()]{Group: &d.group, Do: func(batch []func()) {
			for _, f := range batch {
				f()
			}
		}}}
		d.sheets[name] = s
	}
	return s
}

func (d *Desk) show(ctx context.Context, e Show) {
	p := e.Place
	if e.File != nil {
		if err := d.config.Attach(ctx, p, *e.File); err != nil {
			d.unshown(ctx, e, Unsent, err)
			return
		}
		p.Index++
	}
	for i, text := range e.Texts {
		sent, err := d.config.Post(ctx, p, text)
		if err != nil {
			d.unshown(ctx, e, Unshown, err)
			return
		}
		p.Index++
		if i == len(e.Texts)-1 {
			d.act(func(Moment) []Effect {
				d.book.Shown(e.Name, sent)
				return nil
			})
		}
	}
}

// unshown refuses a request that can't be shown, unless it is closed by now, or
// we are.
func (d *Desk) unshown(ctx context.Context, e Show, why Why, err error) {
	if ctx.Err() != nil {
		return
	}
	d.config.Log.Warn("a request could not be shown, and is refused", "question", e.Question, "err", err)
	d.act(func(at Moment) []Effect {
		delete(d.sheets, e.Name)
		return d.book.Close(e.Name, why, at)
	})
}

func (d *Desk) edit(e Edit) {
	if err := d.config.Edit(d.life, e.Place, e.Text); err != nil {
		if d.life.Err() != nil {
			return // the next desk does it
		}
		d.config.Log.Warn("a request that is closed still shows its numbers", "question", e.Question, "err", err)
	}
	d.act(func(Moment) []Effect {
		d.book.Edited(e.Name)
		delete(d.sheets, e.Name)
		return nil
	})
}

func (d *Desk) tell(e Tell) {
	ctx, cancel := context.WithTimeout(d.life, tellFor)
	defer cancel()
	if _, err := d.config.Post(ctx, e.Place, e.Text); err != nil && d.life.Err() == nil {
		d.config.Log.Warn("a room could not be told that a request was refused", "question", e.Question, "err", err)
	}
}

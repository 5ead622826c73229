package conversation

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/lane"
)

// A Key names a conversation: a room, and a thread of it or "".
type Key struct{ Room, Thread string }

// An Item is one claimed question on its way to the agent.
type Item struct {
	Key     Key
	ID      dedup.ID
	Asker   string // user id
	Message chat.Message
	Room    string // the room's name for people, "" where it isn't known
	Text    string // the question itself, without the mention
	Role    string // owner or member
	Kind    string // direct, group or channel
	Direct  bool   // the server keeps the room as a direct one, of however many
	Bare    bool   // an owner's command, given to the agent as it is
}

// The causes with which a turn is cancelled.
var (
	ErrStopped = errors.New("stopped by a person")
	ErrDropped = errors.New("its asker may no longer ask")
	ErrEnding  = errors.New("the channel is ending")
)

// What Put refuses with. Neither takes the question: a full conversation's
// asker is to be told, and at the end the store keeps it for the next start.
var (
	ErrFull    = errors.New("as many questions wait as may")
	ErrClosing = errors.New("no more questions are taken")
)

// Config is what conversations work with. All fields are needed but Attend.
type Config struct {
	Store dedup.Store
	// Hire returns the agent that there is now; done is called when the turn
	// it was hired for is over.
	Hire func() (a agent.Agent, done func())
	// Prepare makes what the agent is given of an item. It runs when the
	// item's turn has come, so that it sees the room as it is then.
	Prepare func(context.Context, Item) (agent.Question, error)
	// Attend returns who sees to a turn; nil for nobody, and then what the agent
	// asks is refused. ctx ends with the turn's being cancelled.
	Attend func(ctx context.Context, item Item) Attendant
	// Owe takes over the parts of an answer that is stored.
	Owe func([]dedup.Part)
	// Working is called when a turn begins; what it returns, when its answer
	// is stored.
	Working func(Item) (done func())
	// Ended is called once for every item taken, with how it ended.
	Ended func(Item, Ending)
	Queue func() int // limits.queue
	Size  func() int // of one part, in UTF-16 units
	// Caught is called with the value of a panic. The goroutine it came in has
	// ended, and nothing is to be expected of its conversation any more.
	Caught func(any)
	Log    *slog.Logger
}

// An Ending is how an item left its conversation.
type Ending string

// The endings.
const (
	AnsweredEnding Ending = "answered"
	FailedEnding   Ending = "failed"  // the agent failed, and the asker was told
	StoppedEnding  Ending = "stopped" // by a person, and the asker was told
	LeftEnding     Ending = "left"    // the channel ended first; the store has it
	DroppedEnding  Ending = "dropped" // its asker may no longer ask
)

// A Set is all conversations of a profile. Its methods may be called from any
// goroutine and, save Drained and Close, wait for nothing. A conversation
// without questions costs nothing.
type Set struct {
	Config
	group sync.WaitGroup
	says  lane.Lane[said] // what is said without an agent, one after another
	life  context.Context // ends with End, whose cause is ErrEnding; turns outlive the call that put them
	end   context.CancelCauseFunc

	mu      sync.Mutex
	open    map[Key]*talk // guarded by mu, with all that is in it
	closing bool
	saying  int           // of says, not yet stored
	idle    chan struct{} // closed when nothing runs, waits or is being said; nil while nobody asked
}

// A talk is one conversation that has something to do. Its goroutine ends when
// nothing waits.
type talk struct {
	waiting []Item
	running *Item
	cancel  context.CancelCauseFunc // of the running turn
}

// New returns a Set without conversations.
func New(c Config) *Set {
	s := &Set{Config: c, open: make(map[Key]*talk)}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.says = lane.Lane[said]{Group: &s.group, Do: s.store}
	return s
}

// Put adds a question to its conversation. place is how many are before it, the
// running one included. With an error (ErrFull, ErrClosing) nothing was taken.
// missed questions, which were caught up, are outside limits.queue.
func (s *Set) Put(item Item, missed bool) (place int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return 0, ErrClosing
	}
	t := s.open[item.Key]
	if t == nil {
		t = &talk{}
		s.open[item.Key] = t
		s.group.Go(func() { s.run(item.Key, t) })
	} else if !missed && len(t.waiting) >= s.Queue() {
		return 0, ErrFull
	}
	place = len(t.waiting)
	if t.running != nil {
		place++
	}
	t.waiting = append(t.waiting, item)
	return place, nil
}

// Running returns the item whose turn is running.
func (s *Set) Running(k Key) (Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.open[k]; t != nil && t.running != nil {
		return *t.running, true
	}
	return Item{}, false
}

// Stop cancels the running turn; the queue goes on. It reports false when none
// runs.
func (s *Set) Stop(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.open[k]
	if t == nil || t.running == nil {
		return false
	}
	t.cancel(ErrStopped)
	return true
}

// Edit gives a question that still waits its new text, and reports whether one
// waited. A question that runs or ran is never run again.
func (s *Set) Edit(id string, change func(*Item)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.open {
		for i := range t.waiting {
			if t.waiting[i].ID.Message == id {
				change(&t.waiting[i])
				return true
			}
		}
	}
	return false
}

// Drop takes out what a person has waiting and cancels his running turn.
func (s *Set) Drop(asker string) {
	s.drop(func(i *Item) bool { return i.Asker == asker }, true)
}

// Withdraw takes out a question that waits and was deleted meanwhile. One that
// runs is left alone: its asker gets an answer he may still want.
func (s *Set) Withdraw(id string) {
	s.drop(func(i *Item) bool { return i.ID.Message == id }, false)
}

func (s *Set) drop(match func(*Item) bool, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return
	}
	for _, t := range s.open {
		kept := t.waiting[:0]
		for _, item := range t.waiting {
			if match(&item) {
				s.sayLocked(said{id: item.ID, key: item.Key, over: func() { s.Ended(item, DroppedEnding) }})
			} else {
				kept = append(kept, item)
			}
		}
		clear(t.waiting[len(kept):])
		t.waiting = kept
		if running && t.running != nil && match(t.running) {
			t.cancel(ErrDropped)
		}
	}
}

// Busy returns how many questions wait or run.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busyLocked()
}

func (s *Set) busyLocked() int {
	n := 0
	for _, t := range s.open {
		n += len(t.waiting)
		if t.running != nil {
			n++
		}
	}
	return n
}

// run is the goroutine of one conversation.
func (s *Set) run(k Key, t *talk) {
	defer s.contain()
	for {
		ctx, item, ok := s.next(k, t)
		if !ok {
			return
		}
		ending := s.turn(ctx, item)
		s.mu.Lock()
		t.cancel(nil)
		t.running, t.cancel = nil, nil
		s.mu.Unlock()
		s.Ended(item, ending)
	}
}

// next takes the item whose turn has come, and forgets the conversation when
// there is none.
func (s *Set) next(k Key, t *talk) (context.Context, Item, bool) {
	s.mu.Lock()
	var left []Item
	defer func() {
		s.mu.Unlock()
		for _, item := range left {
			s.Ended(item, LeftEnding)
		}
	}()
	if s.closing {
		left, t.waiting = t.waiting, nil
	}
	if len(t.waiting) == 0 {
		delete(s.open, k)
		s.idleLocked()
		return nil, Item{}, false
	}
	item := t.waiting[0]
	t.waiting[0] = Item{}
	t.waiting = t.waiting[1:]
	ctx, cancel := context.WithCancelCause(s.life)
	t.running, t.cancel = &item, cancel
	return ctx, item, true
}

// contain keeps a panic from ending more than its channel.
func (s *Set) contain() {
	if p := recover(); p != nil {
		s.Caught(p)
	}
}

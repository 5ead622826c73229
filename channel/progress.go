package channel

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/prompt"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

// When a question's message of progress appears, and how calmly it changes.
const (
	placeAfter    = 5 * time.Second  // of waiting in line
	progressAfter = 20 * time.Second // of work, once there is something to say of it
	progressEvery = 15 * time.Second
	progressTime  = 20 * time.Second // of one call
	progressTries = 3                // to take it away
	stepProgress  = "progress"
)

// A progress is the one message that tells of a question what becomes of it
// before its answer: its place in line, and then what its agent does. It is
// best effort, edited calmly, and taken away when the question is over. Its
// methods may be called from any goroutine, and wait for nothing.
type progress struct {
	life *life
	item conversation.Item
	over chan struct{}
	poke chan struct{} // capacity 1

	mu    sync.Mutex
	text  string // what is to be shown, "" for nothing
	due   time.Time
	alive bool // its goroutine runs
	ended bool
}

// waiting tells how many questions come first.
func (p *progress) waiting(place int) {
	text := "⏳ Your question is in line, behind another one."
	if place > 1 {
		text = "⏳ Your question is in line, behind " + strconv.Itoa(place) + " others."
	}
	p.show(text, placeAfter)
}

// begin says that the question's turn has come.
func (p *progress) begin() {
	p.mu.Lock()
	shown := p.alive
	p.text, p.due = "", time.Now().Add(progressAfter)
	p.mu.Unlock()
	if shown {
		p.show("⏳ I am working on it.", 0)
	}
}

// working tells what the agent does. What it says of itself is somebody else's
// text.
func (p *progress) working(title string) {
	if title = prompt.Name(title); title != "" {
		p.show(post.Defuse("⏳ "+title), 0)
	}
}

// undecided says that the agent waits for people; decided, that it goes on.
func (p *progress) undecided() { p.show("⏳ I am waiting for a decision.", 0) }

// decided is explained at undecided.
func (p *progress) decided() { p.show("⏳ I am working on it.", 0) }

// show has a text shown, no sooner than after.
func (p *progress) show(text string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.text = text
	if p.due.IsZero() {
		p.due = time.Now().Add(after)
	}
	if !p.alive {
		p.alive = true
		p.life.progresses.shown.Go(p.life.guarded(p.run))
		return
	}
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// end takes the message away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.over)
	}
}

// run is the goroutine of a message, from the first wish for it to its end.
func (p *progress) run() {
	shown, posted := "", false
	var last time.Time
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		p.mu.Lock()
		text, due := p.text, p.due
		p.mu.Unlock()
		if !last.IsZero() {
			due = last.Add(progressEvery)
		}
		if text != "" && text != shown {
			timer.Reset(time.Until(due))
		}
		select {
		case <-p.over:
			if posted {
				p.remove()
			}
			return
		case <-p.life.ctx.Done():
			return // the next run takes it away
		case <-p.poke:
			continue
		case <-timer.C:
		}
		last = time.Now()
		if p.say(text, posted) {
			shown, posted = text, true
		}
	}
}

// say posts the message or changes it, and reports whether it could.
func (p *progress) say(text string, posted bool) bool {
	l := p.life
	if l.socket.Load() == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(l.ctx, progressTime)
	defer cancel()
	var err error
	if posted {
		err = l.client.Load().Update(ctx, p.item.Key.Room, p.id(), text)
	} else {
		var outcome dedup.Outcome
		outcome, err = l.poster.Post(ctx, dedup.Part{
			Question: p.item.ID, Step: stepProgress, Room: p.item.Key.Room, Thread: p.item.Key.Thread, Text: text,
		})
		if err == nil && !outcome.Posted() {
			return false
		}
	}
	if err != nil {
		l.log.Debug("progress could not be shown", "message", p.item.ID.Message, "err", err)
	}
	return err == nil
}

func (p *progress) id() string { return post.ID(p.life.poster.Key, p.item.ID.Message, stepProgress, 0) }

func (p *progress) remove() { p.life.takeAway(p.item.Key.Room, p.id()) }

// takeAway deletes a message of ours that was to be seen for a while.
func (l *life) takeAway(room, id string) {
	for try := range progressTries {
		if l.owed.Await(l.ctx) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, progressTime)
		err := l.client.Load().Delete(ctx, room, id)
		if errors.Is(err, rest.ErrForbidden) { // on this server nobody deletes
			err = l.client.Load().Update(ctx, room, id, "✓")
		}
		cancel()
		switch {
		case err == nil, errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrRoomGone):
			return
		case !pause(l.ctx, max(askAgain(try), l.asked(err))):
			return
		}
	}
}

// progresses are those of the questions that are not over, by their id.
type progresses struct {
	life  *life
	shown sync.WaitGroup // messages that are there, or may be

	mu  sync.Mutex
	all map[string]*progress
}

// gone waits until no message is left, or for ctx.
func (s *progresses) gone(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.shown.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// expect makes a question's, before it can be over.
func (s *progresses) expect(item conversation.Item) *progress {
	p := &progress{life: s.life, item: item, over: make(chan struct{}), poke: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]*progress)
	}
	s.all[item.ID.Message] = p
	return p
}

// of returns a question's.
func (s *progresses) of(question string) *progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[question]
}

// over says that a question is.
func (s *progresses) over(question string) {
	s.mu.Lock()
	p := s.all[question]
	delete(s.all, question)
	s.mu.Unlock()
	if p != nil {
		p.end()
	}
}

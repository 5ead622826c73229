package channel

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/dedup"
	"rcsupervisor/internal/aside"
)

// Run is the whole life of a channel. It returns nil after Stop, Drain, or the
// end of ctx or of the link, and an error when the channel can't live: no
// agent of that kind, a store that is another process's, settings that no
// connection can be made with. A connection that ends is not such an error: it
// is reported, and the next Connect makes another.
//
// A panic of the channel's own goroutines ends the channel and comes out of
// Run, so that whoever runs many of them can contain it.
func Run(ctx context.Context, start Start, link Link) error {
	return Env{}.Run(ctx, start, link)
}

// An Env is the world a channel lives in. The zero Env is the real one; tests
// put a pipe, a store in memory, or an agent of their own in its place.
type Env struct {
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	Store func(path, bot string) (dedup.Store, error)
	Agent func(Start, Link) (agent.Agent, error)
}

// Run is [Run] in this Env.
func (e Env) Run(ctx context.Context, start Start, link Link) error {
	live, err := e.Begin(ctx, start, link)
	if err != nil {
		return err
	}
	return live()
}

// Begin is the first half of Run: it ends with the errors of a channel that
// can't live, or returns the other half, which is to be called. Whoever has many
// channels calls it so that what start takes is not on a stack for as long as
// each lives.
func (e Env) Begin(ctx context.Context, start Start, link Link) (live func() error, err error) {
	if e.Store == nil {
		e.Store = openStore
	}
	var l *life
	aside.Do(func() { l, err = begin(ctx, e, &start, link) })
	if err != nil {
		return nil, err
	}
	return l.live, nil
}

// live is the life, from the first command to the last.
func (l *life) live() error {
	l.run()
	if p := l.caught.Load(); p != nil {
		panic(*p)
	}
	return nil
}

func (l *life) run() {
	defer l.end()
	l.loop()
}

// StateFile is where a profile's store lies below its home.
func StateFile(home string) string { return filepath.Join(home, "rocketchat", "state", "dedup.db") }

// openStore is the real store.
func openStore(path, bot string) (dedup.Store, error) {
	return dedup.Open(path, dedup.Options{Bot: bot})
}

// Times of the life's own.
const (
	reportEvery = 250 * time.Millisecond // changed counters make a report, at most so often
	agentGrace  = 4 * time.Second        // for an agent to end with its channel
)

// loop is the owner of the life. Nothing it does waits: a command is obeyed at
// once, whatever the store or the server is doing. What is due at a time comes
// by mail, as all else does: a quiet channel waits here for as long as it lives,
// and each thing it waits for takes memory.
func (l *life) loop() {
	l.work.Go(l.guarded(l.resume))
	for {
		select {
		case <-l.ctx.Done(): // ended, drained, or panicked
			return
		case c, ok := <-l.link.Commands():
			if !ok || !l.obey(c) {
				return
			}
		case <-l.mail.wake:
			l.changes()
		}
		l.report()
	}
}

// changes makes those that have come by mail.
func (l *life) changes() {
	for _, change := range l.mail.take() {
		change()
	}
}

// obey carries out one command and reports whether the life goes on.
func (l *life) obey(c Command) bool {
	switch c := c.(type) {
	case Connect:
		l.connect(c.Number)
	case Apply:
		if err := l.apply(c); err != nil {
			l.log.Error("new settings were not taken into use", "err", err)
		}
	case Drain:
		l.drain(c.Deadline)
	case Rest:
		l.staff.rest()
	case Stop:
		return false
	}
	return true // also to a Beat, which asks for the report that follows
}

// tell brings a change to the loop, from any goroutine.
func (l *life) tell(change func()) { l.mail.put(change) }

// drain takes nothing more in and begins no further turn, lets what runs end,
// and closes the life at the deadline at the latest. The connection stays for
// the answers.
func (l *life) drain(deadline time.Time) {
	if l.draining {
		return
	}
	l.draining, l.phase = true, Draining
	l.intake.close()
	l.talks.Quiesce()
	l.work.Go(l.guarded(func() {
		ctx, cancel := context.WithDeadline(l.ctx, deadline)
		defer cancel()
		if l.talks.Drained(ctx) == nil {
			_ = l.owed.Drained(ctx)
			l.progresses.gone(ctx)
		}
		l.cancel()
	}))
}

// end closes everything, in the order in which a message goes through it.
func (l *life) end() {
	l.cancel()
	l.checks.Stop()
	l.patience.Stop()
	l.intake.close()
	if l.conn != nil {
		l.conn.cancel(errEnding)
	}
	l.desk.Close() // what is open is the next run's to close: nobody decides it any more
	l.talks.End()
	ctx, cancel := context.WithTimeout(context.Background(), agentGrace)
	defer cancel()
	if err := l.staff.close(ctx); err != nil {
		l.log.Warn("the agent did not end in time", "err", err)
	}
	l.talks.Close()
	l.owed.Close()
	l.signs.Wait()
	l.progresses.shown.Wait()
	l.work.Wait()
	l.client.Load().Close()
	if err := l.store.Close(); err != nil && !errors.Is(err, dedup.ErrClosed) {
		l.log.Warn("the store of questions did not close cleanly", "err", err)
	}
	l.report() // what was counted up to the end
}

// guarded is work whose panic ends this channel and no more.
func (l *life) guarded(work func()) func() {
	return func() {
		defer l.contain()
		work()
	}
}

// contain is deferred on each of the channel's goroutines.
func (l *life) contain() {
	if p := recover(); p != nil {
		l.panicked(p)
	}
}

// panicked ends the life because of a panic; the first one counts.
func (l *life) panicked(p any) {
	l.caught.CompareAndSwap(nil, &p)
	l.cancel()
}

package channel

import (
	"context"
	"errors"
	"time"

	"rcsupervisor/channel/catchup"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/channel/rest"
)

// patience is how long live messages wait behind missed ones. After it they go
// ahead, and the cursors stay until what was missed was read.
const patience = time.Minute

// clockError is by how much the server's clock may be misread: a Date header
// names a second.
const clockError = time.Second

// catchUp has what was missed read beside the live stream, unless the
// connection has ended, after which the next one begins with it. Runs on the
// loop.
func (l *life) catchUp(epoch uint64) {
	if l.conn == nil || l.online.IsZero() || l.draining {
		return
	}
	l.patience.Reset(patience)
	l.conn.catchUp(epoch)
}

// readMissed brings everything that may have been missed by an epoch to the
// intake: first what an earlier run had claimed, then what the rooms that
// changed have to say. It goes on until it is done or the connection has ended,
// and ends nothing itself. What a server does not tell is left to the next check.
func (l *life) readMissed(ctx context.Context, epoch uint64, since time.Time) {
	select {
	case l.missing <- struct{}{}:
		defer func() { <-l.missing }()
	case <-ctx.Done():
		return
	}
	select {
	case <-l.resumed:
	case <-ctx.Done():
		return
	}
	if !l.learnServer(ctx) {
		return
	}
	first := l.firstTime(since)
	if !l.learn(ctx) || !l.reread(ctx) {
		return
	}
	if first {
		l.intake.mark(ctx, "", func() { l.intake.planned(epoch, nil) })
		return
	}
	online, _ := l.store.Cursor("")
	m := &missed{life: l, epoch: epoch, rules: l.rules.Load()}
	if !m.plan(ctx, online) {
		return
	}
	l.setCatching(len(m.stretches) > 0)
	defer l.setCatching(false)
	for _, s := range m.stretches {
		if !m.read(ctx, s) {
			return
		}
	}
	l.left.Store(m.skipped || len(l.unread) > 0)
	if !m.skipped {
		l.gaps.close(m.gaps)
		l.intake.mark(ctx, "", func() { l.provenUntil(m.asOf) })
	}
}

// provenUntil says that up to a moment of the server's clock nothing was missed
// in any room. It is believed once all that was heard is settled. Runs on the
// lane.
func (l *life) provenUntil(moment time.Time) {
	if l.intake.settled() {
		l.store.Advance("", moment)
	}
}

func (l *life) setCatching(on bool) {
	if l.catching.Swap(on) != on {
		l.touched()
	}
}

// missed is one catching up.
type missed struct {
	life      *life
	epoch     uint64
	rules     *rules
	asOf      time.Time // by the server's clock, when it was asked what changed
	stretches []catchup.Stretch
	facts     map[string]gate.Room
	names     map[string]string
	budget    catchup.Budget
	gaps      map[string]time.Time // rooms in which the socket lost something, and from when on
	skipped   bool                 // something could not be read, and is left to another time
}

// plan asks which rooms changed, and holds live messages back in those alone.
// It reports false when the connection ended first.
func (m *missed) plan(ctx context.Context, online time.Time) bool {
	l := m.life
	m.budget.Left = m.rules.settings.Limits.CatchUpMessages
	m.gaps = l.gaps.missing()
	now := l.serverNow()
	m.asOf = now.Add(-clockError)
	first, _ := l.store.Cursor(firstOnline)
	moments := catchup.Moments{Born: first, Online: online, Now: now.Add(clockError), Age: m.rules.settings.Limits.CatchUp}
	var rooms []catchup.Room
	err := l.persist(ctx, "what changed", func(ctx context.Context) (err error) {
		rooms, err = m.changed(ctx, moments.Since())
		return err
	})
	if m.skipped = errors.Is(err, errGaveUp); err != nil && !m.skipped {
		return false
	}
	if m.skipped { // any room may have missed something: all cursors stay
		l.intake.impatient()
		return true
	}
	m.stretches = catchup.Plan(rooms, moments)
	return l.intake.mark(ctx, "", func() { l.intake.planned(m.epoch, m.facts) })
}

// changed returns the rooms in which something has happened since, as far as
// the bot may be concerned.
func (m *missed) changed(ctx context.Context, since time.Time) ([]catchup.Room, error) {
	l := m.life
	client := l.client.Load()
	asking := since
	for _, from := range m.gaps {
		asking = earlier(asking, from)
	}
	updated, _, err := client.Rooms(ctx, asking)
	if err != nil {
		return nil, err
	}
	var roster map[string]membership
	m.facts, m.names = make(map[string]gate.Room), make(map[string]string)
	var rooms []catchup.Room
	for _, r := range updated {
		gap, lost := m.gaps[r.ID]
		if !m.rules.listens(r.ID, r.Kind) || !lost && !r.Updated.IsZero() && r.Updated.Before(since) {
			continue
		}
		if roster == nil {
			if roster, err = l.roster.ask(ctx, client); err != nil {
				return nil, err
			}
		}
		of := roster[r.ID]
		if !of.member {
			continue
		}
		cursor, _ := l.store.Cursor(r.ID)
		if lost && (cursor.IsZero() || gap.Before(cursor)) {
			cursor = gap
		}
		rooms = append(rooms, catchup.Room{ID: r.ID, Kind: r.Kind, Joined: of.joined, Cursor: cursor})
		m.facts[r.ID] = gate.FromInfo(r, true, l.mayPost(of.roles))
		m.names[r.ID] = r.FullName
	}
	return rooms, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// read reads one stretch to its end and waits until everything of it is
// settled. It reports false when the connection ended first.
func (m *missed) read(ctx context.Context, s catchup.Stretch) bool {
	l := m.life
	pass := catchup.NewPass(s, &m.budget, m.worth)
	switch err := l.persist(ctx, "what was said in a room", func(ctx context.Context) error { return m.pages(ctx, s, pass) }); {
	case errors.Is(err, errGaveUp):
		m.skipped = true // its cursor stays
		return true
	case err != nil:
		return false
	}
	if n, span := pass.Missed(); n > 0 {
		l.tally.count(func(c *Counters) { c.Missed += uint64(n) })
		l.log.Warn("messages lie beyond what is caught up", "room", s.Room, "messages", n, "from", span.From, "to", span.To)
	}
	for _, msg := range pass.Messages() {
		l.intake.feed(heard{message: &msg, room: m.facts[s.Room], name: m.names[s.Room], caughtUp: true})
	}
	l.hears.heard(s.Room, pass.Settled())
	return l.intake.mark(ctx, s.Room, func() { l.intake.caughtUp(m.epoch, s.Room, pass.Settled()) })
}

// pages goes back through a room, from where it came to before.
func (m *missed) pages(ctx context.Context, s catchup.Stretch, pass *catchup.Pass) error {
	client := m.life.client.Load()
	q := rest.HistoryQuery{Kind: s.Kind, Room: s.Room, Oldest: s.From, Latest: pass.From(), Count: pageSize}
	for msg, err := range client.Backward(ctx, q) {
		if err != nil {
			return err
		}
		if !pass.Take(msg) {
			break
		}
	}
	if s.Lost.Empty() {
		return nil
	}
	lost, err := client.History(ctx, rest.HistoryQuery{Kind: s.Kind, Room: s.Room, Oldest: s.Lost.From, Latest: s.Lost.To, Count: pageSize})
	for _, msg := range lost {
		pass.Lose(msg)
	}
	return err
}

// pageSize is how many messages are asked for at once: the most that servers
// give.
const pageSize = 100

// worth says what a missed message is to the bot.
func (m *missed) worth(msg chat.Message) catchup.Worth {
	v := gate.Decide(msg, gate.Facts{
		Self: m.rules.self, Policy: m.rules.policy, Room: m.facts[msg.RoomID], CaughtUp: true, Now: m.asOf,
	})
	in := m.life.intake
	if v.Step == gate.StepOwn && msg.Touched.Has(chat.TouchRewritten) {
		m.life.desk.Rewritten(msg.RoomID, msg.ID)
	}
	switch {
	case v.Action == gate.Ignore:
		return catchup.Nothing
	case in.waiting.has(msg.ID): // before what is known: it is known once it waits no longer
		return catchup.Heard
	case in.knows(heard{message: &msg}):
		return catchup.Nothing
	}
	return catchup.Asked
}

// errGaveUp is what persist ends with when a server answers, and never usefully.
var errGaveUp = errors.New("the server does not say")

// stubborn is how often a server may answer with what is no answer, for a
// reason that doesn't pass by itself.
const stubborn = 4

// persist asks a server for something until it is told. What the bot may not
// ask, or no longer, counts as told. It ends with errGaveUp, or with ctx.
func (l *life) persist(ctx context.Context, what string, ask func(context.Context) error) error {
	for try := 0; ; try++ {
		err := ask(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			return nil
		case errors.Is(err, rest.ErrRoomGone), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrNotFound):
			l.log.Info("a question about what was missed is not answered", "what", what, "err", err)
			return nil
		case lasting(err) && try+1 == stubborn:
			l.log.Warn("what was missed can't be read", "what", what, "err", err)
			return errGaveUp
		case try == 0:
			l.log.Warn("what was missed can't be read yet", "what", what, "err", err)
		}
		if !pause(ctx, max(askAgain(try), l.asked(err))) {
			return context.Cause(ctx)
		}
	}
}

// lasting reports whether a failure may well be there the next time, too.
func lasting(err error) bool {
	e, ok := errors.AsType[*rest.Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case rest.ErrInvalid, rest.ErrMalformed, rest.ErrTooLarge, rest.ErrTwoFactor, rest.ErrNoRoute, rest.ErrRedirected:
		return true
	}
	return false
}

// askAgain is how long a server is left alone after try failures.
func askAgain(try int) time.Duration {
	steps := [...]time.Duration{1, 2, 5, 10, 30}
	return steps[min(try, len(steps)-1)] * time.Second
}

package channel

import (
	"bytes"
	"context"
	"errors"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/channel/gate"
	"rcsupervisor/healthcheck"
)

// errEnding ends a connection because its channel ends.
var errEnding = &ddp.End{Reason: healthcheck.Operator, Err: errors.New("the channel is ending")}

// A connection is one attempt, from dial to last frame.
type connection struct {
	number uint64
	cancel context.CancelCauseFunc
	// catchUp reads what was missed, for as long as the connection lives. The
	// epoch is the intake's.
	catchUp func(epoch uint64)
}

// connect makes the next connection, unless there is one: exactly one attempt
// runs at a time, whatever is asked.
func (l *life) connect(number uint64) {
	if l.conn != nil || l.draining || number <= l.number {
		l.log.Debug("no second connection is made", "number", number, "current", l.number)
		return
	}
	ctx, cancel := context.WithCancelCause(l.ctx)
	c := &connection{number: number, cancel: cancel}
	c.catchUp = func(epoch uint64) {
		since := l.online
		l.work.Go(l.guarded(func() { l.readMissed(ctx, epoch, since) }))
	}
	l.conn, l.number, l.phase, l.last = c, number, Connecting, nil
	cfg := l.dialing()
	l.work.Go(l.guarded(func() {
		end := l.attempt(ctx, cfg, &ear{life: l, conn: c})
		cancel(nil)
		l.tell(func() { l.ended(end) })
	}))
}

// dialing is how the next connection is made.
func (l *life) dialing() ddp.Config {
	s := &l.start
	return ddp.Config{
		Server: s.Credentials.Server, UserID: s.Credentials.UserID, Token: s.Credentials.Token,
		Network: l.network, Silence: s.Settings.Health.Silence, Ping: s.Settings.Health.Ping, Log: l.log,
	}
}

// way is how s reaches its server, over both wires: what TLS needs is made once,
// and a session of one is resumed by the other.
func (l *life) way(s *Start) *dial.Network {
	if l.network == nil || l.network.Proxy != s.Settings.Proxy || !bytes.Equal(l.network.CAFile, s.CA) {
		return &dial.Network{CAFile: s.CA, Proxy: s.Settings.Proxy, DialContext: l.env.Dial}
	}
	return l.network
}

// attempt runs one connection to its end.
func (l *life) attempt(ctx context.Context, cfg ddp.Config, e *ear) End {
	if err := l.link.Allow(ctx, Permit{Kind: PermitDial}); err != nil {
		if own, ok := errors.AsType[*ddp.End](context.Cause(ctx)); ok {
			return reported(own, false)
		}
		return reported(&ddp.End{Reason: healthcheck.Dropped, Err: err}, false)
	}
	end := ddp.Run(ctx, cfg, e)
	if e.socket != nil {
		l.socket.CompareAndSwap(e.socket, nil)
	}
	online := end.Online
	if end.LoginRefused {
		end = l.confirm(ctx, end)
	}
	return reported(end, online)
}

// confirm asks the REST API whether a refused login means a refused token.
// Servers refuse good tokens now and then (RC#23947), so only a 401 in JSON
// counts; with anything else the connection was merely dropped.
func (l *life) confirm(ctx context.Context, end *ddp.End) *ddp.End {
	refused, err := l.client.Load().Refusal(ctx)
	switch {
	case refused:
		return end
	case err != nil:
		return &ddp.End{Reason: healthcheck.Dropped, Err: errors.New("the server refused the login and could not be asked why")}
	}
	return &ddp.End{Reason: healthcheck.Dropped, Err: errors.New("the server refused the login although it takes the token")}
}

// reported is an End as the supervisor is told of it.
func reported(end *ddp.End, online bool) End {
	e := End{Reason: end.Reason, RetryAfter: end.RetryAfter, At: time.Now(), WasOnline: online}
	if end.Err != nil {
		e.Detail = end.Err.Error()
	}
	return e
}

// ended takes note of a connection that is over. Runs on the loop.
func (l *life) ended(end End) {
	l.conn, l.last, l.online = nil, &end, time.Time{}
	if !l.draining {
		l.phase = Waiting
	}
	l.patience.Stop()
	l.owed.SetOnline(false)
}

// An ear is where a connection brings what it hears. Its methods run on the
// reading goroutine and wait for nothing.
type ear struct {
	life   *life
	conn   *connection
	socket *ddp.Conn
}

var _ ddp.Handler = (*ear)(nil)

// Connected tells nothing that is not in the end, or in Ready.
func (*ear) Connected() {}

// Ready is called once, when the server has said that it will tell. What comes
// after it waits behind what was missed before it.
func (e *ear) Ready(c *ddp.Conn) {
	e.socket = c
	l, now := e.life, time.Now()
	l.socket.Store(c)
	l.hears.begin()
	l.gaps.begin()
	online := func() { l.tell(func() { l.ready(e.conn, now) }) }
	if l.born() {
		online()
		l.intake.fallBehind()
		return
	}
	l.intake.lane.Put(entry{mark: func() {
		l.begins(now)
		online()
		l.intake.missed()
	}})
}

// Event takes one message in.
func (e *ear) Event(event ddp.Event) {
	if event.Collection != ddp.Collection || event.Name != ddp.MyMessages {
		return
	}
	l := e.life
	l.tally.count(func(c *Counters) { c.Received++ })
	m, where, err := chat.ParseEvent(event.Args)
	switch {
	case err != nil:
		l.tally.ignored("malformed")
	case where.Known && !where.Participant:
		// The stream brings public rooms that the bot never joined; on a large
		// server they are most of it.
		l.tally.ignored(string(gate.StepMembership))
	default:
		l.hears.heard(m.RoomID, m.Sent.Time)
		l.gaps.heard(&m)
		l.intake.put(&m, where)
	}
}

// ready is online, since a moment. Runs on the loop.
func (l *life) ready(c *connection, since time.Time) {
	if l.conn != c {
		return
	}
	l.online, l.checked = since, since // the login proved the token
	if !l.draining {
		l.phase = Online
	}
	l.owed.SetOnline(true)
}

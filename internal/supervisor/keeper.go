package supervisor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// A keeper owns one profile: its history, its run, its timer. Its goroutine is
// the only one that touches them; others say what they know with tell.
type keeper struct {
	*Supervisor
	home Home

	told  chan func()
	gone  chan struct{} // closed when run has returned
	timer *time.Timer

	history healthcheck.History
	start   channel.Start // as last loaded
	live    *run          // nil without a run
	runs    uint64
	dials   uint64
	report  *channel.Report
	ending  bool
}

// A run is one life of a channel.
type run struct {
	link   *link
	cancel context.CancelFunc
	seen   uint64 // the connection whose end was taken note of
	online uint64 // the connection that was seen online
}

func newKeeper(s *Supervisor, h Home) *keeper {
	k := &keeper{Supervisor: s, home: h, told: make(chan func()), gone: make(chan struct{})}
	k.history = healthcheck.New(time.Now())
	k.timer = time.NewTimer(time.Hour)
	k.timer.Stop()
	return k
}

// tell brings a change to the keeper's goroutine.
func (k *keeper) tell(change func()) {
	select {
	case k.told <- change:
	case <-k.gone:
	}
}

// run keeps the profile until ctx ends and its channel is over.
func (k *keeper) run(ctx context.Context) {
	defer close(k.gone)
	defer k.timer.Stop()
	k.decide(k.history.Start(time.Now()))
	done := ctx.Done()
	for k.live != nil || !k.ending {
		select {
		case <-done:
			done = nil
			k.end()
		case change := <-k.told:
			change()
		case <-k.timer.C:
			k.due(ctx)
		}
	}
}

// end drains the run that there is.
func (k *keeper) end() {
	k.ending = true
	k.timer.Stop()
	k.servers.leave(k.home.Name)
	if k.live != nil {
		k.live.link.command(channel.Drain{Deadline: time.Now().Add(k.config.Drain)})
	}
	k.decide(k.history.Stop(healthcheck.Operator, time.Now()))
}

// decide takes a new history and does, now or later, what it plans.
func (k *keeper) decide(d healthcheck.Decision, h healthcheck.History) {
	changed := h.State != k.history.State || h.Reason != k.history.Reason
	k.history = h
	k.timer.Stop()
	if !k.ending {
		switch d.Do {
		case healthcheck.Begin, healthcheck.Dial, healthcheck.Reread, healthcheck.Probe:
			k.timer.Reset(d.After)
		case healthcheck.Halt:
			k.halt()
		}
	}
	k.observe(Event{Changed: changed})
}

func (k *keeper) observe(e Event) {
	e.Time, e.Profile, e.History, e.Report = time.Now(), k.home.Name, k.history, k.report
	k.config.Observe(e)
}

// due does what was planned for now.
func (k *keeper) due(ctx context.Context) {
	plan := k.history.Plan
	if plan == healthcheck.Begin || plan == healthcheck.Dial || plan == healthcheck.Reread {
		if k.start.Profile != "" && k.servers.down(k.start.Credentials.Server) {
			k.ended(healthcheck.Ended{Reason: healthcheck.Unreachable, Common: true})
			return
		}
	}
	k.history = k.history.Began(time.Now(), k.config.Jitter)
	switch plan {
	case healthcheck.Begin:
		k.begin(ctx)
	case healthcheck.Dial:
		k.dial()
	case healthcheck.Reread:
		k.reread(ctx)
	case healthcheck.Probe:
		k.probe(ctx)
	}
	k.observe(Event{Changed: true})
}

// begin reads the home and starts a run.
func (k *keeper) begin(ctx context.Context) {
	start, err := k.home.Load(ctx)
	if err != nil {
		k.unready(err)
		return
	}
	k.runs++
	start.Run = k.runs
	k.start = start
	life, cancel := context.WithCancel(context.Background())
	r := &run{link: newLink(k, start.Credentials.Server), cancel: cancel}
	k.live = r
	k.group.Go(func() {
		err := contained(func() error { return k.config.Env.Run(life, start, r.link) })
		cancel()
		k.tell(func() { k.over(r, err) })
	})
	k.dial()
}

// contained runs a channel so that its panic, or a fault in a file it has
// mapped, is its own end and nobody else's.
func contained(life func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errCrashed, p)
		}
	}()
	return life()
}

var errCrashed = errors.New("crashed")

// dial lets the run make its next connection.
func (k *keeper) dial() {
	if k.live == nil {
		return
	}
	k.dials++
	k.live.link.command(channel.Connect{Number: k.dials})
	k.history = k.history.Dialing(time.Now())
}

// reread reads the home again, hands over what is new, and dials.
func (k *keeper) reread(ctx context.Context) {
	if k.live == nil {
		k.begin(ctx)
		return
	}
	start, err := k.home.Load(ctx)
	if err != nil {
		k.unready(err)
		return
	}
	k.apply(start)
	k.dial()
}

// apply hands a run what its home says now. Another bot or server needs
// another run.
func (k *keeper) apply(start channel.Start) {
	start.Run = k.start.Run
	was := k.start
	k.start = start
	if start.Credentials.Server != was.Credentials.Server || start.Credentials.UserID != was.Credentials.UserID {
		k.decide(k.history.Restart(time.Now()))
		return
	}
	k.live.link.command(channel.Apply{
		Settings: start.Settings, Access: start.Access, Credentials: start.Credentials, Siblings: start.Siblings, CA: start.CA,
		Reconnect: !start.Credentials.Token.Equal(was.Credentials.Token) || start.Settings.Proxy != was.Settings.Proxy || string(start.CA) != string(was.CA),
	})
}

// unready takes note of a home that can't run as it is. A channel that runs
// keeps its last good settings.
func (k *keeper) unready(err error) {
	reason := healthcheck.BadConfig
	if u, ok := errors.AsType[*Unready](err); ok {
		reason = u.Reason
	}
	k.decide(healthcheck.Next(k.history, healthcheck.Ended{Reason: reason, Detail: err.Error(), Over: k.live == nil}, time.Now(), k.config.Jitter))
}

// changed reads the home again because its files may be others. A run that
// there is gets what is new before anything else follows; what can't be used
// leaves it with the last good.
func (k *keeper) changed() {
	if k.ending {
		return
	}
	if k.live != nil {
		start, err := k.home.Load(context.Background())
		if err != nil {
			k.config.Log.Warn("the profile's files can't be used; it goes on with the last good ones", "profile", k.home.Name, "err", err)
			return
		}
		k.apply(start)
	}
	if k.history.State != healthcheck.Online {
		k.servers.leave(k.home.Name)
	}
	k.decide(k.history.Changed(time.Now()))
}

// probe asks whether the server takes the token now, with the credentials that
// are sealed now.
func (k *keeper) probe(ctx context.Context) {
	start := k.start
	k.group.Go(func() {
		answer := k.servers.token(ctx, start)
		k.tell(func() { k.decide(k.history.Probed(answer, time.Now())) })
	})
}

// halt ends the run.
func (k *keeper) halt() {
	k.servers.leave(k.home.Name)
	if k.live != nil {
		k.live.link.command(channel.Stop{})
	}
}

// heard takes the latest report of a run.
func (k *keeper) heard(r *run, report channel.Report) {
	if k.live != r {
		return
	}
	k.report = &report
	server := k.start.Credentials.Server
	switch {
	case report.Connection != k.dials:
	case report.End != nil && r.seen != report.Connection:
		r.seen = report.Connection
		k.ended(healthcheck.Ended{Reason: report.End.Reason, Detail: report.End.Detail, Limit: report.End.RetryAfter})
		return
	case !report.OnlineSince.IsZero() && r.online != report.Connection:
		r.online = report.Connection
		k.servers.connected(server, k.home.Name)
		k.history = k.history.Online(time.Now())
		k.observe(Event{Changed: true})
		return
	}
	k.observe(Event{})
}

// ended asks what follows an end, of the profile and of its server.
func (k *keeper) ended(e healthcheck.Ended) {
	server, name := k.start.Credentials.Server, k.home.Name
	k.servers.dialed(name)
	switch e.Reason {
	case healthcheck.Unreachable:
		k.servers.unreachable(server, name, k.start)
	case healthcheck.Refused:
		var others []string
		e.Common, e.Limit, others = k.servers.refused(server, name, k.start)
		for _, other := range others {
			if o := k.keepers[other]; o != nil && o != k {
				k.group.Go(func() { o.tell(func() { o.decide(o.history.Doubted(e.Limit, time.Now())) }) })
			}
		}
	}
	k.decide(healthcheck.Next(k.history, e, time.Now(), k.config.Jitter))
}

// over takes note of a run that has ended.
func (k *keeper) over(r *run, err error) {
	if k.live != r {
		return
	}
	k.live = nil
	e := healthcheck.Ended{Reason: healthcheck.Operator, Over: true}
	switch {
	case errors.Is(err, errCrashed):
		e.Reason, e.Detail = healthcheck.Crashed, err.Error()
	case err != nil:
		e.Reason, e.Detail = healthcheck.BadConfig, err.Error()
	}
	k.decide(healthcheck.Next(k.history, e, time.Now(), k.config.Jitter))
}

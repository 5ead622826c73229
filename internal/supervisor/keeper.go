package supervisor

import (
	"sync"
	"sync/atomic"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
)

// A keeper owns one profile: what its home says, its history, its run, its
// timer. One goroutine at a time touches them, and is there only while there is
// something to do, but for what is said to be another's; others say what they
// know with tell, and read its latest view.
type keeper struct {
	*Supervisor
	name string

	mail    mailbox
	gone    chan struct{} // closed when the keeper has ended
	timer   *time.Timer   // of what is planned; nil for nothing
	planned uint64        // the number of the last plan; a timer that rings for an older one does nothing

	reading profile.Reading // the home as it was last read
	first   bool            // the home was looked at
	counted bool            // its agent runs as our own user
	enabled bool            // by the last channel.yaml that could be read
	inUse   profile.Grants  // what its files give, as far as people said so
	pending []profile.Widening
	fault   *Unready // why the files as they are now are not in use by the run that goes on

	history healthcheck.History
	other   string // the profile that holds this one's bot
	mend    string // a better command than the reason's own
	suspect bot    // the bot that a Hermes was last seen to run

	start     *channel.Start // as last handed over; another with each change, and shared with views
	facts     facts          // what was found beside it
	live      *run           // nil without a run
	runs      uint64
	dials     uint64
	report    *channel.Report
	under     int           // preparations under way
	preparing chan struct{} // closed when none is any more; nil while none is
	look      uint64        // the number of the last preparation; what an older one found is dropped
	adopting  bool          // a person has said that what is new is right
	ending    bool
	leaving   bool   // the home is gone, and so is this keeper when its run is over
	then      func() // called when the keeper has ended; nil for nothing

	ring *ring                // the log; any goroutine
	view atomic.Pointer[view] // what status shows; any goroutine reads it

	writing sync.Mutex // held by whoever writes the home's files
}

// A run is one life of a channel, as its keeper knows it.
type run struct {
	worker.Run
	ear      *ear
	number   uint64
	began    time.Time
	settings profile.Settings // it began with
	seen     uint64           // the connection whose end was taken note of
	online   uint64           // the connection that was seen online
	killed   *worker.End
}

func newKeeper(s *Supervisor, r profile.Reading) *keeper {
	k := &keeper{
		Supervisor: s, name: r.Name, gone: make(chan struct{}), reading: r, enabled: true, start: new(channel.Start),
		ring: newRing(),
	}
	k.history = healthcheck.New(time.Now())
	k.publish()
	return k
}

// tell brings a change to the keeper, and waits for nothing. It reports false
// when the keeper has ended.
func (k *keeper) tell(change func()) bool {
	return k.mail.put(change, func() { go k.toil() })
}

// open sets the keeper to work. It counts in the supervisor's group until it
// has ended, whether it has something to do or not.
func (k *keeper) open() {
	k.group.Add(1)
	k.tell(func() { k.changed(k.reading, false) })
}

// toil makes changes until none waits, or the keeper has ended: when it is to,
// and its channel is over.
func (k *keeper) toil() {
	for changes := k.mail.take(); changes != nil; changes = k.mail.take() {
		for _, change := range changes {
			change()
		}
		if k.live == nil && (k.ending || k.leaving) {
			k.close()
			return
		}
	}
}

// close is the end of the keeper.
func (k *keeper) close() {
	defer k.group.Done()
	k.unplan()
	k.servers.forget(k.name)
	k.freeBot()
	k.leaving = true
	k.publish()
	k.left(k)
	for _, change := range k.mail.close() {
		change()
	}
	close(k.gone)
	if k.then != nil {
		k.then()
	}
}

// plan has what the history plans done after a while, and nothing that was
// planned before.
func (k *keeper) plan(after time.Duration) {
	k.unplan()
	n := k.planned
	k.timer = time.AfterFunc(after, func() {
		k.tell(func() {
			if n == k.planned {
				k.due()
			}
		})
	})
}

// unplan has nothing done that was planned.
func (k *keeper) unplan() {
	k.planned++
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
}

// end drains the run that there is, and the keeper with it.
func (k *keeper) end(deadline time.Time) {
	if k.ending {
		return
	}
	k.ending = true
	k.unplan()
	k.servers.leave(k.name)
	if k.live != nil {
		k.live.Command(channel.Drain{Deadline: deadline})
		k.watch.endBy(k.live, deadline.Add(killAfter/2))
	}
	d, h := k.history.Stop(healthcheck.Operator, time.Now())
	k.take(d, h)
}

// kill ends the run that there is without its help.
func (k *keeper) kill() {
	if k.live != nil {
		k.killRun(worker.End{Reason: healthcheck.Operator})
	}
}

func (k *keeper) killRun(why worker.End) bool {
	k.live.killed = &why
	return k.live.Kill(why)
}

// decide takes a new history and does, now or later, what it plans.
func (k *keeper) decide(d healthcheck.Decision, h healthcheck.History) {
	k.take(d, h)
	k.unplan()
	if k.ending {
		return
	}
	switch d.Do {
	case healthcheck.Rest:
		if !h.Alive {
			k.servers.leave(k.name)
		}
	case healthcheck.Begin, healthcheck.Dial, healthcheck.Reread, healthcheck.Probe:
		k.plan(d.After)
	case healthcheck.Await:
		if !h.RetryAt.IsZero() && h.Reason == healthcheck.Refused {
			return // the server says when, and knows the limit
		}
	case healthcheck.Halt:
		k.halt()
	case healthcheck.Leave:
		k.leaving = true
	}
}

// take makes a history ours and says so.
func (k *keeper) take(_ healthcheck.Decision, h healthcheck.History) {
	changed := h.State != k.history.State || h.Reason != k.history.Reason
	k.history = h
	if !k.holdsBot() {
		k.freeBot()
	}
	if changed {
		k.logState()
	}
	k.observe(changed)
}

// observe says that something about the profile is another than before.
func (k *keeper) observe(changed bool) {
	k.publish()
	k.config.Observe(Event{Time: time.Now(), Profile: k.name, History: k.history, Report: k.report, Changed: changed, Gone: k.leaving})
	k.feed.publish(k.name)
}

// due does what was planned for now.
func (k *keeper) due() {
	plan := k.history.Plan
	if k.live != nil && (plan == healthcheck.Dial || plan == healthcheck.Reread) && k.servers.down(*k.start) {
		k.ended(away)
		return
	}
	k.history = k.history.Began(time.Now(), k.config.Jitter)
	k.observe(true)
	switch plan {
	case healthcheck.Begin:
		k.prepare(k.begin)
	case healthcheck.Dial:
		k.dial()
	case healthcheck.Reread:
		k.reread()
	case healthcheck.Probe:
		k.probe()
	}
}

// halt ends the run.
func (k *keeper) halt() {
	k.servers.leave(k.name)
	if k.live == nil { // it was still being prepared
		k.look++
		k.decide(healthcheck.Next(k.history, healthcheck.Ended{Reason: healthcheck.Operator, Over: true}, time.Now(), k.config.Jitter))
		return
	}
	k.live.Command(channel.Stop{})
	k.watch.endBy(k.live, time.Now().Add(killAfter))
}

// dial lets the run make its next connection.
func (k *keeper) dial() {
	if k.live == nil {
		return
	}
	k.dials++
	k.servers.heads(k.name, *k.start)
	k.live.Command(channel.Connect{Number: k.dials})
	k.history = k.history.Dialing(time.Now())
	k.observe(true)
}

// reread has the home read again from the disk, hands over what is new, and
// dials. Where nothing new can be used it dials with the last good.
func (k *keeper) reread() {
	k.readAnew(func(p prepared) {
		if k.live == nil {
			k.begin(p)
			return
		}
		k.use(p)
		if k.live != nil && k.history.State == healthcheck.Connecting && k.history.Plan == healthcheck.Rest {
			k.dial()
		}
	})
}

// probe asks whether the server takes the token now, with the credentials that
// were handed over last.
func (k *keeper) probe() {
	start := *k.start
	k.group.Go(func() {
		answer := k.servers.token(k.work, start)
		k.tell(func() { k.decide(k.history.Probed(answer, time.Now())) })
	})
}

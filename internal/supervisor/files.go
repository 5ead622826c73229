package supervisor

import (
	"reflect"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// changed takes in what the home says now. A run that there is gets what is new
// before anything else follows; what can't be used leaves it with the last
// good. moved says that another folder has the profile's name.
func (k *keeper) changed(r profile.Reading, moved bool) {
	if k.ending {
		return
	}
	if k.leaving || k.history.Goal == healthcheck.Gone {
		k.then = func() { k.Supervisor.begin(r) } // it came back before its end was over
		return
	}
	swapped := k.first && (moved || r.Owner != k.reading.Owner)
	k.read(r)
	k.first = true
	k.settle(swapped)
}

// read takes a reading, and weighs what it gives.
func (k *keeper) read(r profile.Reading) {
	k.reading = r
	k.registry.get(k.name, func() profile.Entry {
		return profile.NewEntry(profile.Claim{Path: r.Home, Owner: r.Owner})
	})
	if r.Err == nil {
		k.enabled = r.Settings.Enabled
		k.weigh()
	}
}

// weigh splits what the files give into what is in use and what waits for a
// person. What a home holds when it is first seen counts as a person's.
func (k *keeper) weigh() {
	given := profile.GrantsOf(k.reading.Profile)
	entry, _ := k.registry.entry(k.name)
	k.inUse, k.pending = given, nil
	// Whoever owns the home is also whom its agent runs as.
	if was := entry.Accepted; was != nil && !was.Believed(k.reading.Owner, k.reading.Owner) {
		k.inUse, k.pending = profile.Narrow(*was, given)
	}
	k.accepted()
}

// accepted has the ledger remember what is in use: that is what the next change
// is compared with, also after a restart.
func (k *keeper) accepted() {
	entry, _ := k.registry.entry(k.name)
	if entry.Accepted != nil && reflect.DeepEqual(*entry.Accepted, k.inUse) {
		return
	}
	inUse := k.inUse
	k.registry.change(k.name, func(e *profile.Entry) { e.Accepted = &inUse })
}

// resting is why the profile is not to run, "" if it is.
func (k *keeper) resting() healthcheck.Reason {
	e, _ := k.registry.entry(k.name)
	return healthcheck.Resting(k.enabled, e.Wanted, e.Suspended)
}

// settle brings what is in line with what is wanted and what the home says.
func (k *keeper) settle(swapped bool) {
	now := time.Now()
	rest := k.resting()
	switch {
	case k.registry.isLost():
		k.decide(k.history.Stop(healthcheck.LedgerLost, now))
	case rest != "":
		k.decide(k.history.Stop(rest, now))
	case k.history.State == healthcheck.Off, k.history.Reason == healthcheck.LedgerLost, k.stopping():
		k.decide(k.history.Start(now))
	case swapped && k.live != nil:
		k.again()
	case k.live != nil:
		k.prepare(k.refreshed)
	case k.history.Alive && k.history.State == healthcheck.Starting:
		k.prepare(k.begin) // what is being prepared is out of date
	default:
		k.hurry()
	}
}

// stopping reports whether a run is being ended for what does not hold any
// more: a person or a file wanted the profile off.
func (k *keeper) stopping() bool {
	h := k.history
	return (h.State == healthcheck.Stopping || h.State == healthcheck.Held) && h.Alive && h.Then != healthcheck.Begin &&
		(h.Goal == healthcheck.Operator || h.Goal == healthcheck.Reload)
}

// again ends the run because a file says so, and begins another.
func (k *keeper) again() {
	k.decide(k.history.Stop(healthcheck.Reload, time.Now()))
	k.decide(k.history.Start(time.Now()))
}

// refreshed hands a run what is new, and goes on at once where that may help.
func (k *keeper) refreshed(p prepared) {
	if k.live == nil || !k.use(p) || k.history.State == healthcheck.Online {
		return
	}
	k.hurry()
}

// hurry goes on at once where what is new may help. Who waits for a server to
// be there goes on waiting, by the way that holds now.
func (k *keeper) hurry() {
	k.servers.leave(k.name)
	k.decide(k.history.Changed(time.Now()))
	if k.history.Plan == healthcheck.Await && k.history.Reason == healthcheck.Unreachable {
		k.servers.unreachable(k.name, *k.start)
	}
}

// use hands a run what was prepared, and reports whether it goes on with it.
// Another bot or server needs another run.
func (k *keeper) use(p prepared) bool {
	if u := k.judge(p); u != nil {
		k.unready(u)
		return false
	}
	k.fault, k.mend = nil, ""
	was, start := k.start, p.start
	start.Run, start.Siblings = was.Run, k.kin.of(start.Credentials.Server)
	k.facts = p.facts
	if start.Credentials.Server != was.Credentials.Server || start.Credentials.UserID != was.Credentials.UserID {
		k.again()
		return false
	}
	k.start = &start
	reconnect := !start.Credentials.Token.Equal(was.Credentials.Token) || start.Settings.Proxy != was.Settings.Proxy || string(start.CA) != string(was.CA)
	k.live.ear.reload = k.live.ear.reload || reconnect
	k.live.Command(channel.Apply{
		Settings: start.Settings, Access: start.Access, Credentials: start.Credentials, Siblings: start.Siblings, CA: start.CA,
		Reconnect: reconnect,
	})
	k.observe(false)
	return true
}

// woken goes on with a profile that waits for an identity, which may be another
// than before.
func (k *keeper) woken() {
	if !k.ending && k.live == nil && k.resting() == "" {
		k.hurry()
	}
}

// homeGone ends the profile because its home is not there any more.
func (k *keeper) homeGone() {
	if k.leaving || k.ending {
		return
	}
	k.decide(healthcheck.Next(k.history, healthcheck.Ended{Reason: healthcheck.Gone, Over: k.live == nil}, time.Now(), k.config.Jitter))
}

// lookAround looks for a Hermes that has the profile's bot, or has let go of
// it. It is called now and then.
func (k *keeper) lookAround() {
	held := k.history.State == healthcheck.Held && k.history.Reason == healthcheck.Duplicate && k.other == ""
	if k.ending || k.live == nil && !held {
		return
	}
	c, owner := k.start.Credentials, k.reading.Owner
	if held {
		c.Server, c.UserID = k.suspect.server, k.suspect.user
	}
	k.group.Go(func() {
		by, try := hermesHolder(k.work, owner, c.Server, c.UserID)
		k.tell(func() {
			switch {
			case by != "" && k.live != nil && !k.ending:
				k.unready(hermesHas(by, try))
			case by == "" && k.live == nil && held:
				k.decide(k.history.Freed(healthcheck.Duplicate, time.Now()))
			}
		})
	})
}

// adoptRenamed seals the envelope of a home that was renamed for its new name,
// and returns the home as it is then.
func (s *Supervisor) adoptRenamed(r profile.Reading, from string) profile.Reading {
	if err := s.sealFor(r, from); err != nil {
		s.config.Log.Warn("the envelope of a renamed home could not be sealed for its new name", "profile", r.Name, "err", err)
		return r // its envelope is another profile's, and says so
	}
	p, err := profile.Load(s.work, r.Name, r.Home, s.config.homes())
	return profile.Reading{Profile: p, Err: err}
}

// sealFor seals the envelope in a home, of the profile it was before, for the
// one it is.
func (s *Supervisor) sealFor(r profile.Reading, from string) error {
	keyring := s.config.Keys.Keyring()
	if keyring == nil {
		return &sealed.Error{Kind: sealed.ErrNoRecipients, Text: "there are no recipients to seal for", Try: "rcsupervisor init"}
	}
	dir, err := Tenant{Name: r.Name, Path: r.Home}.Folder()
	if err != nil {
		return err
	}
	defer dir.Close()
	entry, _ := s.registry.entry(r.Name)
	_, err = sealed.Store{Folder: Sealed(dir), Profile: r.Name}.Adopt(keyring, from, entry.Generation)
	return err
}

package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
)

// A socket can look alive and be neither: newer servers leave it open after
// its token is gone, and a one-way fault lets pings through and no messages.
// So every health.check the REST API is asked what changed, and who we are.

// checkTimeout bounds one question of a check.
const checkTimeout = time.Minute

// A checkup is one of the two questions. Each runs by itself: the second waits
// for a budget that all bots of a server share.
type checkup string

const (
	checkHearing checkup = "hearing"
	checkToken   checkup = "token"
)

// check asks both, beside the loop, unless they are being asked already. Runs on
// the loop.
func (l *life) check() {
	l.checks.Reset(l.start.Settings.Health.Check)
	if l.conn == nil || l.online.IsZero() {
		return
	}
	conn, health := l.conn, l.start.Settings.Health
	l.checkup(checkHearing, func() func() {
		end := l.proveHearing(health.Silence)
		return func() { l.condemn(conn, end) }
	})
	l.checkup(checkToken, func() func() {
		if l.link.Allow(l.ctx, Permit{Kind: PermitCheck}) != nil {
			return func() {}
		}
		me, end := l.proveToken()
		return func() {
			l.proved(me)
			l.condemn(conn, end)
		}
	})
}

// checkup runs ask beside the loop, once at a time, and what it returns on the
// loop.
func (l *life) checkup(which checkup, ask func() (then func())) {
	if l.checking[which] {
		return
	}
	l.checking[which] = true
	l.work.Go(l.guarded(func() {
		then := ask()
		l.tell(func() {
			delete(l.checking, which)
			then()
		})
	}))
}

// condemn ends a connection that a check found wanting.
func (l *life) condemn(conn *connection, end *ddp.End) {
	if end != nil && l.conn == conn {
		conn.cancel(end)
	}
}

// proved takes note of whom the token is good for.
func (l *life) proved(me *rest.Me) {
	if me == nil {
		return
	}
	l.checked = time.Now()
	if me.Username != "" && (me.Username != l.username || !sameRoles(me.Roles, l.roles)) {
		l.username, l.roles = me.Username, me.Roles
		l.rules.Store(newRules(&l.start, me.Username, me.Roles...))
	}
}

func sameRoles(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// proveToken asks who we are. An answer that says nothing of the token proves
// nothing, and ends nothing.
func (l *life) proveToken() (*rest.Me, *ddp.End) {
	ctx, cancel := context.WithTimeout(l.ctx, checkTimeout)
	defer cancel()
	client := l.client.Load()
	me, err := client.Me(ctx)
	switch {
	case err == nil && me.ID != l.userID:
		return nil, &ddp.End{Reason: healthcheck.Identity, Err: errors.New("the token belongs to another user than the sealed one")}
	case err == nil:
		return &me, nil
	case errors.Is(err, rest.ErrRefused):
		if refused, _ := client.Refusal(ctx); refused {
			return nil, &ddp.End{Reason: healthcheck.Refused, Err: errors.New("the server no longer takes the token")}
		}
	}
	l.log.Debug("the token could not be checked", "err", err)
	return nil, nil
}

// clockSlack is by how much the server's clock may be misread, and by how much
// a client may date a message ahead (sendMessage.ts keeps 10 s).
const clockSlack = 15 * time.Second

// proveHearing looks for a room whose newest message the socket should have
// brought and did not, from the moment on up to which all is known to be
// settled. What a room says of its newest message is not what a thread alone
// shows, so this finds deafness, not each message that was lost; those that
// older ones hide are counted, see [gaps].
func (l *life) proveHearing(silence time.Duration) *ddp.End {
	age := l.hears.age(time.Now())
	since, known := l.store.Cursor("")
	if age <= silence || !known || len(l.missing) > 0 { // what is being read proves itself
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, checkTimeout)
	defer cancel()
	asked := l.serverNow()
	updated, _, err := l.client.Load().Rooms(ctx, since)
	if err != nil {
		l.log.Debug("what changed could not be asked", "err", err)
		return nil
	}
	now := l.serverNow()
	missing := l.gaps.compare(updated, asked.Add(now.Sub(asked)/2), func(r chat.Room) bool { return l.rules.Load().listens(r.ID, r.Kind) })
	if len(missing) > 0 {
		l.log.Info("the socket brought less than rooms have got; they are read again", "rooms", missing)
	}
	proven := now.Add(-silence)
	doubt := false
	for _, r := range updated {
		switch {
		case r.Last == nil, !r.Last.Sent.After(since), r.Last.Sent.After(proven), l.hears.has(r.ID, r.Last.Sent.Time):
		case r.Last.Sent.After(now.Add(clockSlack - age)):
			return &ddp.End{Reason: healthcheck.Deaf, Err: fmt.Errorf("room %s has a message of %s ago that the socket did not bring",
				r.ID, now.Sub(r.Last.Sent.Time).Round(time.Second))}
		case l.rules.Load().listens(r.ID, r.Kind):
			doubt = true // from about when the connection came to be: it may have been just before
		}
	}
	switch {
	case doubt, len(missing) > 0, l.left.Load():
		l.intake.fallBehind()
	case proven.After(since):
		l.intake.mark(ctx, "", func() { l.provenUntil(proven) })
	}
	return nil
}

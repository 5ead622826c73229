package channel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/rest"
	"rcsupervisor/healthcheck"
)

// A socket can look alive and be neither: newer servers leave it open after
// its token is gone, and a one-way fault lets pings through and no messages.
// So every health.check the REST API is asked who we are, and what changed.

// checkTimeout bounds one check.
const checkTimeout = time.Minute

// check asks, beside the loop, unless a check runs already. Runs on the loop.
func (l *life) check() {
	if l.checking || l.conn == nil || l.online.IsZero() {
		return
	}
	l.checking = true
	conn, health := l.conn, l.start.Settings.Health
	l.work.Go(func() {
		if l.link.Allow(l.ctx, Permit{Kind: PermitCheck}) != nil {
			l.tell(func() { l.checking = false })
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, checkTimeout)
		defer cancel()
		l.learnVersion(ctx)
		me, end := l.proveToken(ctx)
		if end == nil && l.hears.age(time.Now()) > health.Silence {
			end = l.proveHearing(ctx, health.Check, health.Silence)
		}
		l.tell(func() { l.proved(conn, me, end) })
	})
}

// proved takes note of a check's outcome. Runs on the loop.
func (l *life) proved(conn *connection, me *rest.Me, end *ddp.End) {
	l.checking = false
	if me != nil {
		l.checked = time.Now()
		if me.Username != "" && me.Username != l.username {
			l.username = me.Username
			l.rules.Store(newRules(l.start, me.Username))
		}
	}
	if end != nil && l.conn == conn {
		conn.cancel(end)
	}
}

// learnVersion finds out once how old the server is.
func (l *life) learnVersion(ctx context.Context) {
	l.version.Do(func() {
		info, err := l.client.Load().Info(ctx)
		if err != nil {
			l.log.Debug("the server's version could not be asked", "err", err)
			return
		}
		major, _, _ := strings.Cut(info.Version, ".")
		n, err := strconv.Atoi(major)
		l.oldTyping.Store(err == nil && n < 4)
	})
}

// proveToken asks who we are. An answer that says nothing of the token proves
// nothing, and ends nothing.
func (l *life) proveToken(ctx context.Context) (*rest.Me, *ddp.End) {
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

// proveHearing looks for a room whose newest message the socket should have
// brought and did not.
func (l *life) proveHearing(ctx context.Context, every, silence time.Duration) *ddp.End {
	now := l.serverNow()
	since := now.Add(-every - silence - time.Minute)
	if began := l.hears.since(l.serverNow, time.Now()); began.After(since) {
		since = began
	}
	updated, _, err := l.client.Load().Rooms(ctx, since)
	if err != nil {
		l.log.Debug("what changed could not be asked", "err", err)
		return nil
	}
	for _, r := range updated {
		if r.Last == nil || !r.Last.Sent.After(since) || now.Sub(r.Last.Sent.Time) <= silence {
			continue
		}
		if !l.hears.has(r.ID, r.Last.Sent.Time) {
			return &ddp.End{Reason: healthcheck.Deaf, Err: fmt.Errorf("room %s has a message of %s ago that the socket did not bring",
				r.ID, now.Sub(r.Last.Sent.Time).Round(time.Second))}
		}
	}
	return nil
}

// hearing remembers, of the present connection, how new the newest message of
// each room is that it brought. Bounded.
type hearing struct {
	mu    sync.Mutex
	began time.Time
	rooms map[string]time.Time
}

const hearingRooms = 5000

func newHearing() *hearing { return &hearing{rooms: make(map[string]time.Time)} }

// begin forgets what an earlier connection brought.
func (h *hearing) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began = time.Now()
	clear(h.rooms)
}

func (h *hearing) heard(room string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.rooms[room]; !ok && len(h.rooms) >= hearingRooms {
		return
	}
	if sent.After(h.rooms[room]) {
		h.rooms[room] = sent
	}
}

// has reports whether a room's message of that time was brought, or a newer
// one. Of rooms beyond the bound nothing is known, and they accuse nobody.
func (h *hearing) has(room string, sent time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.rooms[room]
	if !ok {
		return len(h.rooms) >= hearingRooms
	}
	return !last.Before(sent)
}

// age is how long the present connection has been listening.
func (h *hearing) age(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.began)
}

// since is when it began, by the server's clock.
func (h *hearing) since(serverNow func() time.Time, now time.Time) time.Time {
	return serverNow().Add(-h.age(now))
}

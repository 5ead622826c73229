package pretend

import (
	"strings"
	"time"
)

// A window counts calls until its time is over, as Meteor's DDPRateLimiter and
// the REST limiter both do: it opens with the first call.
type window struct {
	opened time.Time
	calls  int
}

// A limiter is windows by key. Whoever has one guards it.
type limiter map[string]*window

// allow counts a call. Beyond limit it returns how long the window still lasts.
func (l limiter) allow(key string, limit int, span time.Duration, now time.Time) (left int, wait time.Duration, ok bool) {
	w := l[key]
	if w == nil || now.Sub(w.opened) >= span {
		w = &window{opened: now}
		l[key] = w
	}
	w.calls++
	wait = span - now.Sub(w.opened)
	if w.calls > limit {
		return 0, wait, false
	}
	return limit - w.calls, wait, true
}

// prune forgets windows that are over, once there are many.
func (l limiter) prune(span time.Duration, now time.Time) {
	if len(l) < 1000 {
		return
	}
	for k, w := range l {
		if now.Sub(w.opened) >= span {
			delete(l, k)
		}
	}
}

// allow counts a sub or a method call against the limits of the realtime API
// (app/lib/server/startup/rateLimiter): by connection and by user, in all and
// by name. Names that begin with stream- have four times as many in four times
// as long. The streamer has no limiter of its own. The server's lock is held.
func (c *session) allow(what, name string) (time.Duration, bool) {
	s := c.server
	if s.opts.NoLimits || s.v.streamer {
		return 0, true
	}
	factor := 1
	if strings.HasPrefix(name, "stream-") {
		factor = 4
	}
	now, ten := s.now(), 10*time.Second
	key := what + " " + name
	span := time.Duration(factor) * ten
	ok := true
	var wait time.Duration
	count := func(l limiter, key string, limit int, span time.Duration) {
		l.prune(time.Minute, now)
		if _, w, fine := l.allow(key, limit, span, now); !fine {
			ok, wait = false, max(wait, w)
		}
	}
	if name == "login" {
		count(c.limits, "login", 5, ten)
	}
	count(c.limits, "", 600, time.Minute)
	count(c.limits, key, 10*factor, span)
	if u := c.user.Load(); u != nil {
		l := s.userLimits[u.id]
		if l == nil {
			l = limiter{}
			s.userLimits[u.id] = l
		}
		count(l, "", 1200, time.Minute)
		count(l, key, 20*factor, span)
	}
	return wait, ok
}

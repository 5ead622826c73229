package rest

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How long a rate limit is believed. A server that names no time has usually
// the default window of a minute, most of which is over when the limit is met.
const (
	minWait     = time.Second
	maxWait     = 15 * time.Minute
	unknownWait = 10 * time.Second
)

var waitText = regexp.MustCompile(`must wait (\d{1,9}) seconds`)

// wait finds how long the server asks to wait: x-ratelimit-reset, else
// Retry-After, else the text, else the details of a method's limit. now is the
// server's clock, since a reset is a moment of it.
func wait(h http.Header, env envelope, now time.Time) time.Duration {
	for _, d := range []time.Duration{
		untilReset(h.Get("X-Ratelimit-Reset"), now),
		retryAfter(h.Get("Retry-After"), now),
		textWait(env.text()),
		seconds(env.Details.Reset / 1000),
	} {
		if d > 0 {
			return min(max(d, minWait), maxWait)
		}
	}
	return unknownWait
}

// untilReset reads x-ratelimit-reset. Rocket.Chat writes milliseconds since
// 1970; proxies in front of it write seconds since 1970, or seconds to go.
func untilReset(v string, now time.Time) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return 0
	case f >= 1e11:
		return seconds(f/1000 - float64(now.UnixMilli())/1000)
	case f >= 1e9:
		return seconds(f - float64(now.UnixMilli())/1000)
	}
	return seconds(f)
}

func retryAfter(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(f)
	}
	if t, err := http.ParseTime(v); err == nil {
		return t.Sub(now)
	}
	return 0
}

func textWait(text string) time.Duration {
	m := waitText.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // at most nine digits
	return time.Duration(n) * time.Second
}

// seconds is f as a duration of at most an hour; what isn't a positive number
// is none.
func seconds(f float64) time.Duration {
	if !(f > 0) {
		return 0
	}
	return time.Duration(min(f, 3600) * float64(time.Second))
}

// holds remembers which routes the server asked to leave alone. A limiter that
// is asked while it refuses costs the server as much as one that answers
// (RC#16851). Its size is that of the Route constants.
type holds struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (h *holds) hold(route string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil {
		h.until = map[string]time.Time{}
	}
	h.until[route] = time.Now().Add(d)
}

// check returns an error while the route is held.
func (h *holds) check(route string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[route]
	if !ok {
		return nil
	}
	left := time.Until(until)
	if left <= 0 {
		delete(h.until, route)
		return nil
	}
	return &Error{Route: route, Kind: ErrRateLimited, Retry: left, Held: true}
}

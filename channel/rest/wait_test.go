package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).UnixMilli(), 10) }
	const text = `Error, too many requests. Please slow down. You must wait 21 seconds before trying this endpoint again. [error-too-many-requests]`
	for _, c := range []struct {
		name              string
		reset, after, msg string
		details           float64
		want              time.Duration
	}{
		{"reset in milliseconds", in(21 * time.Second), "", "", 0, 21 * time.Second},
		{"reset in seconds", strconv.FormatInt(now.Unix()+40, 10), "", "", 0, 40 * time.Second},
		{"reset as seconds to go", "17", "", "", 0, 17 * time.Second},
		{"reset comes before the rest", in(5 * time.Second), "9", text, 7000, 5 * time.Second},
		{"reset in the past", in(-time.Minute), "", text, 0, 21 * time.Second},
		{"reset just now", in(0), "3", "", 0, 3 * time.Second},
		{"reset too soon", in(20 * time.Millisecond), "", "", 0, time.Second},
		{"reset tomorrow", in(26 * time.Hour), "", "", 0, 15 * time.Minute},
		{"reset in the year 5138", "99999999999999", "", "", 0, 15 * time.Minute},
		{"reset beyond numbers", "1e400", "", text, 0, 21 * time.Second},
		{"reset is no number", "NaN", "", text, 0, 21 * time.Second},
		{"reset is infinite", "+Inf", "", "", 0, unknownWait},
		{"reset is a word", "soon", "8", "", 0, 8 * time.Second},
		{"reset is negative", "-5", "", "", 0, unknownWait},
		{"Retry-After in seconds", "", "30", "", 0, 30 * time.Second},
		{"Retry-After as a date", "", now.Add(90 * time.Second).Format(http.TimeFormat), "", 0, 90 * time.Second},
		{"Retry-After in the past", "", now.Add(-time.Hour).Format(http.TimeFormat), text, 0, 21 * time.Second},
		{"the text", "", "", text, 0, 21 * time.Second},
		{"a text of other seconds", "", "", "too many requests, wait 21 seconds", 0, unknownWait},
		{"a text of too many seconds", "", "", "must wait 99999999999999999999 seconds", 0, unknownWait},
		{"SDK#119: timeToReset", "", "", "", 36811, 36811 * time.Millisecond},
		{"nothing", "", "", "", 0, unknownWait},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("X-RateLimit-Reset", c.reset)
			h.Set("Retry-After", c.after)
			var env envelope
			lenient(fmt.Appendf(nil, `{"error":%q,"details":{"timeToReset":%v}}`, c.msg, c.details), &env)
			if got := wait(h, env, now); got.Round(time.Millisecond) != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// limited answers 429 as 3.4 does, by the server's own clock.
func limited(ahead, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now().Add(ahead)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		w.Header().Set("X-RateLimit-Limit", "10")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(d).UnixMilli(), 10))
		say(w, 429, asJSON, `{"success":false,"error":"Error, too many requests. [error-too-many-requests]"}`)
	}
}

// R80, R82 (RC#24539, RC#15820, RC#16851): a route that was refused is left
// alone until its reset, others go on, and nothing is asked meanwhile.
func TestALimitedRouteIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c, b, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if r.URL.Path == "/api/v1/chat.react" && len(asked) == 1 {
				limited(0, 21*time.Second)(w, r)
				return
			}
			succeeds(w, r)
		}, nil)
		defer stop()
		e := mustBe(t, c.React(t.Context(), "m1", ":eyes:", true), ErrRateLimited)
		if e.Retry != 21*time.Second || e.Held || e.Status != 429 || e.Uncertain {
			t.Errorf("%v: retry %v held %v sent %v", e, e.Retry, e.Held, e.Uncertain)
		}
		time.Sleep(20 * time.Second)
		for range 5 {
			e := mustBe(t, c.React(t.Context(), "m1", ":eyes:", true), ErrRateLimited)
			if e.Retry != time.Second || !e.Held || e.Status != 0 || e.Uncertain {
				t.Errorf("%v: retry %v held %v sent %v", e, e.Retry, e.Held, e.Uncertain)
			}
		}
		if err := c.Update(t.Context(), "r", "m", "x"); err != nil {
			t.Errorf("another route: %v", err)
		}
		if b.count() != 2 {
			t.Errorf("asked %v", asked)
		}
		time.Sleep(time.Second)
		if err := c.React(t.Context(), "m1", ":eyes:", true); err != nil {
			t.Errorf("after the reset: %v", err)
		}
	})
}

// A reset is a moment of the server's clock. Ours may be an hour off.
func TestALimitIsByTheServersClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c, _, _, stop := bubble(t, limited(ahead, 40*time.Second), nil)
			defer stop()
			e := mustBe(t, c.React(t.Context(), "m1", ":eyes:", true), ErrRateLimited)
			if e.Retry != 40*time.Second {
				t.Errorf("a clock %v ahead: wait %v", ahead, e.Retry)
			}
		})
	}
}

// A confirmation that can't be asked for is no refusal.
func TestRefusalWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b, _, stop := bubble(t, inTurn(limited(0, time.Minute),
			says(401, asJSON, `{"success":false,"error":"You must be logged in to do this."}`)), nil)
		defer stop()
		for range 3 {
			refused, err := c.Refusal(t.Context())
			if refused {
				t.Error("refused")
			}
			mustBe(t, err, ErrRateLimited)
		}
		if b.count() != 1 {
			t.Errorf("asked %d times", b.count())
		}
		time.Sleep(time.Minute)
		if refused, err := c.Refusal(t.Context()); !refused || err != nil {
			t.Errorf("%v, %v", refused, err)
		}
	})
}

func TestClockOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead, takes time.Duration
		var header string
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(takes / 2)
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			if header != "" {
				w.Header().Set(header, "60")
			}
			time.Sleep(takes / 2)
			meOK(w, r)
		}, nil)
		defer stop()
		ask := func(a, took time.Duration) time.Duration {
			t.Helper()
			ahead, takes = a, took
			if _, err := c.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			offset, known := c.ClockOffset()
			if !known {
				t.Error("not known")
			}
			return offset
		}
		near := func(got, want, by time.Duration) {
			t.Helper()
			if d := got - want; d < -by || d > by {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if _, known := c.ClockOffset(); known {
			t.Error("known before any answer")
		}
		near(ask(5*time.Minute, 20*time.Second), 5*time.Minute, 11*time.Second) // better than nothing
		near(ask(5*time.Minute, 0), 5*time.Minute, time.Second)
		near(ask(time.Hour, 20*time.Second), 5*time.Minute, time.Second) // too slow to say more
		near(ask(-3*time.Minute, time.Second), -3*time.Minute, time.Second)
		header = "Age" // out of a cache
		near(ask(time.Hour, 0), -3*time.Minute, time.Second)
	})
}

func TestADateThatIsNoneSaysNothing(t *testing.T) {
	b := secure(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "yesterday")
		meOK(w, r)
	})
	c := b.client(t, nil)
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, known := c.ClockOffset(); known {
		t.Error("known")
	}
}

// The clock of a proxy's error page isn't the server's.
func TestAPageSaysNothingOfTheClock(t *testing.T) {
	b := secure(t, says(200, "text/html", webPage))
	c := b.client(t, nil)
	c.Me(t.Context())
	if _, known := c.ClockOffset(); known {
		t.Error("known")
	}
}

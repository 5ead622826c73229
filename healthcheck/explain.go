package healthcheck

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Facts are the names that sentences about a profile use. Those that are ""
// are spoken of without a name.
type Facts struct {
	Profile string
	Other   string // the profile that holds the bot, unless the reader may not know it
	Server  string // as sealed
	Home    string
	Mend    string // a command that mends what was found better than its reason's own, or ""
}

// An Advice is what a person is told of a profile. What, Why and Next are
// sentences, Title and When are not; Action is a command, or "" when nothing
// needs to be done.
type Advice struct {
	Title  string // why, in a few words for a list; "" for no reason
	What   string
	Why    string
	Next   string
	When   string
	Action string
}

// Explain says of a profile what it is, why, what comes next and when, and
// which command mends it. There is an answer for every state and reason.
func Explain(h History, f Facts, now time.Time) Advice {
	h = h.Settled(now)
	c := h.course(f)
	said := sayings[h.Reason]
	when := c.when
	if h.Plan == Await && c.server != "" {
		when = c.server
	}
	fill := fillNames(f, "in {in}", h.in(now))
	a := Advice{
		Title:  said.title,
		What:   fill.Replace(c.what),
		Why:    fill.Replace(cmp.Or(c.why, said.why)),
		Next:   fill.Replace(c.next),
		When:   fill.Replace(when),
		Action: fill.Replace(c.action),
	}
	switch {
	case h.State == Starting || h.State == Connecting || h.State == Online:
		if h.Reason != "" {
			a.Why = "Before that: " + a.Why
		}
	case h.Reason == Refused && h.Plan == Await:
		a.Why = fill.Replace("{server} refused the tokens of several profiles within a minute.")
	}
	if h.Error != "" {
		a.Why += " (" + h.Error + ")"
	}
	return a
}

// course is that of h's state and reason.
func (h History) course(f Facts) course {
	c := courses[cmp.Or(h.State, Off)]
	x := exceptions[pair{cmp.Or(h.State, Off), h.Reason}]
	c = course{
		what:   cmp.Or(x.what, c.what),
		why:    x.why,
		next:   cmp.Or(x.next, c.next),
		when:   cmp.Or(x.when, c.when),
		server: x.server,
		action: cmp.Or(x.action, c.action),
	}
	switch {
	case c.action != "" && f.Mend != "":
		c.action = f.Mend
	case h.Reason == Duplicate && h.State == Held && f.Other == "":
		c.action = alone
	case h.Flapping && (h.State == Backoff || h.State == Starting || h.State == Connecting):
		c.what, c.action = flapping.what, flapping.action
	}
	return c
}

// fillNames fills in the words in braces that are names.
func fillNames(f Facts, more ...string) *strings.Replacer {
	return strings.NewReplacer(append(
		more,
		"{profile}", cmp.Or(f.Profile, "NAME"),
		"{other}", cmp.Or(f.Other, "another profile on this host"),
		"{server}", cmp.Or(f.Server, "its server"),
		"{url}", argument(cmp.Or(f.Server, "URL")),
		"{home}", cmp.Or(oneLine(f.Home), "its home"),
		"{dir}", argument(cmp.Or(oneLine(f.Home), "DIR")),
	)...)
}

// argument is s as one word of a shell's command line.
func argument(s string) string {
	const safe = "/._-:@%+,=~"
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(safe, r)
	}
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// in is when the plan is due, in words.
func (h History) in(now time.Time) string {
	if h.RetryAt.IsZero() {
		return "at once"
	}
	left := h.left(now)
	if left <= 0 {
		return "now"
	}
	return "in " + Span(left)
}

// Span is d for people, in whole seconds, minutes or hours, rounded up: what is
// promised is never early.
func Span(d time.Duration) string {
	unit := time.Second
	if d > time.Hour {
		unit = time.Minute
	}
	d = max(d, 0)
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	n *= int64(unit / time.Second)
	h, m, s := n/3600, n/60%60, n%60
	var parts []string
	add := func(n int64, unit string) {
		if n > 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
		}
	}
	add(h, "h")
	add(m, "min")
	add(s, "s")
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
)

// The columns of the table of profiles that have a width of their own, each
// with the two spaces after it: the state, and two ages.
const (
	stateWide = 12
	ageWide   = 5
	between   = 2
)

// nameWide is how many columns names have: enough for the longest, unless the
// reason would have no room then.
func nameWide(ps []supervisor.ProfileStatus, wide int) int {
	long := len("NAME")
	for _, p := range ps {
		long = max(long, cells(p.Name))
	}
	return min(long, max(16, wide-52))
}

// printStatus prints the table of all profiles.
func printStatus(s streams, st supervisor.Status) {
	if len(st.Profiles) > 0 {
		printRows(s, st.Profiles)
	} else if st.Supervisor == nil || len(st.Supervisor.Unnamed) == 0 {
		s.word("there is no profile; the first: rcsupervisor add NAME --server URL")
	}
	if st.Supervisor == nil {
		return
	}
	for _, u := range st.Supervisor.Unnamed {
		fmt.Fprintf(s.err, "rcsupervisor: unnamed: %s %s\n", printable(u.Home), printable(u.Text))
	}
	for _, text := range st.Supervisor.Problems {
		fmt.Fprintf(s.err, "rcsupervisor: %s\n", printable(text))
	}
	if st.Supervisor.Inotify != "ok" {
		fmt.Fprintln(s.err, "rcsupervisor: files are watched by polling")
	}
	if st.Supervisor.Debug {
		fmt.Fprintln(s.err, "rcsupervisor: debug is on: logs may hold what people wrote")
	}
}

func printRows(s streams, ps []supervisor.ProfileStatus) {
	now, wide := time.Now(), widthOf(s.out)
	long := nameWide(ps, wide)
	rest := wide - long - stateWide - 2*ageWide - 4*between
	row := func(name, state, since, frame, why string) {
		line := pad(name, long+between) + state + pad(since, ageWide+between) + pad(frame, ageWide+between) + cut(why, rest)
		fmt.Fprintln(s.out, strings.TrimRight(line, " "))
	}
	row("NAME", pad("STATE", stateWide+between), "SINCE", "FRAME", "WHY")
	for _, p := range ps {
		row(cutMiddle(p.Name, long), paintedState(s, p.State), age(p.Since, now), frameAge(p), why(p, now))
	}
}

// paintedState is a state as wide as its column, on a terminal in the colour of
// what it asks of people.
func paintedState(s streams, state healthcheck.State) string {
	text := pad(string(state), stateWide+between)
	switch {
	case state == healthcheck.Online:
		return painted(s.out, green, text)
	case waitsForPeople(state):
		return painted(s.out, red, text)
	case state == healthcheck.Off:
		return text
	}
	return painted(s.out, yellow, text)
}

// why is the last column: why a profile is where it is, and what is wrong.
func why(p supervisor.ProfileStatus, now time.Time) string {
	var parts []string
	quiet := p.State == healthcheck.Online || p.State == healthcheck.Connecting || p.State == healthcheck.Starting
	switch {
	case p.Reason == nil:
	case !quiet:
		parts = append(parts, *p.Reason)
	case *p.Reason != string(healthcheck.Operator) && *p.Reason != string(healthcheck.Reload):
		parts = append(parts, "after "+*p.Reason)
	}
	if p.RetryAt != nil && !quiet && p.RetryAt.After(now) {
		parts = append(parts, "again in "+healthcheck.Span(p.RetryAt.Sub(now)))
	}
	if p.Flapping {
		parts = append(parts, "flapping")
	}
	if p.CatchingUp {
		parts = append(parts, "catching up")
	}
	if p.Error != nil {
		parts = append(parts, printable(withoutHome(firstLine(*p.Error), p)))
	}
	if n := len(p.Pending); n > 0 {
		parts = append(parts, fmt.Sprintf("%d to accept", n))
	}
	for _, w := range p.Warnings {
		if w.Code != "pending" {
			parts = append(parts, "!"+w.Code)
		}
	}
	if p.Restarts > 0 {
		parts = append(parts, restarts(p.Restarts))
	}
	return strings.Join(parts, "; ")
}

// withoutHome leaves out of a sentence where a profile's files are, of which
// there is no room for more than the name.
func withoutHome(text string, p supervisor.ProfileStatus) string {
	if p.Home == nil {
		return text
	}
	text = strings.ReplaceAll(text, filepath.Join(*p.Home, profile.Folder)+"/", "")
	return strings.TrimPrefix(text, *p.Home+": ")
}

func restarts(n uint64) string {
	if n == 1 {
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", n)
}

// explain prints all there is to say of one profile.
func explain(s streams, e supervisor.Explained) {
	p := e.Profile
	fmt.Fprintln(s.out, printable(e.What))
	row := func(title string, text *string) {
		if text != nil {
			wrapped(s, title, printable(*text))
		}
	}
	row("why", e.Why)
	next := ""
	if e.Next != nil {
		next = *e.Next
		if e.When != nil {
			next = strings.TrimSuffix(next, ".") + " " + *e.When + "."
		}
		row("next", &next)
	}
	row("home", p.Home)
	if p.Server != nil && p.UserID != nil {
		bot := *p.UserID + " on " + *p.Server
		if p.Username != nil {
			bot = "@" + *p.Username + ", " + bot
		}
		row("bot", &bot)
	}
	if p.Since != nil {
		since := age(p.Since, time.Now())
		row("since", &since)
	}
	if p.Agent.Kind != nil {
		agent := *p.Agent.Kind
		if p.Agent.State != nil {
			agent += ", " + *p.Agent.State
		}
		if p.Agent.Error != nil {
			agent += ": " + *p.Agent.Error
		}
		row("agent", &agent)
	}
	for _, text := range p.Pending {
		row("accept", &text)
	}
	for _, w := range p.Warnings {
		text := w.Code + ": " + w.Text
		row("warning", &text)
	}
	if e.Action != nil {
		fmt.Fprintf(s.out, "try: %s\n", printable(*e.Action))
	}
}

// wrapped prints a title and a text beside it, within the width.
func wrapped(s streams, title, text string) {
	const indent = 9
	line, most := fmt.Sprintf("  %-*s", indent-2, title), min(width, widthOf(s.out))
	for word := range strings.FieldsSeq(text) {
		if cells(line)+1+cells(word) > most && strings.TrimSpace(line) != "" && len(line) > indent {
			fmt.Fprintln(s.out, line)
			line = strings.Repeat(" ", indent)
		}
		line += " " + word
	}
	fmt.Fprintln(s.out, line)
}

// age is how long ago something was, in a few characters.
func age(t *time.Time, now time.Time) string {
	if t == nil {
		return "-"
	}
	return brief(max(0, now.Sub(*t)))
}

func frameAge(p supervisor.ProfileStatus) string {
	if p.LastFrameAge == nil {
		return "-"
	}
	return brief(time.Duration(*p.LastFrameAge * float64(time.Second)))
}

func brief(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

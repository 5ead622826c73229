package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
)

// width is that of everything printed for people.
const width = 80

// printStatus prints the table of all profiles.
func printStatus(s streams, st supervisor.Status) {
	now := time.Now()
	long := len("NAME")
	for _, p := range st.Profiles {
		long = max(long, len(p.Name))
	}
	long = min(long, 28)
	format := fmt.Sprintf("%%-%ds  %%-12s  %%-5s  %%-5s  %%s\n", long)
	rest := width - long - 12 - 5 - 5 - 4*2
	fmt.Fprintf(s.out, format, "NAME", "STATE", "SINCE", "FRAME", "WHY")
	for _, p := range st.Profiles {
		line := fmt.Sprintf(format, cut(p.Name, long), p.State, age(p.Since, now), frameAge(p), cut(why(p, now), rest))
		fmt.Fprintln(s.out, strings.TrimRight(line, " \n"))
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

// why is the last column: why a profile is where it is, and what is wrong.
func why(p supervisor.ProfileStatus, now time.Time) string {
	var parts []string
	quiet := p.State == healthcheck.Online || p.State == healthcheck.Connecting || p.State == healthcheck.Starting
	if p.Reason != nil && !quiet {
		parts = append(parts, *p.Reason)
	}
	if p.RetryAt != nil && !quiet {
		parts = append(parts, "again in "+healthcheck.Span(max(0, p.RetryAt.Sub(now))))
	}
	if p.Flapping {
		parts = append(parts, "flapping")
	}
	if p.CatchingUp {
		parts = append(parts, "catching up")
	}
	if p.Error != nil {
		parts = append(parts, printable(firstLine(*p.Error)))
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
	since := age(p.Since, time.Now())
	row("since", &since)
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
	line := fmt.Sprintf("  %-*s", indent-2, title)
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width && strings.TrimSpace(line) != "" && len(line) > indent {
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

// cut is s in at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(0, n-1)]) + "…"
}

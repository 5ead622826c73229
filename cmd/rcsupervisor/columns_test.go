package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/control"
	"rcsupervisor/internal/supervisor"
)

// Columns are counted as a terminal does: a character of Chinese or an emoji
// has two, and what is one character to people isn't torn.
func TestCutting(t *testing.T) {
	for _, c := range []struct {
		text        string
		n           int
		cut, middle string
	}{
		{"", 5, "", ""},
		{"alice", 5, "alice", "alice"},
		{"alice-b", 5, "alic…", "al…-b"},
		{"支払い", 6, "支払い", "支払い"},
		{"支払い", 5, "支払…", "支…い"},
		{"支払い", 4, "支…", "支…"},
		{"a👍b", 4, "a👍b", "a👍b"},
		{"a👍🏽b", 6, "a👍🏽b", "a👍🏽b"},
		{"a👍🏽b", 5, "a…", "a…b"},
		{"ab👍cd", 4, "ab…", "ab…d"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "e\u0301…"},
		{"alice", 1, "…", "…"},
		{"alice", 0, "…", "…"},
	} {
		if got := cut(c.text, c.n); got != c.cut {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.n, got, c.cut)
		}
		if got := cutMiddle(c.text, c.n); got != c.middle {
			t.Errorf("cutMiddle(%q, %d) = %q, want %q", c.text, c.n, got, c.middle)
		}
	}
}

// Whatever is cut fits, and is whole characters.
func FuzzCut(f *testing.F) {
	f.Add("alice 支払い 👩‍👩‍👧‍👦", 7)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(max(n, 1), 300)
		s = strings.ToValidUTF8(s, "?")
		for _, got := range []string{cut(s, n), cutMiddle(s, n)} {
			if cells(got) > n || !utf8.ValidString(got) {
				t.Errorf("%q in %d columns is %q, which has %d", s, n, got, cells(got))
			}
		}
	})
}

// someProfiles are profiles with the longest of names, and sentences in other
// scripts.
func someProfiles() []supervisor.ProfileStatus {
	text := func(s string) *string { return &s }
	again := time.Now().Add(90 * time.Second)
	return []supervisor.ProfileStatus{
		{Name: "a", State: healthcheck.Online, Reason: text("operator")},
		{Name: strings.Repeat("x", 63) + "1", State: healthcheck.Online, Reason: text("silent"), Restarts: 3},
		{Name: strings.Repeat("x", 63) + "2", State: healthcheck.Held, Reason: text("suspended"), Error: text("unpaid 支払い since 五月 👍🏽 and \x1b[31m more")},
		{Name: "b", State: healthcheck.NeedsConfig, Home: text("/home/b/.hermes"), Error: text("/home/b/.hermes/rocketchat/channel.yaml:1: reply: must be same")},
		{Name: "c", State: healthcheck.NeedsConfig, Home: text("/home/b/.hermes"), Error: text("/home/b/.hermes: others may write to it")},
		{Name: "d", State: healthcheck.Backoff, Reason: text("crashed"), RetryAt: &again, Flapping: true, Warnings: []healthcheck.Warning{{Code: "clock"}}},
	}
}

// The table fits into 80 columns, tells long names apart, and says what is
// wrong rather than where.
func TestTheTableOfProfiles(t *testing.T) {
	var out, err strings.Builder
	printStatus(streams{nil, &out, &err}, supervisor.Status{Profiles: someProfiles()})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 7 || err.String() != "" {
		t.Fatalf("%q %q", lines, err.String())
	}
	for _, line := range lines {
		if cells(line) > width || strings.Contains(line, "\x1b") || strings.HasSuffix(line, " ") {
			t.Errorf("%q has %d columns", line, cells(line))
		}
	}
	if !strings.Contains(lines[2], "xx1  online") || !strings.Contains(lines[3], "xx2  held ") {
		t.Errorf("long names are cut alike:\n%s", out.String())
	}
	for i, want := range map[int]string{
		1: "online        -      -", 2: "after silent; 3 resta…", 4: "channel.yaml:1: reply", 5: "others may write to it", 6: "crashed; again in 1 m",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q does not say %q", lines[i], want)
		}
	}
	out.Reset()
	printStatus(streams{nil, &out, &err}, supervisor.Status{})
	if out.String() != "" || !strings.Contains(err.String(), "rcsupervisor add NAME --server URL") {
		t.Errorf("no profile: %q %q", out.String(), err.String())
	}
}

// Watching prints the table, and then a line for what changed and for nothing
// else, within the same columns.
func TestWatching(t *testing.T) {
	var out strings.Builder
	w := &watching{s: streams{nil, &out, &out}, shown: make(map[string]string)}
	now := time.Date(2026, 5, 1, 12, 30, 15, 0, time.Local)
	ps := someProfiles()
	w.update(control.Update{Snapshot: &supervisor.Status{Profiles: ps}}, now)
	out.Reset()
	for _, p := range ps {
		later := now.Add(time.Minute)
		if p.RetryAt != nil {
			p.RetryAt = &later // time goes by
		}
		w.update(control.Update{Profile: &p}, now)
	}
	if out.String() != "" {
		t.Errorf("nothing changed, and it says %q", out.String())
	}
	p := ps[1]
	p.State, p.Error = healthcheck.Backoff, ps[2].Error
	w.update(control.Update{Profile: &p}, now)
	w.update(control.Update{Profile: &p}, now)
	w.update(control.Update{Gone: "b"}, now)
	w.update(control.Update{Supervisor: &supervisor.SupervisorStatus{}}, now)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "12:30:15  xxx") || !strings.Contains(lines[0], "backoff  ") || cells(lines[0]) > width {
		t.Errorf("%q", lines)
	}
	if want := "12:30:15  b" + strings.Repeat(" ", 27) + "  gone"; lines[len(lines)-1] != want {
		t.Errorf("%q, want %q", lines[len(lines)-1], want)
	}
}

// A table of people keeps within the width, whatever they call themselves.
func TestATableOfPeople(t *testing.T) {
	var out strings.Builder
	table(&out, []string{"ROLE", "ID", "NAME"}, [][]string{
		{"owner", "rbAXPnMktTFbNpwtJ", strings.Repeat("支", 64)},
		{"member", "r", ""},
	})
	want := "ROLE    ID                 NAME\nowner   rbAXPnMktTFbNpwtJ  " + strings.Repeat("支", 26) + "…\nmember  r\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

// Of two hundred that fail a screen's worth is named.
func TestFew(t *testing.T) {
	lines := make([]string, 200)
	for i := range lines {
		lines[i] = "b is online"
	}
	if got := few(lines); len(got) != 12 || got[11] != "and 189 more" {
		t.Errorf("%q", got)
	}
	if got := few(lines[:12]); len(got) != 12 || got[11] != lines[11] {
		t.Errorf("%q", got)
	}
}

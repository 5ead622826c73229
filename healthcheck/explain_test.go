package healthcheck

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// alice is who the sentences are about.
var alice = Facts{Profile: "alice", Other: "bob", Server: "https://chat.example.org", Home: "/srv/hermes/alice"}

// situations are a History of every pair that is possible, those that wait for
// their server in both ways, and those that flap.
func situations() []History {
	var all []History
	for _, s := range States() {
		for _, r := range append([]Reason{""}, Reasons()...) {
			if !Possible(s, r) {
				continue
			}
			h := History{State: s, Reason: r, Since: day}
			switch {
			case s == Backoff && r == Unreachable, s == Backoff && r == Refused:
				a := h
				a.Plan = Await
				if r == Refused {
					_, a = a.plan(Await, 12*time.Minute, day)
				}
				all = append(all, a)
				fallthrough
			case s == Backoff:
				_, h = h.plan(Dial, 12*time.Second, day)
			case s == NeedsToken && r == Refused:
				_, h = h.plan(Probe, 2*time.Minute, day)
			}
			all = append(all, h)
		}
	}
	_, flaps := History{State: Backoff, Reason: Closed, Flapping: true, Error: "close 1006", Since: day}.plan(Dial, FlapPause, day)
	return append(all, flaps)
}

// Everything a person can read about a state, in one file: a changed sentence
// is a changed line.
func TestSentences(t *testing.T) {
	var b strings.Builder
	for _, h := range situations() {
		a := Explain(h, alice, day)
		fmt.Fprintf(&b, "%s / %s", h.State, h.Reason)
		if h.Plan == Await {
			b.WriteString(" / await")
		}
		if h.Flapping {
			b.WriteString(" / flapping")
		}
		fmt.Fprintf(&b, "\n\ttitle   %s\n\twhat    %s\n\twhy     %s\n\tnext    %s\n\twhen    %s\n\taction  %s\n",
			a.Title, a.What, a.Why, a.Next, a.When, a.Action)
	}
	for _, w := range Warnables() {
		fmt.Fprintf(&b, "warning %s\n\ttitle   %s\n\ttext    %s\n\taction  %s\n\tweight  %d, after %v\n",
			w.Code, w.Title, Warn(w.Code, alice, "").Text, w.Action(alice), w.Severity, w.Lasting)
	}
	golden(t, "sentences.golden", regexp.MustCompile(` +\n`).ReplaceAllString(b.String(), "\n"))
}

// Every state and every reason has its words, also together where that can't
// be; whoever needs a person names a command, and no brace is left over.
func TestExplainIsTotal(t *testing.T) {
	for _, s := range append([]State{""}, States()...) {
		for _, r := range append([]Reason{"", "unheard-of"}, Reasons()...) {
			for _, f := range []Facts{alice, {}} {
				for _, flaps := range []bool{false, true} {
					h := History{State: s, Reason: r, Flapping: flaps, Plan: Await}
					a := Explain(h, f, day)
					if a.What == "" || a.Next == "" || a.When == "" || (a.Why == "" && r != "unheard-of") {
						t.Errorf("%s/%s: %+v", s, r, a)
					}
					all := a.Title + a.What + a.Why + a.Next + a.When + a.Action
					if strings.ContainsAny(all, "{}") || strings.Contains(all, "  ") {
						t.Errorf("%s/%s: %q", s, r, all)
					}
					switch s {
					case Off, Backoff, NeedsToken, NeedsConfig, Held, "":
						if !strings.HasPrefix(a.Action, "rcsupervisor ") {
							t.Errorf("%s/%s: no command mends it: %q", s, r, a.Action)
						}
					}
					for _, sentence := range []string{a.What, a.Next} {
						if !strings.HasSuffix(sentence, ".") {
							t.Errorf("%s/%s: %q is no sentence", s, r, sentence)
						}
					}
				}
			}
		}
	}
}

// Commands are of the verbs there are.
func TestActionsAreVerbs(t *testing.T) {
	verbs := map[string]bool{}
	for v := range strings.FieldsSeq("init add run start stop restart suspend resume status wait logs plan reload check people rooms accept adopt secret import reseal remove doctor") {
		verbs[v] = true
	}
	check := func(action string) {
		t.Helper()
		if action == "" {
			return
		}
		if f := strings.Fields(action); len(f) < 2 || f[0] != "rcsupervisor" || !verbs[f[1]] {
			t.Errorf("%q is no command", action)
		}
	}
	for _, h := range situations() {
		check(Explain(h, alice, day).Action)
		check(Explain(h, Facts{}, day).Action)
	}
	for _, w := range Warnables() {
		check(w.Action(alice))
	}
}

func TestExplain(t *testing.T) {
	// The reader may not know whose bot it is.
	dup := held(Duplicate)
	a := Explain(dup, Facts{Profile: "alice"}, day)
	if a.Why != "This bot is in use by another profile on this host." || a.Action != "rcsupervisor doctor" {
		t.Errorf("%+v", a)
	}
	if a = Explain(dup, alice, day); a.Action != "rcsupervisor stop bob" {
		t.Errorf("%+v", a)
	}

	// Whoever found it may know better what mends it; what runs needs nothing.
	f := Facts{Profile: "alice", Mend: "rcsupervisor import alice --scrub"}
	if a = Explain(held(BadConfig), f, day); a.Action != f.Mend {
		t.Errorf("%+v", a)
	}
	if a = Explain(online(day), f, day); a.Action != "" {
		t.Errorf("%+v", a)
	}

	_, h := Next(online(day), Ended{Reason: RateLimited, Limit: 3 * time.Minute, Detail: "login: too-many-requests"}, day, flat)
	for after, want := range map[time.Duration]string{
		0: "in 3 min", time.Second: "in 2 min 59 s", time.Minute: "in 2 min", 200 * time.Second: "now", -time.Hour: "in 3 min",
	} {
		if a := Explain(h, alice, day.Add(after)); a.When != want {
			t.Errorf("after %v: %q, want %q", after, a.When, want)
		}
	}
	if a = Explain(h, alice, day); !strings.HasSuffix(a.Why, "(login: too-many-requests)") {
		t.Errorf("%q", a.Why)
	}

	// What is over is not said any more.
	o := online(day)
	o.Flapping = true
	if a := Explain(o, alice, day.Add(time.Second)); a.Action != "" {
		t.Errorf("online and flapping: %+v", a)
	}

	// A name can't put words into a command or onto the terminal.
	f = Facts{Profile: "alice", Home: "/srv/a'; rm -rf ~ #\x1b[31m", Server: "http://[::1]:3000/a b"}
	if a := Explain(held(NameTaken), f, day); a.Action != `rcsupervisor run --home NAME='/srv/a'\''; rm -rf ~ # [31m'` {
		t.Errorf("%s", a.Action)
	}
	if a := Explain(held(Unsealed), f, day); a.Action != `rcsupervisor add alice --server 'http://[::1]:3000/a b'` {
		t.Errorf("%s", a.Action)
	}
	for _, h := range situations() {
		a := Explain(h, f, day)
		if strings.Contains(fmt.Sprint(a), "\x1b") {
			t.Errorf("%+v", a)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 1: "1 s", time.Second: "1 s", time.Second + 1: "2 s",
		12 * time.Second: "12 s", 59*time.Second + 1: "1 min", time.Minute: "1 min", 90 * time.Second: "1 min 30 s",
		15 * time.Minute: "15 min", time.Hour: "1 h", time.Hour + 1: "1 h 1 min", 26*time.Hour + 5*time.Minute: "26 h 5 min",
		1<<63 - 1: "2562047 h 48 min",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/gate"
)

// TestNumbers is a model: whatever happens, a number is given again only 24
// hours after the request that had it closed, and two digits come first.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(rapid.IntRange(-5, 500).Draw(t, "start"))
		now := at(0)
		busy := map[string]time.Time{} // number → when it was free last; zero while open
		var isOpen []string
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			now.Ours = now.Ours.Add(time.Minute)
			now.Server = now.Server.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "pause"))
			if len(isOpen) > 0 && rapid.Bool().Draw(t, "close") {
				b.Close(isOpen[0], Withdrawn, now)
				for _, c := range choicesOf(b, isOpen[0]) {
					busy[c.Number] = now.Server
				}
				isOpen = isOpen[1:]
				continue
			}
			a := ask(fmt.Sprint("q", step))
			a.Room, a.Expires = fmt.Sprint("r", step), now.Ours.Add(time.Hour)
			a.Asked.Options = nil
			for i := range rapid.IntRange(1, 9).Draw(t, "choices") {
				a.Asked.Options = append(a.Asked.Options, agent.Option{ID: fmt.Sprint(i), Name: fmt.Sprint("choice ", i)})
			}
			b.Ask(a, now)
			b.Shown(a.Name(), now.Server)
			twoDigits := 0
			for n := firstNumber; n < threeDigits; n++ {
				if free, known := busy[fmt.Sprint(n)]; !known || !free.IsZero() && now.Server.Sub(free) >= memory {
					twoDigits++
				}
			}
			given := choicesOf(b, a.Name())
			for _, c := range given {
				free, known := busy[c.Number]
				if known && (free.IsZero() || now.Server.Sub(free) < memory) {
					t.Fatalf("%s is given again after %v", c.Number, now.Server.Sub(free))
				}
				if len(c.Number) != 2 && len(given) <= twoDigits || len(c.Number) > 3 || c.Number[0] == '0' {
					t.Fatalf("%s is given while %d of two digits are free for %d", c.Number, twoDigits, len(given))
				}
				busy[c.Number] = time.Time{}
			}
			isOpen = append(isOpen, a.Name())
		}
	})
}

func choicesOf(b *Book, name string) []gate.Choice {
	for _, r := range b.Requests() {
		if r.ID == name {
			return r.Choices
		}
	}
	return nil
}

func TestOffered(t *testing.T) {
	o := func(id, name, kind string) agent.Option { return agent.Option{ID: id, Name: name, Kind: kind} }
	for _, c := range []struct {
		what    string
		plain   bool
		options []agent.Option
		want    string // option=word of each
	}{
		{"the usual", false, usual, "once=yes deny=no"},
		{"Hermes", false, []agent.Option{
			o("allow_once", "Allow once", "allow_once"), o("allow_session", "Allow for session", "allow_always"),
			o("allow_always", "Allow always", "allow_always"), o("deny", "Deny", "reject_once"), o("deny_always", "Deny always", "reject_always"),
		}, "allow_once=yes deny=no"},
		{"a kind that says less than the name", false, []agent.Option{
			o("a", "Yes, and don't ask again", "allow_once"), o("b", "Allow for this session", "allow_once"), o("c", "Allow all edits", ""),
			o("proceed_always", "Yes", "allow_once"), o("d", "Yes", "allow_once"), o("e", "No, never ask me again", "reject_once"),
		}, "d=yes e=no"},
		{"two ways to allow", false, []agent.Option{o("a", "As it is", "allow_once"), o("b", "In a sandbox", "allow_once"), o("c", "No", "reject_once")}, "a= b= c=no"},
		{"no way to refuse", false, []agent.Option{o("a", "Yes", "allow_once")}, "a=yes =no"},
		{"unknown kinds", false, []agent.Option{o("a", "Go", "launch")}, "a=yes =no"},
		{"refusing for ever alone", false, []agent.Option{o("a", "Yes", "allow_once"), o("b", "Never", "reject_always")}, "a=yes =no"},
		{"a question", true, []agent.Option{o("choice-0", "Always red", "allow_once"), o("choice-1", "Blue", "allow_once"), o("skip", "Skip", "reject_once")}, "choice-0= choice-1= skip="},
		{"a question of yes and no", true, []agent.Option{o("0", "Yes", ""), o("1", " no", ""), o("skip", "Skip", "reject_once")}, "0=yes 1=no skip="},
		{"twice yes", true, []agent.Option{o("0", "Yes", ""), o("1", "yes", "")}, "0= 1="},
	} {
		var got []string
		for _, c := range offer(agent.Asked{Plain: c.plain, Options: c.options}) {
			got = append(got, c.option+"="+c.word)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.what, strings.Join(got, " "), c.want)
		}
	}
}

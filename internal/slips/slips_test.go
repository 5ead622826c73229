package slips

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	verbs := []string{"start", "stop", "status", "restart", "add", "accept", "let-in", "catch_up"}
	for in, want := range map[string]string{
		"start": "start", "strat": "start", "sttus": "status", "Stop": "stop", "stp": "stop",
		"restrat": "restart", "ad": "add", "adx": "add", "a": "", "xx": "", "letin": "let-in", "let_in": "let-in",
		"catch-up": "catch_up", "accpet": "accept", "exept": "", "banana": "", "": "",
		strings.Repeat("s", 1000): "",
	} {
		if got := Nearest(in, verbs); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// A distance is one: nothing from a word to itself, the same in both
// directions, and never more than the longer word.
func TestDistanceIsOne(t *testing.T) {
	word := rapid.StringMatching(`[a-c_-]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := Distance(a, b)
		if d != Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("Distance(%q, %q) = %d, back %d", a, b, d, Distance(b, a))
		}
		if len(a) > 0 {
			if d := Distance(a, a[1:]); d != 1 {
				t.Fatalf("one letter less is %d slips", d)
			}
		}
	})
}

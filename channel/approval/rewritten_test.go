package approval

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A request is refused once somebody else has changed any of its texts, and by
// nothing else; one that waits behind it is shown then.
func TestARewrittenRequestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		d := r.desk(slog.New(slog.DiscardHandler))
		defer d.Close()
		decided := map[string][]string{}
		put := func(question, body string) {
			a := ask(question)
			a.Asked.Body, a.Expires = body, time.Now().Add(time.Minute)
			d.Ask(a, func(option string) { decided[question] = append(decided[question], option) })
			synctest.Wait()
		}
		put("q1", strings.Repeat("rm -rf build\n", 1000)) // of several texts
		put("q2", "ls")
		for _, other := range [][2]string{
			{"room", "m1"},
			{"room", idOf(Place{Question: "q1", Step: "request-1", Index: 99})},
			{"room", idOf(Place{Question: "q2", Step: "request-1"})},
			{"elsewhere", idOf(Place{Question: "q1", Step: "request-1"})},
		} {
			d.Rewritten(other[0], other[1])
		}
		if len(decided) > 0 {
			t.Errorf("decided: %v", decided)
		}
		d.Rewritten("room", idOf(Place{Question: "q1", Step: "request-1", Index: 1}))
		synctest.Wait()
		if !slices.Equal(decided["q1"], []string{""}) || decided["q2"] != nil {
			t.Errorf("decided: %v", decided)
		}
		said := r.heard()
		slices.Sort(said)
		if want := []string{"edit request-1 2: " + undecided(Rewritten), "post request-1 0", "post request-1 0", "post request-1 1", "post request-1 2"}; !slices.Equal(said, want) {
			t.Errorf("said: %q", said)
		}
		// It is over, and the next one is not.
		d.Rewritten("room", idOf(Place{Question: "q1", Step: "request-1", Index: 0}))
		d.Rewritten("room", idOf(Place{Question: "q2", Step: "request-1", Index: 0}))
		d.Rewritten("room", idOf(Place{Question: "q2", Step: "request-1", Index: 0}))
		synctest.Wait()
		if !slices.Equal(decided["q1"], []string{""}) || !slices.Equal(decided["q2"], []string{""}) {
			t.Errorf("decided: %v", decided)
		}
	})
}

package channel

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRatesAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r rates
		var all []time.Time
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, "seconds")) * time.Second)
			if rapid.Bool().Draw(t, "one more") {
				r.add("key", now)
				all = append(all, now)
			}
			want := 0
			for _, at := range all {
				if now.Unix()/60-at.Unix()/60 < 60 {
					want++
				}
			}
			if got := r.count("key", now); got != want {
				t.Fatalf("counted %d, want %d", got, want)
			}
			if r.count("another", now) != 0 {
				t.Fatal("another's is counted")
			}
		}
	})
}

func TestRatesAreBounded(t *testing.T) {
	var r rates
	now := time.Now()
	for i := range 3 * ratesKept {
		r.add(fmt.Sprint(i), now.Add(time.Duration(i)*time.Minute))
	}
	if len(r) > ratesKept {
		t.Errorf("%d are kept", len(r))
	}
	if r.count(fmt.Sprint(3*ratesKept-1), now.Add(3*ratesKept*time.Minute)) != 1 {
		t.Error("the newest is forgotten")
	}
}

// A clock that is set back neither forgets nor counts twice.
func TestRatesOfAClockThatIsSetBack(t *testing.T) {
	var r rates
	now := time.Now()
	r.add("key", now)
	r.add("key", now.Add(-10*time.Minute))
	if got := r.count("key", now.Add(-time.Hour)); got != 2 {
		t.Errorf("counted %d", got)
	}
	if got := r.count("key", now.Add(61*time.Minute)); got != 0 {
		t.Errorf("an hour later %d", got)
	}
}

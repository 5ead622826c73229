package dedup

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPlace(t *testing.T) {
	const d = day(20000)
	many := []day{}
	for n := range day(maxSlots) {
		many = append(many, d+n)
	}
	for name, c := range map[string]struct {
		slots   []day
		at, now day
		slot    day
		drop    []day
	}{
		"the first":                         {nil, d, d, d, nil},
		"a day that has a slot":             {[]day{d - 9, d}, d, d, d, nil},
		"a new day lets the fourth go":      {[]day{d - 4, d - 3, d - 2, d - 1}, d, d, d, []day{d - 4}},
		"our clock leapt ahead":             {[]day{d - 2, d - 1}, d, d + 9000, d, nil},
		"our clock starts in 1970":          {[]day{d - 9, d - 1}, d, 0, d, nil},
		"one time far ahead":                {[]day{d - 2, d - 1, d}, d + 9000, d, d + 9000, nil},
		"a day after one far ahead":         {[]day{d - 4, d - 3, d - 1, d + 9000}, d, d, d, []day{d - 4}},
		"too old to have a slot":            {[]day{d - 1, d}, d - 30, d, d - 3, nil},
		"too old, and the oldest has one":   {[]day{d - 3, d}, d - 30, d, d - 3, nil},
		"a server that is always ahead":     {many, d + maxSlots, d, d + maxSlots, []day{d}},
		"all slots are ahead":               {many, d - 1, d - 1, d, nil},
		"a time that is none":               {[]day{d}, 0, d, d - 3, nil},
		"time before there was time, first": {nil, 0, d, 0, nil},
	} {
		slot, drop := place(c.slots, c.at, c.now)
		if slot != c.slot || !slices.Equal(drop, c.drop) {
			t.Errorf("%s: slot %d, drop %d; want %d, %d", name, slot-d, drop, c.slot-d, c.drop)
		}
	}
}

func TestDayOf(t *testing.T) {
	for at, want := range map[time.Time]day{
		{}: 0, time.Unix(-1, 0): 0, time.Unix(86399, 999999999): 0, time.Unix(86400, 0): 1,
		time.Unix(math.MaxInt64, 0): math.MaxInt32, noon: 20787,
	} {
		if got := dayOf(at); got != want {
			t.Errorf("dayOf(%v) = %d, want %d", at, got, want)
		}
	}
}

// Whatever times a server names and whatever our clock does: no more than
// maxSlots, and nothing of the last 72 h by either clock goes.
func TestPlaceHoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Map(rapid.Int32Range(0, 60), func(n int32) day { return day(n) })
		var slots []day
		for range rapid.IntRange(1, 80).Draw(t, "claims") {
			at, now := days.Draw(t, "at"), days.Draw(t, "now")
			slot, drop := place(slots, at, now)
			newest := slot
			if len(slots) > 0 {
				newest = max(newest, slots[len(slots)-1])
			}
			full := len(slots) >= maxSlots
			for _, gone := range drop {
				if gone == slot || gone+keepDays >= min(newest, now) && !full {
					t.Fatalf("day %d goes, on day %d, for slot %d of %d", gone, now, slot, slots)
				}
			}
			slots = slices.DeleteFunc(slots, func(d day) bool { return slices.Contains(drop, d) })
			if !slices.Contains(slots, slot) {
				slots = append(slots, slot)
				slices.Sort(slots)
			}
			if len(slots) > maxSlots {
				t.Fatalf("%d slots", len(slots))
			}
		}
	})
}

// A clock that steps forgets nothing that is younger than 72 h.
func TestClockSteps(t *testing.T) {
	path := statePath(t)
	now := noon
	open := func() *DB {
		db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return now }})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	db := open()
	clocks := []time.Time{noon, time.Unix(0, 0), noon.AddDate(73, 0, 0), noon.AddDate(0, -1, 0), noon.AddDate(0, 0, 2), {}}
	for i, clock := range clocks {
		now = clock
		mustClaim(t, db, Question{ID: ID{Message: fmt.Sprint("m", i), At: noon.Add(time.Duration(i*12) * time.Hour)}}, true)
		must(t, db.Answer(t.Context(), ID{Message: fmt.Sprint("m", i)}, nil))
		must(t, db.Close())
		db = open()
	}
	for i := range clocks {
		// A server that names another time for it gets no second answer.
		mustClaim(t, db, Question{ID: ID{Message: fmt.Sprint("m", i), At: noon.AddDate(0, 0, i-3)}}, false)
	}
}

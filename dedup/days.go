package dedup

import (
	"math"
	"slices"
	"time"
)

// A record lies in the slot of the UTC day of its message's own time, and a
// slot goes as a whole. The last record of a day is then kept for 72 h.
const keepDays = 3

// maxSlots bounds how many slots there may be, whatever times a server names:
// each look-up asks all of them. Usually there are five.
const maxSlots = 16

// A day counts from 1970-01-01 UTC. Times before it are day 0.
type day int32

func dayOf(t time.Time) day {
	return day(min(max(t.Unix(), 0)/86400, math.MaxInt32))
}

// place says in which slot a record of day d goes, and which slots go for it,
// given the slots there are, in ascending order.
//
// Time here is the earlier of our clock and the newest day that any message
// came from. So a clock of ours that leaps ahead forgets nothing, one that
// starts in 1970 only keeps more, and a server whose clock is a year off is
// held to maxSlots. A time too old to have a slot takes the oldest that stays:
// forgetting at once what was just claimed would be worse than where it lies.
func place(slots []day, d, today day) (slot day, drop []day) {
	if slices.Contains(slots, d) {
		return d, nil
	}
	now := d
	if len(slots) > 0 {
		now = max(now, slots[len(slots)-1])
	}
	oldest := min(now, today) - keepDays
	slot = max(d, oldest)
	var stay []day
	for _, s := range slots {
		if s < oldest {
			drop = append(drop, s)
		} else {
			stay = append(stay, s)
		}
	}
	if slices.Contains(stay, slot) {
		return slot, drop
	}
	for len(stay) >= maxSlots {
		if slot < stay[0] {
			return stay[0], drop
		}
		drop = append(drop, stay[0])
		stay = stay[1:]
	}
	return slot, drop
}

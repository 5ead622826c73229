package channel

import "time"

// ratesKept bounds of how many people or rooms a rate is kept.
const ratesKept = 2000

// rates count what happened in the last hour, by key, to the minute. One
// goroutine's.
type rates map[string]*hour

// An hour of minutes. The one at now%60 is the present minute.
type hour struct {
	minutes [60]uint16
	now     int64 // minutes since 1970
	sum     int
}

// add counts one more.
func (r *rates) add(key string, at time.Time) {
	if *r == nil {
		*r = make(rates)
	}
	h := (*r)[key]
	if h == nil {
		r.makePlace()
		h = &hour{}
		(*r)[key] = h
	}
	h.turn(at)
	if m := &h.minutes[h.now%60]; *m < 1<<16-1 {
		*m++
		h.sum++
	}
}

// count returns how many there were within an hour.
func (r rates) count(key string, at time.Time) int {
	h := r[key]
	if h == nil {
		return 0
	}
	h.turn(at)
	return h.sum
}

// turn forgets the minutes that are over. A clock that was set back counts on
// in the minute it had come to.
func (h *hour) turn(at time.Time) {
	now := at.Unix() / 60
	if now-h.now >= 60 {
		*h = hour{now: now}
		return
	}
	for h.now < now {
		h.now++
		m := &h.minutes[h.now%60]
		h.sum -= int(*m)
		*m = 0
	}
}

// makePlace forgets the one that has been quiet for longest when there are
// many.
func (r rates) makePlace() {
	if len(r) < ratesKept {
		return
	}
	var quiet string
	for key, h := range r {
		if quiet == "" || h.now < r[quiet].now {
			quiet = key
		}
	}
	delete(r, quiet)
}

// roomCap is how many things the bot says in one room of several people within
// an hour, whoever asks: what three people may be answered. Two bots that talk
// to each other, and are not known as bots, end there.
func roomCap(answersPerHour int) int { return max(60, 3*answersPerHour) }

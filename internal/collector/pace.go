package collector

import "time"

// What the collector is set to, in GOGC's percent: how much the heap may grow
// by, of what lives in it, before it is collected again.
const (
	busyPercent  = 100 // Go's own
	quietPercent = 20
	// quietBytes is the least that a quiet heap may grow by, as far as Go lets it
	// by default. A small one would be collected all the time otherwise.
	quietBytes = 8 << 20
)

// Times and bounds of the policy.
const (
	lookEvery = time.Second
	period    = 5 * time.Second
	// busyShare is the share of one core that a second's collections may cost,
	// and of what the process itself got of the processors, unless that is less
	// of a core than smallShare.
	busyShare  = 0.5
	smallShare = 0.05
	// calmShare is what they may cost over a period of calm.
	calmShare = 0.02
	// After so many periods of calm freed memory is returned, and after as many
	// again, so often. Each return is a collection too, and halves the stacks
	// of which little is in use.
	calmPeriods = 3
	returns     = 3
)

// A pace is how the collector is set, and what it has cost lately.
type pace struct {
	busy        bool
	spent, over time.Duration // of processor time, within so long
	calm        int           // periods in a row
}

// percent is what the collector is to be set to with so many bytes alive.
func (p pace) percent(live uint64) int {
	if p.busy {
		return busyPercent
	}
	return int(min(busyPercent, max(quietPercent, 100*quietBytes/max(live, 1))))
}

// next is the pace after a look at what collections have cost since the last
// one, of so much processor time that the process has used, and whether freed
// memory is to be returned now.
func (p pace) next(cost, used, since time.Duration, live uint64) (_ pace, free bool) {
	if of := share(cost, since); of > busyShare || of > smallShare && share(cost, used) > busyShare {
		return pace{busy: true}, false
	}
	p.spent, p.over = p.spent+cost, p.over+since
	if p.over < period {
		return p, false
	}
	// What it would cost in the quiet setting: a heap that may grow by a fifth is
	// collected five times as often as one that may double.
	would := share(p.spent, p.over) * float64(p.percent(live)) / float64(pace{}.percent(live))
	next := pace{busy: p.busy && would > busyShare/2}
	if would <= calmShare {
		next.calm = p.calm + 1
	}
	return next, next.calm%calmPeriods == 0 && next.calm/calmPeriods >= 1 && next.calm/calmPeriods <= returns
}

func share(cost, of time.Duration) float64 { return cost.Seconds() / max(of.Seconds(), 1e-9) }

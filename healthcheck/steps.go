package healthcheck

import (
	"math"
	"time"
)

// The bounds of the rules. A person waits for these, so they are part of the
// contract and shown in sentences.
const (
	// Steady is how long a connection must have been online before what went
	// wrong earlier is forgotten. Without it a server that accepts and drops
	// would be asked again at once for ever.
	Steady = time.Minute

	// FlapEnds ends within FlapWindow are still bad luck; one more is flapping,
	// and then a profile is tried every FlapPause only.
	FlapEnds   = 6
	FlapWindow = 10 * time.Minute
	FlapPause  = 5 * time.Minute

	// A server that limits names a time; what lies outside these is not
	// believed.
	LeastLimit = time.Second
	MostLimit  = 15 * time.Minute

	// DoubtCount profiles of one server refused within DoubtWindow: it is the
	// server, for DoubtLast at most.
	DoubtCount  = 3
	DoubtWindow = time.Minute
	DoubtLast   = 15 * time.Minute

	// ProbeLimit is how long an answer to a probe is waited for before it
	// counts as lost.
	ProbeLimit = 30 * time.Second
)

// The steps, each list staying at its last. They are arrays so that nobody can
// change them.
var (
	againSteps = [...]time.Duration{0, 1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 60 * time.Second}
	missSteps  = [...]time.Duration{0, 1 * time.Second, 2 * time.Second, 5 * time.Second}
	reachSteps = [...]time.Duration{1 * time.Second, 2 * time.Second, 5 * time.Second}
	tokenSteps = [...]time.Duration{1 * time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute}
)

// step is the nth of steps, or the last.
func step(steps []time.Duration, n int) time.Duration {
	return steps[max(0, min(n, len(steps)-1))]
}

// Jitter returns a number from -1 to 1, another one each time: it keeps
// profiles that fell together from rising together. A nil Jitter is 0.
type Jitter func() float64

// value is the next number of j, whatever j returns.
func (j Jitter) value() float64 {
	if j == nil {
		return 0
	}
	v := j()
	if math.IsNaN(v) {
		return 0
	}
	return max(-1, min(v, 1))
}

// around is d ±15 %.
func (j Jitter) around(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(float64(d)*0.15*j.value())
}

// after is d and up to 5 % more, for times that must not be cut short.
func (j Jitter) after(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(float64(d)*0.05*math.Abs(j.value()))
}

// remaining is how long it is from now to at, never less than nothing and
// never more than whole, what it was when it was decided: a clock that was set
// back must not lengthen a wait.
func remaining(at, now time.Time, whole time.Duration) time.Duration {
	return max(0, min(at.Sub(now), whole))
}

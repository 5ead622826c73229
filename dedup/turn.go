package dedup

import "time"

// A disk makes about as many commits a second however many files ask for them
// at once. So a process makes few at a time: the steps of the other stores
// gather meanwhile, and each of their commits carries more. A store that is
// alone never waits.
//
// A commit that hangs, on a file system that does not answer, must hold nobody
// else up: after turnPatience a store goes without its turn.
const (
	turnsAtOnce  = 2
	turnPatience = 20 * time.Millisecond
)

var turns = make(chan struct{}, turnsAtOnce)

// turn waits until a store may commit; what it returns is called after.
func turn() (over func()) {
	select {
	case turns <- struct{}{}:
		return turnOver
	default:
	}
	patience := time.NewTimer(turnPatience)
	defer patience.Stop()
	select {
	case turns <- struct{}{}:
		return turnOver
	case <-patience.C:
		return func() {}
	}
}

func turnOver() { <-turns }

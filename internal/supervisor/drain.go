package supervisor

import (
	"maps"
	"slices"
	"time"
)

// drain ends all keepers: at once those that do nothing, and within the drain
// time those that do.
func (s *Supervisor) drain(hurry <-chan struct{}) {
	s.mu.Lock()
	s.stage = draining
	all := slices.Collect(maps.Values(s.keepers))
	s.mu.Unlock()
	deadline := time.Now().Add(s.config.Drain)
	for _, k := range all {
		k.tell(func() { k.end(deadline) })
	}
	force := time.NewTimer(s.config.Drain + killAfter)
	defer force.Stop()
	for _, k := range all {
		select {
		case <-k.gone:
			continue
		default:
		}
		select {
		case <-k.gone:
			continue
		case <-hurry:
		case <-force.C:
		}
		s.each(func(k *keeper) { k.tell(k.kill) })
		break
	}
	// What hangs where it can't be killed is left behind with the process.
	patience := time.NewTimer(killAfter)
	defer patience.Stop()
	for _, k := range all {
		select {
		case <-k.gone:
		case <-patience.C:
			s.config.Log.Error("not every channel came to its end", "profile", k.name)
			return
		}
	}
}

// killAfter is how long a run may take to end before it is ended, and how long
// that may take.
const killAfter = 10 * time.Second

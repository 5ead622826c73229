package supervisor

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// kin are, by server, the user ids of all bots that profiles here claim, as
// last shared. The map and its slices are never changed.
type kin struct {
	now atomic.Pointer[map[string][]string]
}

func (k *kin) of(server string) []string {
	if m := k.now.Load(); m != nil {
		return (*m)[server]
	}
	return nil
}

// shareEvery gathers changes of who is whose sibling: a thousand starts are a
// few rounds, not a thousand.
const shareEvery = 500 * time.Millisecond

// shareSiblings tells the runs of a server whenever its bots are others, until
// ctx ends.
func (s *Supervisor) shareSiblings(ctx context.Context) {
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	var shared uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.countAgents()
		if s.registry.claimed() == shared {
			continue
		}
		var all map[string][]string
		all, shared = s.registry.siblings()
		for server, ids := range all { // one slice for all who have the same
			if was := s.kin.of(server); slices.Equal(was, ids) {
				all[server] = was
			}
		}
		s.kin.now.Store(&all)
		s.each(func(k *keeper) { k.tell(k.kinChanged) })
	}
}

// kinChanged hands a run its siblings, if they are others than it knows.
func (k *keeper) kinChanged() {
	if k.live == nil {
		return
	}
	now := k.kin.of(k.start.Credentials.Server)
	if slices.Equal(now, k.start.Siblings) {
		return
	}
	k.start.Siblings = now
	s := k.start
	k.live.Command(channel.Apply{Settings: s.Settings, Access: s.Access, Credentials: s.Credentials, Siblings: s.Siblings, CA: s.CA})
}

// countAgents notes whether more than one profile's agent runs as our own user,
// so that each could look into the other's home.
func (s *Supervisor) countAgents() {
	n := 0
	for _, v := range s.views(Everybody) {
		if v.owner == os.Geteuid() && v.kind != "" && v.kind != "echo" && v.history.State != healthcheck.Off {
			n++
		}
	}
	if s.oneUID.Swap(n > 1) != (n > 1) {
		s.each(func(k *keeper) { k.tell(func() { k.observe(false) }) })
	}
}

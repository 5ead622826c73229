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
	s := *k.start
	s.Siblings = now
	k.start = &s
	k.live.Command(channel.Apply{Settings: s.Settings, Access: s.Access, Credentials: s.Credentials, Siblings: s.Siblings, CA: s.CA})
}

// countAgent notes whether this profile's agent runs as our own user. With a
// second one each could look into the other's home, which all of them say.
func (k *keeper) countAgent(v *view) {
	own := v.owner == os.Geteuid() && v.kind != "" && v.kind != "echo" && v.history.State != healthcheck.Off && !k.leaving
	if own == k.counted {
		return
	}
	k.counted = own
	step := int32(-1)
	if own {
		step = 1
	}
	now := k.agentsOfOurs.Add(step)
	before := now - step
	if (before > 1) != (now > 1) {
		k.each(func(o *keeper) { o.tell(func() { o.observe(false) }) })
	}
}

package supervisor

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// Without the host's identity nothing can be opened, and each profile says so;
// once it is there all go on, and one that is another changes nothing for those
// that run.
func TestTheIdentityComesLater(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		var there atomic.Bool
		h.keyset = NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) {
			if !there.Load() {
				return nil, nil, fmt.Errorf("no identity was found: %w", sealed.ErrNoIdentity)
			}
			return h.keys.Identity(), h.keys, nil
		})
		h.add("alice", quick)
		h.add("bob", quick)
		h.start()
		for _, name := range []string{"alice", "bob"} {
			p := h.await(name, healthcheck.NeedsToken, healthcheck.Unsealed)
			if !strings.Contains(deref(p.Error), "no identity was found") || p.Action == nil {
				h.Errorf("%s: %q, try %q", name, deref(p.Error), deref(p.Action))
			}
		}
		there.Store(true)
		h.must(h.super.Rescan(h.Context()))
		h.online("alice", "bob")
		undisturbed := h.undisturbed("alice")
		there.Store(false)
		_ = h.super.Rescan(h.Context())
		undisturbed()
		if p, _ := h.super.Profile(Everybody, "alice"); p.State != healthcheck.Online {
			h.Errorf("alice is %s", p.State)
		}
	})
}

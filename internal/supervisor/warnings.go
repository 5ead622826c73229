package supervisor

import (
	"rcsupervisor/healthcheck"
	"rcsupervisor/profile"
)

// warnings are what a person should know of the profile. Called by its keeper.
func (k *keeper) warnings(v *view) []healthcheck.Warning {
	var found []healthcheck.Warning
	warn := func(code, detail string) { found = append(found, healthcheck.Warn(code, v.facts(true), detail)) }
	if len(k.pending) > 0 {
		warn("pending", itoa(len(k.pending))+" changes")
	}
	if len(k.facts.capped) > 0 {
		c := k.facts.capped[0]
		warn("capped", c.Key+" from "+c.Old+" to "+c.New)
	}
	if k.facts.stale {
		warn("stale-recipients", "")
	}
	if k.reading.Err == nil {
		// What waits for a person neither warns nor ends a warning.
		inUse := k.reading.Profile
		inUse.Settings.Agent = k.inUse.Agent
		for _, n := range profile.Notices(inUse, k.inUse.Access) {
			warn(n.Code, n.Detail)
		}
	}
	if k.counted && k.agentsOfOurs.Load() > 1 {
		warn("one-uid", "")
	}
	if k.polled.Load() {
		warn("polling", "")
	}
	if k.registry.isLost() {
		warn("ledger-lost", "")
	}
	if k.live != nil && k.report != nil {
		found = append(found, k.report.Warnings...)
	}
	healthcheck.SortWarnings(found)
	return found
}

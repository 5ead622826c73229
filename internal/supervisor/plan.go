package supervisor

import (
	"cmp"
	"slices"

	"rcsupervisor/profile"
)

// A Plan is what the files say and what is in use, where the two differ, and
// what would have to happen. Its JSON is public.
type Plan struct {
	Profiles []PlannedProfile `json:"profiles"`
}

// A PlannedProfile is one whose files are not in use as they are.
type PlannedProfile struct {
	Name    string   `json:"name"`
	Changes []string `json:"changes"` // what a reload brings into use, each with what it means
	Pending []string `json:"pending"` // what waits for accept
	Capped  []string `json:"capped"`  // what the host's ceilings cut
	Error   *string  `json:"error"`   // why the files can't be used
}

// Plan compares the files as they were last read with what is in use, for a
// viewer. A reload is prompt, so that mostly there is only what waits for a
// person, what was cut, and what can't be used.
func (s *Supervisor) Plan(v Viewer) Plan {
	plan := Plan{Profiles: []PlannedProfile{}}
	s.each(func(k *keeper) {
		w := k.view.Load()
		if !v.Sees(w.owner) {
			return
		}
		p := PlannedProfile{Name: w.name, Changes: w.waits(), Pending: []string{}, Capped: []string{}, Error: text(w.fault)}
		for _, g := range w.pending {
			p.Pending = append(p.Pending, g.Text)
		}
		for _, c := range w.capped {
			p.Capped = append(p.Capped, c.Key+" from "+c.Old+" to "+c.New)
		}
		if w.readErr != "" {
			p.Error = text(w.readErr)
		}
		if len(p.Changes)+len(p.Pending)+len(p.Capped) > 0 || p.Error != nil {
			plan.Profiles = append(plan.Profiles, p)
		}
	})
	slices.SortFunc(plan.Profiles, func(a, b PlannedProfile) int { return cmp.Compare(a.Name, b.Name) })
	return plan
}

// waits are the settings that differ between the file and the run, and wait for
// the next start.
func (v *view) waits() []string {
	changes := []string{}
	if v.run == 0 || v.readErr != "" {
		return changes
	}
	was, now := *v.begun, v.start.Settings
	now.Agent = was.Agent
	for _, c := range profile.DiffSettings(was, now).Keys {
		if c.Class.Has(profile.NextStart) {
			changes = append(changes, c.Key+" from "+c.Old+" to "+c.New+" ("+c.Class.String()+")")
		}
	}
	return changes
}

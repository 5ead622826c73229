package supervisor

import (
	"cmp"
	"slices"

	"rcsupervisor/profile"
)

// A bot is ours alone: two profiles that run the same one would answer
// everything twice, or throw each other out. Who has logged in with it holds
// it. A claim that no login has proven holds nobody, or an envelope with
// another's ids in it would be enough to keep that other from running.

// claim says that a profile is about to run as b, and returns who holds it if
// that is another.
func (r *registry) claim(name string, b bot) (holder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claims[name] != b {
		r.claims[name] = b
		r.version++
	}
	for held, who := range r.holders {
		if who == name && held != b { // it has another bot now
			delete(r.holders, held)
		}
	}
	if who := r.holders[b]; who != name {
		return who
	}
	return ""
}

// prove notes that a profile has logged in as what it claims. Others that
// claim the same are returned; if one of them proved it before, that is the
// holder, and this profile is the one too many.
func (r *registry) prove(name string, c profile.Claim) (holder string, others []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := bot{c.Server, c.Bot}
	if who := r.holders[b]; who != "" && who != name {
		return who, nil
	}
	r.holders[b] = name
	if e, ok := r.entries[name]; ok {
		if now := e.Proven(c); now != e {
			r.put(name, now)
		}
	}
	for other, claimed := range r.claims {
		if claimed == b && other != name {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	return "", others
}

// reserve lets a profile that is to run hold the bot its last login proved,
// unless another does already: after a start of the supervisor it is the same
// one of two as before.
func (r *registry) reserve(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[name]
	b := bot{e.Server, e.Bot}
	if e.Server != "" && r.holders[b] == "" {
		r.holders[b] = name
	}
}

// release says that a profile does not run, and returns those that may now.
func (r *registry) release(name string) (freed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.claims[name]; ok {
		delete(r.claims, name)
		r.version++
	}
	for b, who := range r.holders {
		if who != name {
			continue
		}
		delete(r.holders, b)
		for other, claimed := range r.claims {
			if claimed == b {
				freed = append(freed, other)
			}
		}
	}
	slices.SortFunc(freed, cmp.Compare[string])
	return freed
}

// siblings returns, by server, the user ids of all bots that profiles here
// claim, sorted, and the version of that knowledge.
func (r *registry) siblings() (byServer map[string][]string, version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byServer = make(map[string][]string)
	for _, b := range r.claims {
		byServer[b.server] = append(byServer[b.server], b.user)
	}
	for server, ids := range byServer {
		slices.Sort(ids)
		byServer[server] = slices.Compact(ids)
	}
	return byServer, r.version
}

// claimed is the version of who claims which bot.
func (r *registry) claimed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

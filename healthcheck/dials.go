package healthcheck

import "time"

// The shares of [Dials].
const (
	DialsPerServer = 4  // attempts at once to one server, from dial to ready
	DialsInAll     = 64 // attempts at once in all
	DialsPerSecond = 50 // attempts begun within any second to one server
)

// Dials shares out connection attempts: at most [DialsPerServer] at a time and
// [DialsPerSecond] to a server, [DialsInAll] in all. Servers take turns, and
// profiles of one server go in the order they asked, so that a server with a
// thousand profiles that all want in costs another one's a turn and no more.
//
// What the last second was spared may be had at once: when a server is back the
// first fifty wait for no beat, and a clock that comes late costs nothing.
//
// Make one with [NewDials] for the host. It is not safe for concurrent use.
type Dials struct {
	servers map[string]*berth
	homes   map[string]*berth // by profile: those that wait, and those that dial
	turns   []*berth          // servers with somebody waiting, in turn
	running int
}

// A berth is one server's place.
type berth struct {
	server  string
	waiting []string
	dialing map[string]bool
	begun   []time.Time // the attempts of the last second, oldest first
}

// pace is how long it is until one more attempt keeps to [DialsPerSecond].
func (b *berth) pace(now time.Time) time.Duration {
	past := 0
	for i, t := range b.begun {
		if t.After(now) { // the clock was set back
			b.begun[i] = now
		} else if now.Sub(t) >= time.Second {
			past = i + 1
		}
	}
	b.begun = b.begun[:copy(b.begun, b.begun[past:])]
	if len(b.begun) < DialsPerSecond {
		return 0
	}
	return b.begun[0].Add(time.Second).Sub(now)
}

// NewDials returns Dials with nobody waiting.
func NewDials() *Dials {
	return &Dials{servers: map[string]*berth{}, homes: map[string]*berth{}}
}

// Ask puts profile name in line for an attempt to server. Who waits or dials
// already is not put in line again.
func (d *Dials) Ask(server, name string) {
	if d.homes[name] != nil {
		return
	}
	b := d.servers[server]
	if b == nil {
		b = &berth{server: server, dialing: map[string]bool{}}
		d.servers[server] = b
	}
	if len(b.waiting) == 0 {
		d.turns = append(d.turns, b)
	}
	b.waiting = append(b.waiting, name)
	d.homes[name] = b
}

// Take lets the next profile dial, if one may. If ok is false, wait is how long
// to wait before asking again; 0 means until somebody is Done or asks.
func (d *Dials) Take(now time.Time) (name string, wait time.Duration, ok bool) {
	if d.running >= DialsInAll {
		return "", 0, false
	}
	for i, b := range d.turns {
		if len(b.dialing) >= DialsPerServer {
			continue
		}
		if left := b.pace(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		copy(d.turns[i:], d.turns[i+1:])
		d.turns[len(d.turns)-1] = nil
		d.turns = d.turns[:len(d.turns)-1]
		name, b.waiting = b.waiting[0], b.waiting[1:]
		if len(b.waiting) > 0 {
			d.turns = append(d.turns, b)
		}
		b.dialing[name] = true
		b.begun = append(b.begun, now)
		d.running++
		return name, 0, true
	}
	return "", wait, false
}

// Done gives name's attempt back, ready or failed; of one that waits it takes
// back the wish. Others are not affected.
func (d *Dials) Done(name string) {
	b := d.homes[name]
	if b == nil {
		return
	}
	delete(d.homes, name)
	if b.dialing[name] {
		delete(b.dialing, name)
		d.running--
	} else {
		b.drop(name)
		if len(b.waiting) == 0 {
			d.unturn(b)
		}
	}
}

// Forget drops what is kept of servers that nobody waits for or dials. Call it
// now and then where servers come and go.
func (d *Dials) Forget(now time.Time) {
	for server, b := range d.servers {
		if len(b.waiting) == 0 && len(b.dialing) == 0 && b.pace(now) == 0 && len(b.begun) == 0 {
			delete(d.servers, server)
		}
	}
}

// drop takes name out of those who wait.
func (b *berth) drop(name string) {
	for i, w := range b.waiting {
		if w == name {
			b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
			return
		}
	}
}

// unturn takes b out of the turns.
func (d *Dials) unturn(b *berth) {
	for i, t := range d.turns {
		if t == b {
			d.turns = append(d.turns[:i:i], d.turns[i+1:]...)
			return
		}
	}
}

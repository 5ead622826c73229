package healthcheck

import (
	"maps"
	"time"

	"pgregory.net/rapid"
)

// actions are what can happen, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	all := w.times()
	maps.Copy(all, w.ends())
	maps.Copy(all, w.orders())
	return all
}

// pick is one of the profiles that there are.
func (w *world) pick(t *rapid.T) *tenant {
	p := w.profiles[rapid.IntRange(0, len(w.profiles)-1).Draw(t, "profile")]
	if p.left {
		t.Skip("gone")
	}
	return p
}

func seconds(t *rapid.T, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most*1000).Draw(t, "ms")) * time.Millisecond
}

var connectionEnds = []Reason{Silent, Deaf, Closed, Dropped, RateLimited, Refused, Reload, Unreachable}

// times is time that passes, and what servers and connections do meanwhile.
func (w *world) times() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pass":    func(t *rapid.T) { w.pass(seconds(t, 90)) },
		"long":    func(t *rapid.T) { w.pass(seconds(t, 1000)) },
		"connect": func(t *rapid.T) { w.connect(w.pick(t)) },
		"lives": func(t *rapid.T) {
			times := []time.Duration{0, time.Second, 45 * time.Second, Steady, 80 * time.Second}
			w.live(w.pick(t), rapid.SampledFrom(connectionEnds[:6]).Draw(t, "reason"),
				rapid.IntRange(1, 4).Draw(t, "lives"), rapid.SampledFrom(times).Draw(t, "online"))
		},
		"flaps": func(t *rapid.T) {
			p := w.pick(t)
			w.up[p.server], w.trusting[p.server] = true, true
			w.live(p, rapid.SampledFrom(connectionEnds[:4]).Draw(t, "reason"), 8, time.Second)
		},
		"all refused": func(t *rapid.T) {
			w.up[0], w.trusting[0] = true, false
			for _, p := range w.profiles[:3] {
				if p.conn {
					w.end(p, Ended{Reason: Refused})
				}
				w.connect(p)
			}
			w.pass(seconds(t, 1000))
			w.trusting[0] = rapid.Bool().Draw(t, "trusting")
		},
		"connect all": func(*rapid.T) {
			for _, p := range w.profiles {
				w.connect(p)
			}
		},
		"clock": func(t *rapid.T) {
			if !w.steps {
				t.Skip("a steady clock")
			}
			w.wall += time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t, "s")) * time.Second
			w.stepped = true
			for _, p := range w.profiles {
				p.bound = time.Time{}
			}
		},
		"server": func(t *rapid.T) {
			i := rapid.IntRange(0, len(w.servers)-1).Draw(t, "server")
			w.up[i] = rapid.Bool().Draw(t, "up")
			w.trusting[i] = rapid.Bool().Draw(t, "trusting")
		},
		"": func(*rapid.T) { w.check() },
	}
}

// ends are ends of connections and runs, and what is found of homes.
func (w *world) ends() map[string]func(*rapid.T) {
	runEnds := []Reason{Crashed, Hung, Busy, Operator, Reload}
	return map[string]func(*rapid.T){
		"connection ends": func(t *rapid.T) {
			p, r := w.pick(t), rapid.SampledFrom(connectionEnds).Draw(t, "reason")
			if p.conn && (r != Unreachable || p.h.State != Online) {
				w.end(p, Ended{Reason: r, Limit: seconds(t, 2000)})
			}
		},
		"run ends": func(t *rapid.T) {
			p, r := w.pick(t), rapid.SampledFrom(runEnds).Draw(t, "reason")
			if p.run {
				w.end(p, Ended{Reason: r, Over: true})
			}
		},
		"run hangs": func(t *rapid.T) {
			if p := w.pick(t); p.run && !p.stuck {
				w.end(p, Ended{Reason: Hung, Stuck: true})
			}
		},
		"found": func(t *rapid.T) {
			p, r := w.pick(t), rapid.SampledFrom(holds).Draw(t, "reason")
			if r != Gone && r != Suspended {
				w.end(p, Ended{Reason: r, Detail: "found", Over: rapid.Bool().Draw(t, "over")})
			}
		},
		"late report": func(t *rapid.T) {
			p, r := w.pick(t), rapid.SampledFrom(connectionEnds).Draw(t, "reason")
			if !p.conn {
				if d, h := Next(p.h, Ended{Reason: r}, w.now(), w.jitter); d.Do != p.h.Plan || h.State != p.h.State || h.Streak != p.h.Streak {
					t.Fatalf("%s: a late %s: %+v, %+v", p.name, r, d, h)
				}
			}
		},
	}
}

// orders are what people say, and files.
func (w *world) orders() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"changed": func(t *rapid.T) {
			p := w.pick(t)
			p.fresh()
			d, h := p.h.Changed(w.now())
			w.obey(p, d, h)
		},
		"start": func(t *rapid.T) { w.start(w.pick(t)) },
		"restart": func(t *rapid.T) {
			if p := w.pick(t); !p.suspended && !p.left {
				p.wanted = true
				p.fresh()
				d, h := p.h.Restart(w.now())
				w.obey(p, d, h)
			}
		},
		"stop": func(t *rapid.T) {
			if p := w.pick(t); !p.suspended {
				p.wanted = false
				p.fresh()
				d, h := p.h.Stop(Operator, w.now())
				w.obey(p, d, h)
			}
		},
		"suspend": func(t *rapid.T) {
			p := w.pick(t)
			p.suspended = true
			d, h := p.h.Stop(Suspended, w.now())
			w.obey(p, d, h)
			if why := h.waitsFor(); why != Suspended && why != Gone {
				t.Fatalf("%s isn't suspended: %+v", p.name, h)
			}
		},
		"gone": func(t *rapid.T) {
			p := w.pick(t)
			d, h := Next(p.h, Ended{Reason: Gone}, w.now(), w.jitter)
			w.obey(p, d, h)
			if p.left == p.run {
				t.Fatalf("%s: gone, and left is %v: %+v", p.name, p.left, p)
			}
		},
		"resume": func(t *rapid.T) { w.resume(w.pick(t)) },
		"freed": func(t *rapid.T) {
			p := w.pick(t)
			d, h := p.h.Freed(Duplicate, w.now())
			if h != p.h {
				p.bound = time.Time{} // as asked, at once
			}
			w.obey(p, d, h)
		},
	}
}

func (w *world) start(p *tenant) {
	if p.suspended || p.left {
		// A start that is given all the same moves nothing.
		if d, h := p.h.Start(w.now()); !p.left && (d.Do != p.h.Plan || h.State != p.h.State || h.Then != p.h.Then) {
			w.t.Fatalf("%s: started though suspended: %+v, %+v", p.name, d, h)
		}
		return
	}
	p.wanted = true
	p.fresh()
	d, h := p.h.Start(w.now())
	w.obey(p, d, h)
}

func (w *world) resume(p *tenant) {
	if !p.suspended {
		return
	}
	p.suspended = false
	p.fresh()
	d, h := p.h.Resume(w.now())
	if !Runs(true, p.wanted, false) {
		d, h = h.Stop(Operator, w.now())
	}
	w.obey(p, d, h)
}

package healthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDialsPerServer(t *testing.T) {
	d, now := NewDials(), day
	for i := range 6 {
		d.Ask("s", fmt.Sprint(i))
	}
	d.Ask("s", "0") // once is enough
	for i := range DialsPerServer {
		if name, wait, ok := d.Take(now); !ok || name != fmt.Sprint(i) {
			t.Fatalf("attempt %d: %q, %v, %v", i, name, wait, ok)
		}
	}
	if name, wait, ok := d.Take(now.Add(time.Hour)); ok || wait != 0 {
		t.Fatalf("a fifth: %q, %v", name, wait)
	}
	d.Done("2")
	d.Done("2")
	if name, _, ok := d.Take(now); !ok || name != "4" {
		t.Errorf("%q, %v", name, ok)
	}
	// One that waits can take its wish back, one that nobody knows has none.
	d.Done("5")
	d.Done("nobody")
	d.Done("0")
	if name, wait, ok := d.Take(now); ok || wait != 0 {
		t.Errorf("nobody waits: %q, %v", name, wait)
	}
	// Who had a turn may ask again.
	d.Ask("s", "0")
	if name, _, ok := d.Take(now); !ok || name != "0" {
		t.Errorf("%q, %v", name, ok)
	}
}

func TestDialsInAllAndInTurn(t *testing.T) {
	d := NewDials()
	for i := range 1000 {
		d.Ask("big", fmt.Sprint("big", i))
	}
	for i := range 3 {
		d.Ask("small", fmt.Sprint("small", i))
	}
	a, _, _ := d.Take(day)
	b, _, _ := d.Take(day)
	if a != "big0" || b != "small0" {
		t.Errorf("first %s and %s", a, b)
	}
	for s := range 100 {
		d.Ask(fmt.Sprint("s", s), fmt.Sprint("p", s))
	}
	n := 2
	for _, _, ok := d.Take(day); ok; _, _, ok = d.Take(day) {
		n++
	}
	if n != DialsInAll {
		t.Errorf("%d at once", n)
	}
	if _, wait, _ := d.Take(day.Add(time.Hour)); wait != 0 {
		t.Errorf("full, and to be asked again in %v", wait)
	}
	d.Done("big0")
	if name, _, ok := d.Take(day.Add(time.Hour)); !ok {
		t.Errorf("%q", name)
	}
}

// Fifty may begin at once, and one more when the first of them is a second old:
// there is no second with more, and no beat that is lost when a clock is late.
func TestDialsPerSecond(t *testing.T) {
	const n = 200
	d := NewDials()
	for i := range n {
		d.Ask("s", fmt.Sprint(i))
	}
	begun := func(now time.Time) (n int, wait time.Duration) {
		for {
			name, wait, ok := d.Take(now)
			if !ok {
				return n, wait
			}
			d.Done(name)
			n++
		}
	}
	for _, c := range []struct {
		at   time.Duration
		n    int
		wait time.Duration
	}{
		{0, 50, time.Second},
		{999 * time.Millisecond, 0, time.Millisecond},
		{1300 * time.Millisecond, 50, time.Second}, // late
		{2299 * time.Millisecond, 0, time.Millisecond},
		{time.Hour, 50, time.Second}, // what an hour spared is a second's worth
		{time.Hour + 1500*time.Millisecond, 50, 0},
	} {
		if n, wait := begun(day.Add(c.at)); n != c.n || wait != c.wait {
			t.Errorf("at %v: %d, and more in %v; want %d in %v", c.at, n, wait, c.n, c.wait)
		}
	}
}

func TestDialsClockSetBack(t *testing.T) {
	d := NewDials()
	for i := range DialsPerSecond + 1 {
		d.Ask("s", fmt.Sprint(i))
	}
	for range DialsPerSecond {
		name, _, _ := d.Take(day)
		d.Done(name)
	}
	now := day.Add(-time.Hour)
	_, wait, _ := d.Take(now)
	if wait != time.Second {
		t.Fatalf("wait %v", wait)
	}
	if name, _, ok := d.Take(now.Add(wait)); !ok || name != fmt.Sprint(DialsPerSecond) {
		t.Error("stuck")
	}
}

func TestDialsForget(t *testing.T) {
	d := NewDials()
	d.Ask("s", "a")
	d.Forget(day.Add(time.Hour))
	d.Take(day)
	d.Forget(day.Add(time.Hour))
	if len(d.servers) != 1 {
		t.Error("forgot a server that is dialled")
	}
	d.Done("a")
	d.Forget(day)
	if len(d.servers) != 1 {
		t.Error("forgot the pace")
	}
	d.Forget(day.Add(time.Second))
	if len(d.servers) != 0 || len(d.homes) != 0 || len(d.turns) != 0 {
		t.Error("remembers for ever")
	}
}

// Whatever is asked, taken and given back: the shares hold, nobody dials
// twice, those of one server go in order, and whoever asked has his turn.
func TestDialsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, now := NewDials(), day
		waiting, dialing := map[string][]string{}, map[string]string{}
		begun := map[string][]time.Time{}
		take := func() bool {
			name, wait, ok := d.Take(now)
			if !ok {
				now = now.Add(wait)
				return wait > 0
			}
			server := name[:2]
			if len(waiting[server]) == 0 || waiting[server][0] != name {
				t.Fatalf("%s dials, waiting are %v", name, waiting[server])
			}
			waiting[server] = waiting[server][1:]
			dialing[name] = server
			n := 0
			for _, s := range dialing {
				if s == server {
					n++
				}
			}
			if n > DialsPerServer || len(dialing) > DialsInAll {
				t.Fatalf("%d to %s, %d in all", n, server, len(dialing))
			}
			begun[server] = append(begun[server], now)
			if b := begun[server]; len(b) > DialsPerSecond && now.Sub(b[len(b)-1-DialsPerSecond]) < time.Second {
				t.Fatalf("more than %d within a second to %s", DialsPerSecond, server)
			}
			return true
		}
		done := func(name string) {
			d.Done(name)
			delete(dialing, name)
			s := name[:2]
			waiting[s] = slices.DeleteFunc(waiting[s], func(w string) bool { return w == name })
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				server := fmt.Sprint("s", rapid.IntRange(0, 9).Draw(t, "server"))
				name := fmt.Sprint(server, "-", rapid.IntRange(0, 9).Draw(t, "profile"))
				d.Ask(server, name)
				if dialing[name] == "" && !slices.Contains(waiting[server], name) {
					waiting[server] = append(waiting[server], name)
				}
			},
			"take": func(*rapid.T) { take() },
			"done": func(t *rapid.T) {
				server := rapid.IntRange(0, 9).Draw(t, "server")
				done(fmt.Sprint("s", server, "-", rapid.IntRange(0, 9).Draw(t, "profile")))
			},
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * time.Millisecond)
			},
			"forget": func(*rapid.T) { d.Forget(now) },
		})
		for range 1000 {
			if !take() {
				for name := range dialing {
					done(name)
				}
			}
		}
		for s, w := range waiting {
			if len(w) > 0 {
				t.Fatalf("%s: %v never had a turn", s, w)
			}
		}
	})
}

func BenchmarkDials(b *testing.B) {
	names := make([]string, 1000)
	servers := make([]string, len(names))
	for i := range names {
		names[i], servers[i] = fmt.Sprint("p", i), fmt.Sprint("s", i%20)
	}
	b.ReportAllocs()
	for b.Loop() {
		d, now := NewDials(), day
		for i, n := range names {
			d.Ask(servers[i], n)
		}
		for range names {
			name, wait, ok := d.Take(now)
			for !ok {
				now = now.Add(wait)
				name, wait, ok = d.Take(now)
			}
			d.Done(name)
		}
	}
}

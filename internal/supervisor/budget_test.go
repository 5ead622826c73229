package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel"
	"rcsupervisor/profile"
)

// Whoever waits once goes before another's second, whatever the order in which
// they came.
func TestTurnsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var line turns
		var came []*waiter
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 30).Draw(t, "came") {
			came = append(came, line.join(name))
		}
		waiting := map[string]int{}
		for _, w := range came {
			waiting[w.name]++
		}
		served := map[string]int{}
		for range came {
			w := line.next()
			served[w.name]++
			for name, n := range waiting {
				if served[name] < served[w.name]-1 && served[name] < n {
					t.Fatalf("%s had %d turns and %s %d", w.name, served[w.name], name, served[name])
				}
			}
		}
		if !line.empty() {
			t.Fatal("somebody is left")
		}
	})
}

// A 429 that one profile meets holds the route for all of its server, and
// nothing else; then they share what the limiter allows.
func TestALimitIsEverybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets()
		defer b.close()
		began := time.Now()
		var mu sync.Mutex
		var calls []string
		var group sync.WaitGroup
		call := func(server, route, name string) {
			group.Go(func() {
				if err := b.allow(t.Context(), server, route, name); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, fmt.Sprintf("%s %s", time.Since(began).Round(time.Second), name))
			})
			synctest.Wait()
		}
		call("s", "send", "alice") // nothing is limited yet
		b.limited("s", "send", 21*time.Second)
		for range 12 {
			call("s", "send", "alice")
		}
		call("s", "send", "bob")
		call("s", "me", "bob")
		call("other", "send", "carol")
		mu.Lock()
		if want := []string{"0s alice", "0s bob", "0s carol"}; !slices.Equal(calls, want) {
			t.Errorf("%q", calls)
		}
		mu.Unlock()
		time.Sleep(22 * time.Second)
		synctest.Wait()
		mu.Lock()
		if n := len(calls) - 3; n != limitedCalls || !slices.Contains(calls, "21s bob") {
			t.Errorf("%d calls after the time the server named: %q", n, calls)
		}
		mu.Unlock()
		group.Wait()
		if last := calls[len(calls)-1]; last != "39s alice" {
			t.Errorf("the last call was at %s: %q", last, calls)
		}
		time.Sleep(limitedLast)
		synctest.Wait()
		if len(b.routes) != 0 {
			t.Error("the route is limited for ever")
		}
	})
}

// Who leaves while he waits costs nobody a turn.
func TestLeavingALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgets()
		defer b.close()
		b.limited("s", "send", time.Minute)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := b.allow(ctx, "s", "send", "alice"); err == nil || err.Error() != "enough" {
			t.Error(err)
		}
		began := time.Now()
		if err := b.allow(t.Context(), "s", "send", "bob"); err != nil || time.Since(began).Round(time.Second) != 59*time.Second {
			t.Error(err, time.Since(began))
		}
	})
}

// At most so many agents live, and so many start; who has to wait gets his
// place when another's is free.
func TestAgentsShareTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgents(3, 2)
		got := make(chan string, 10)
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			var have []string
			for len(got) > 0 {
				have = append(have, <-got)
			}
			slices.Sort(have)
			if !slices.Equal(have, names) {
				t.Errorf("%q, not %q", have, names)
			}
		}
		ask := func(name string) {
			go func() {
				if a.allow(t.Context(), name) == nil {
					got <- name
				}
			}()
			synctest.Wait()
		}
		ask("a")
		ask("b")
		ask("c")
		ask("d")
		want("a", "b") // two start
		a.started("a")
		want("c") // three live
		a.started("b")
		a.started("c")
		want()
		a.over("b")
		want("d")
		a.over("nobody")
		ask("e")
		a.forget("a")
		want("e")
		ask("f")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.allow(ctx, "g"); err == nil {
			t.Error("g has a place")
		}
		a.over("c")
		time.Sleep(startingLast + time.Second) // d and e never said that they had started
		want("f")
		if a.total != 3 || !strings.Contains(fmt.Sprint(a.live), "d:1 e:1 f:1") {
			t.Errorf("%d live: %v", a.total, a.live)
		}
	})
}

func TestTheHostsMemory(t *testing.T) {
	if m := totalMemory(); m < 256<<20 || m > 1<<50 {
		t.Errorf("%d bytes", m)
	}
	if a := newAgents(0, 0); a.max < 1 || a.starting != startingAgents {
		t.Errorf("%+v", a)
	}
}

// When all places are taken the agent that was quiet for longest is asked to
// end its process, and the next if that one is at work.
func TestAQuietAgentGivesItsPlace(t *testing.T) {
	keys := keyring(t)
	w := &town{keys: keys}
	names := []string{"a", "b", "c"}
	var readings []profile.Reading
	for _, name := range names {
		readings = append(readings, w.reading(t, name, 1, sealedBot("user-"+name, 1)))
	}
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, keys)
		defer m.end()
		agents := m.super.servers.agents
		agents.max, agents.starting = 2, 2
		for _, r := range readings {
			m.put(r, profile.Appeared)
		}
		claimed := func(name string, n uint64) {
			r := m.puppet.living()[name]
			r.ear.Report(channel.Report{Run: r.start.Run, Connection: r.number, Counters: channel.Counters{Claimed: n}})
			synctest.Wait()
		}
		for _, name := range names {
			claimed(name, 1)
		}
		for _, name := range []string{"a", "b"} {
			if err := agents.allow(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			agents.started(name)
		}
		time.Sleep(time.Minute)
		claimed("a", 2) // b is the quiet one
		rests := func(name string) int {
			m.puppet.mu.Lock()
			defer m.puppet.mu.Unlock()
			return m.puppet.runs[name].rests
		}
		if rests("a")+rests("b") != 0 {
			t.Error("somebody has to give his place up that nobody wants")
		}
		got := make(chan error, 1)
		go func() { got <- agents.allow(t.Context(), "c") }()
		time.Sleep(time.Second / 2)
		if rests("a") != 0 || rests("b") != 1 {
			t.Errorf("a was asked %d times, b %d", rests("a"), rests("b"))
		}
		time.Sleep(restEvery)
		if rests("a") != 1 { // b is at work, it seems
			t.Errorf("a was asked %d times", rests("a"))
		}
		agents.over("a")
		if err := <-got; err != nil {
			t.Error(err)
		}
		agents.started("c")
		time.Sleep(10 * restEvery)
		if rests("a")+rests("b")+rests("c") > 4 {
			t.Error("it goes on though nobody waits")
		}
	})
}

package healthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// take takes what is due after waiting for it, and returns when that was.
func take(t *testing.T, s *Server, now time.Time) (Question, []string, time.Time) {
	t.Helper()
	d, ok := s.Due(now)
	if !ok {
		t.Fatal("nothing is due, ever")
	}
	if d > 0 {
		if q, ok, names := s.Take(now.Add(d - 1)); ok || names != nil {
			t.Fatalf("%+v, %v before it was due", q, names)
		}
	}
	now = now.Add(d)
	q, ok, names := s.Take(now)
	if !ok && names == nil {
		t.Fatalf("due after %v, and nothing to take", d)
	}
	return q, names, now
}

func TestServerProbes(t *testing.T) {
	s, now := NewServer(), day
	if s.Down() || s.Doubted() {
		t.Fatal("a new server is thought ill of")
	}
	if _, ok := s.Due(now); ok {
		t.Fatal("nobody waits, and something is due")
	}
	for _, n := range []string{"a", "b", "c", "a"} {
		s.Unreachable(n, now, flat)
	}
	if !s.Down() || s.Waiting() != 3 {
		t.Fatalf("down %v, %d wait", s.Down(), s.Waiting())
	}
	last := now
	for i, want := range []struct {
		name  string
		after time.Duration
	}{{"a", 1}, {"b", 2}, {"c", 5}, {"a", 5}, {"b", 5}} {
		q, _, at := take(t, s, now)
		if q.Kind != Reach || q.Name != want.name || at.Sub(last) != want.after*time.Second {
			t.Fatalf("probe %d: %+v after %v, want %+v", i, q, at.Sub(last), want)
		}
		// One at a time, however long it takes.
		if d, _ := s.Due(at.Add(3 * time.Second)); d != ProbeLimit-3*time.Second {
			t.Fatalf("probe %d: another is due in %v", i, d)
		}
		if got := s.Answer(q, false, at, flat); got != nil {
			t.Fatalf("no answer released %v", got)
		}
		now, last = at, at
	}
	q, _, now := take(t, s, now)
	if got := s.Answer(q, true, now, flat); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Fatalf("released %v", got)
	}
	if s.Down() || s.Waiting() != 0 {
		t.Error("still down")
	}
	if got := s.Answer(q, true, now, flat); got != nil {
		t.Errorf("the same answer again released %v", got)
	}
}

// A server that answers probes and takes no connection is not asked faster
// than one that doesn't answer; one that let somebody in is.
func TestServerGoesOnWhereItWas(t *testing.T) {
	s, now := NewServer(), day
	round := func(want time.Duration) {
		t.Helper()
		s.Unreachable("a", now, flat)
		q, _, at := take(t, s, now)
		if at.Sub(now) != want*time.Second {
			t.Fatalf("asked after %v, want %d s", at.Sub(now), want)
		}
		s.Answer(q, true, at, flat)
		now = at
	}
	for _, want := range []time.Duration{1, 2, 5, 5} {
		round(want)
	}
	s.Connected("a", now)
	round(1)
	round(2)
	s.Online("a", now)
	round(1)
}

// Somebody who got through is as good as a probe.
func TestServerSomebodyGotThrough(t *testing.T) {
	for name, through := range map[string]func(*Server) []string{
		"connected": func(s *Server) []string { return s.Connected("z", day) },
		"online":    func(s *Server) []string { return s.Online("z", day) },
	} {
		s := NewServer()
		for _, n := range []string{"a", "z", "b"} {
			s.Unreachable(n, day, flat)
		}
		if got := through(s); !slices.Equal(got, []string{"a", "b"}) || s.Down() {
			t.Errorf("%s: released %v", name, got)
		}
	}
}

func TestServerLostProbe(t *testing.T) {
	s, now := NewServer(), day
	s.Unreachable("a", now, flat)
	s.Unreachable("b", now, flat)
	q, _, now := take(t, s, now)
	r, _, at := take(t, s, now)
	if at.Sub(now) != ProbeLimit || r.Name != "b" {
		t.Fatalf("after a lost probe: %+v after %v", r, at.Sub(now))
	}
	// Its late no is not the other's no; a late yes is a yes.
	s.Answer(q, false, at, flat)
	if d, _ := s.Due(at); d != ProbeLimit {
		t.Errorf("a late no: the next is due in %v", d)
	}
	if got := s.Answer(q, true, at, flat); len(got) != 2 {
		t.Errorf("a late yes released %v", got)
	}
}

// Who asks and goes away takes nobody's turn with him.
func TestServerLeave(t *testing.T) {
	s, now := NewServer(), day
	for _, n := range []string{"z", "a", "b", "c"} {
		s.Unreachable(n, now, flat)
	}
	q, _, now := take(t, s, now)
	s.Leave(q.Name, now)
	if q, _, now = take(t, s, now); q.Name != "a" {
		t.Errorf("%s is next", q.Name)
	}
	s.Leave("b", now) // not the one who asks
	if d, _ := s.Due(now); d != ProbeLimit {
		t.Errorf("due in %v", d)
	}
	s.Leave(q.Name, now)
	next, _, at := take(t, s, now)
	if next.Name != "c" || !at.Equal(now) {
		t.Errorf("%+v after %v", next, at.Sub(now))
	}
	s.Leave("c", now)
	s.Leave("nobody", now)
	if _, ok := s.Due(now); ok || s.Waiting() != 0 {
		t.Error("nobody waits, and something is due")
	}
	// Down is still what is known; the next who comes asks.
	if !s.Down() {
		t.Error("up by itself")
	}
	s.Unreachable("d", now.Add(time.Hour), flat)
	if q, _, _ := take(t, s, now.Add(time.Hour)); q.Name != "d" {
		t.Errorf("%+v", q)
	}
}

func TestServerJitter(t *testing.T) {
	for _, c := range []struct {
		j    Jitter
		want time.Duration
	}{{early, 850 * time.Millisecond}, {late, 1150 * time.Millisecond}} {
		s := NewServer()
		s.Unreachable("a", day, c.j)
		if d, _ := s.Due(day); d != c.want {
			t.Errorf("due in %v, want %v", d, c.want)
		}
	}
}

func TestServerClockSetBack(t *testing.T) {
	s := NewServer()
	s.Unreachable("a", day, flat)
	now := day.Add(-time.Hour)
	if d, ok := s.Due(now); !ok || d != time.Second {
		t.Fatalf("due in %v", d)
	}
	q, _, now := take(t, s, now)
	now = now.Add(-time.Hour)
	if d, _ := s.Due(now); d != ProbeLimit {
		t.Errorf("lost in %v", d)
	}
	s.Answer(q, true, now, flat)

	doubt(t, s, now)
	now = now.Add(-24 * time.Hour)
	for s.Doubted() {
		d, ok := s.Due(now)
		if !ok {
			t.Fatal("stuck")
		}
		now = now.Add(d)
		if q, ok, _ := s.Take(now); ok {
			s.Answer(q, false, now, flat)
		}
	}
}

// doubt has three profiles refused at now.
func doubt(t *testing.T, s *Server, now time.Time) {
	t.Helper()
	for i, n := range []string{"a", "b", "c"} {
		common, limit, others := s.Refused(n, now, flat)
		if common != (i == 2) {
			t.Fatalf("%s: common is %v", n, common)
		}
		if common && (limit != DoubtLast || !slices.Equal(others, []string{"a", "b"})) {
			t.Fatalf("limit %v, others %v", limit, others)
		}
	}
}

func TestServerDoubt(t *testing.T) {
	s := NewServer()
	doubt(t, s, day)
	if !s.Doubted() || s.Down() {
		t.Fatal("three were refused")
	}
	// A fourth is spared its second login, and waits no longer than the others.
	common, limit, others := s.Refused("d", day.Add(5*time.Minute), flat)
	if !common || limit != 10*time.Minute || others != nil {
		t.Fatalf("%v, %v, %v", common, limit, others)
	}
	// One after the other asks, at 1, 2 and 5 minutes' distance, until it is over.
	now := day
	for i, want := range []struct {
		name  string
		after time.Duration
	}{{"a", 1}, {"b", 3}, {"c", 8}} {
		q, _, at := take(t, s, now)
		if q.Kind != Token || q.Name != want.name || at.Sub(day) != want.after*time.Minute {
			t.Fatalf("question %d: %+v after %v", i, q, at.Sub(day))
		}
		s.Answer(q, false, at, flat)
		now = at
	}
	_, names, at := take(t, s, now)
	if at.Sub(day) != DoubtLast || !slices.Equal(names, []string{"d", "a", "b", "c"}) || s.Doubted() {
		t.Fatalf("released %v after %v", names, at.Sub(day))
	}
	// Refused all of them again, it is the server still.
	doubt(t, s, at)
}

func TestServerDoubtEndsWithALogin(t *testing.T) {
	s := NewServer()
	doubt(t, s, day)
	q, _, now := take(t, s, day)
	if got := s.Answer(q, true, now, flat); !slices.Equal(got, []string{"a"}) || !s.Doubted() {
		t.Fatalf("taken: released %v", got)
	}
	if got := s.Online("a", now); !slices.Equal(got, []string{"b", "c"}) || s.Doubted() {
		t.Fatalf("logged in: released %v", got)
	}
	// What is refused now, while another got in, is refused for good.
	for _, n := range []string{"b", "c"} {
		if common, _, _ := s.Refused(n, now.Add(time.Second), flat); common {
			t.Errorf("%s: the server again", n)
		}
	}
	if common, _, _ := s.Refused("d", now.Add(time.Second), flat); common {
		t.Error("d: the server again, though b and c were believed")
	}
	// That is soon forgotten.
	doubt(t, s, now.Add(time.Hour))
}

func TestServerDoubtNeedsThreeInAMinute(t *testing.T) {
	type refused struct {
		name string
		at   time.Duration
	}
	for _, c := range []struct {
		name   string
		in     []refused
		online time.Duration // of somebody else, 0: never
		common bool
	}{
		{"one three times", []refused{{"a", 0}, {"a", 1}, {"a", 2}}, 0, false},
		{"two", []refused{{"a", 0}, {"b", 1}, {"a", 2}, {"b", 3}}, 0, false},
		{"three", []refused{{"a", 0}, {"b", 30}, {"c", 59}}, 0, true},
		{"three too slow", []refused{{"a", 0}, {"b", 30}, {"c", 60}}, 0, false},
		{"the first again", []refused{{"a", 0}, {"b", 30}, {"a", 31}, {"c", 60}}, 0, true},
		{"a login between", []refused{{"a", 0}, {"b", 30}, {"c", 59}}, 40, false},
		{"a login before", []refused{{"a", 2}, {"b", 30}, {"c", 59}}, 1, true},
	} {
		s, common := NewServer(), false
		for _, r := range c.in {
			at := day.Add(r.at * time.Second)
			if c.online > 0 && r.at > c.online {
				s.Online("z", day.Add(c.online*time.Second))
				c.online = 0
			}
			common, _, _ = s.Refused(r.name, at, flat)
		}
		if common != c.common {
			t.Errorf("%s: common is %v", c.name, common)
		}
	}
	// Who was stopped doesn't count.
	s := NewServer()
	s.Refused("a", day, flat)
	s.Refused("b", day, flat)
	s.Leave("a", day)
	if common, _, _ := s.Refused("c", day, flat); common {
		t.Error("two are left, and it is the server")
	}
	if common, _, others := s.Refused("a", day, flat); !common || !slices.Equal(others, []string{"b", "c"}) {
		t.Error("three again, and it isn't")
	}
}

// Both at once: the server is refused by some and not reached by others.
func TestServerBoth(t *testing.T) {
	s := NewServer()
	doubt(t, s, day)
	s.Unreachable("x", day, flat)
	q, _, now := take(t, s, day)
	if q.Kind != Reach || q.Name != "x" {
		t.Fatalf("%+v", q)
	}
	// One of the doubted finds nobody at home: it waits for that.
	s.Unreachable("a", now, flat)
	if got := s.Answer(q, true, now, flat); !slices.Equal(got, []string{"x", "a"}) {
		t.Errorf("released %v", got)
	}
	if !s.Doubted() || s.Waiting() != 2 {
		t.Errorf("doubted %v, %d wait", s.Doubted(), s.Waiting())
	}
}

func BenchmarkServer(b *testing.B) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("profile-%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := NewServer()
		for _, n := range names {
			s.Unreachable(n, day, flat)
		}
		now := day.Add(time.Second)
		q, _, _ := s.Take(now)
		if got := s.Answer(q, true, now, flat); len(got) != len(names) {
			b.Fatal(len(got))
		}
	}
}

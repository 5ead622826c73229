package pretend

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Fault is something that goes wrong on purpose. Kind says what; the table
// in menu.go says of each kind which of the other fields it reads.
type Fault struct {
	Kind  Kind     `json:"fault"`
	User  string   `json:"user,omitempty"`  // id or username; "" is everybody, also sockets nobody has logged in on
	Count int      `json:"count,omitempty"` // ends after so many uses; 0: when cleared; not for states such as silent
	For   Duration `json:"for,omitempty"`   // ends after this time; 0: when cleared
	Delay Duration `json:"delay,omitempty"` // a time the kind needs: a delay, an offset, a wait to be named
	Code  int      `json:"code,omitempty"`  // a close code or HTTP status
	Text  string   `json:"text,omitempty"`
	Route string   `json:"route,omitempty"` // a REST route such as chat.sendMessage; "" is every route, or the kind's own
	URL   string   `json:"url,omitempty"`
}

// A Duration is a time.Duration that JSON writes as "1m30s".
type Duration time.Duration

// MarshalJSON writes what time.Duration.String does.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads "1m30s", or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	if json.Unmarshal(b, &seconds) == nil {
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return errors.New("a duration is a string such as \"30s\" or a number of seconds")
	}
	v, err := time.ParseDuration(text)
	*d = Duration(v)
	return err
}

// lasting are the kinds that are states and not used up.
var lasting = []Kind{Silent, HalfOpen, SlowReader, Unreachable, ClockSkew}

// running is a fault in force.
type running struct {
	Fault
	id    uint64
	user  *user // nil: everybody
	timer *time.Timer
}

// faults are the faults in force. Its lock is a leaf: nothing else is locked
// while it is held.
type faults struct {
	count atomic.Int32 // len(list), for the way past without a lock

	mu      sync.Mutex
	list    []*running
	last    uint64
	changed chan struct{} // closed and made anew at every change
}

func (f *faults) none() bool { return f.count.Load() == 0 }

// match finds the first fault of kind k in force for u on a route.
func (f *faults) match(k Kind, u *user, route string) *running {
	for _, r := range f.list {
		if r.Kind == k && (r.user == nil || r.user == u) && (route == "" || r.Route == "" || r.Route == route) {
			return r
		}
	}
	return nil
}

// has tells whether k is in force for u, without using it up.
func (f *faults) has(k Kind, u *user) bool {
	if f.none() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.match(k, u, "") != nil
}

// use is has, and counts as one of the fault's uses.
func (f *faults) use(k Kind, u *user, route string) bool {
	_, ok := f.on(k, u, route)
	return ok
}

func (f *faults) find(k Kind, u *user, route string) (Fault, bool) { return f.on(k, u, route) }

func (f *faults) on(k Kind, u *user, route string) (Fault, bool) {
	if f.none() {
		return Fault{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.match(k, u, route)
	if r == nil {
		return Fault{}, false
	}
	if r.Count > 0 {
		if r.Count--; r.Count == 0 {
			f.dropLocked(r)
		}
	}
	return r.Fault, true
}

func (f *faults) dropLocked(r *running) bool {
	i := slices.Index(f.list, r)
	if i < 0 {
		return false
	}
	f.list = slices.Delete(f.list, i, i+1)
	if r.timer != nil {
		r.timer.Stop()
	}
	f.tellLocked()
	return true
}

func (f *faults) tellLocked() {
	f.count.Store(int32(len(f.list)))
	if f.changed != nil {
		close(f.changed)
	}
	f.changed = make(chan struct{})
}

// waitWhile returns true once k is no longer in force for the user, and false
// if one of the channels was closed before.
func (f *faults) waitWhile(k Kind, u *atomic.Pointer[user], over, closing <-chan struct{}) bool {
	for f.has(k, u.Load()) {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-over:
			return false
		case <-closing:
			return false
		}
	}
	return true
}

// Break puts a fault in force, or does at once what is done at once (drop,
// restart, odd frames). The function it returns clears it. It panics for a
// kind or a user that isn't there; see [Server.TryBreak].
func (s *Server) Break(f Fault) (mend func()) {
	id, err := s.TryBreak(f)
	if err != nil {
		panic("pretend: " + err.Error())
	}
	return func() { s.Mend(id) }
}

// TryBreak is Break for what comes from outside: it returns the fault's number
// (0 for what was done at once), or what is wrong with it.
func (s *Server) TryBreak(f Fault) (uint64, error) {
	e, ok := menuEntry(f.Kind)
	if !ok {
		return 0, fmt.Errorf("no fault %q", f.Kind)
	}
	var u *user
	if f.User != "" {
		s.mu.Lock()
		u = s.findUserLocked(f.User)
		s.mu.Unlock()
		if u == nil {
			return 0, fmt.Errorf("no user %q", f.User)
		}
	}
	if f.Count < 0 || f.For < 0 {
		return 0, errors.New("count and for are not negative")
	}
	if f.Count > 0 && slices.Contains(lasting, f.Kind) {
		return 0, fmt.Errorf("%s is a state and has no count: give it a time in `for`", f.Kind)
	}
	if u != nil && e.All {
		return 0, fmt.Errorf("%s is for everybody, not for one user", f.Kind)
	}
	defer s.changedNow()
	if e.check != nil {
		if err := e.check(f); err != nil {
			return 0, err
		}
	}
	if e.now != nil {
		e.now(s, f, u)
		return 0, nil
	}
	return s.faults.start(s, f, u), nil
}

func (f *faults) start(s *Server, fault Fault, u *user) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	r := &running{Fault: fault, id: f.last, user: u}
	f.list = append(f.list, r)
	if fault.For > 0 {
		id := r.id
		r.timer = time.AfterFunc(time.Duration(fault.For), func() { s.Mend(id) })
	}
	f.tellLocked()
	return r.id
}

// Mend clears the fault of that number and lets go what it kept back. It
// reports whether it was in force.
func (s *Server) Mend(id uint64) bool {
	return s.mend(func(r *running) bool { return r.id == id }) > 0
}

// MendAll clears all faults, or all of one kind; it returns how many.
func (s *Server) MendAll(kinds ...Kind) int {
	return s.mend(func(r *running) bool { return len(kinds) == 0 || slices.Contains(kinds, r.Kind) })
}

func (s *Server) mend(match func(*running) bool) int {
	f := &s.faults
	f.mu.Lock()
	var gone []*running
	for _, r := range slices.Clone(f.list) {
		if match(r) && f.dropLocked(r) {
			gone = append(gone, r)
		}
	}
	f.mu.Unlock()
	if len(gone) == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sessions {
		for _, r := range gone {
			if r.user == nil || r.user == c.user.Load() {
				c.out.release(r.Kind)
			}
		}
	}
	s.changedLocked()
	return len(gone)
}

// A Running fault is one in force.
type Running struct {
	ID uint64 `json:"id"`
	Fault
}

// Faults lists the faults in force, oldest first.
func (s *Server) Faults() []Running {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	list := make([]Running, len(s.faults.list))
	for i, r := range s.faults.list {
		list[i] = Running{r.id, r.Fault}
	}
	return list
}

// stop ends all timers.
func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.list {
		if r.timer != nil {
			r.timer.Stop()
		}
	}
}

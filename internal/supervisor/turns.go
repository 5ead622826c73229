package supervisor

import "slices"

// turns are those who wait for something of which there isn't enough, in an
// order that gives every profile its share: whoever waits once goes before
// another's second. It is not safe for concurrent use.
type turns struct{ waiting []*waiter }

// A waiter is one who waits. ready is closed when it is his turn.
type waiter struct {
	name  string
	nth   int // of those that this profile had waiting when it came
	ready chan struct{}
}

// join puts a profile in line.
func (t *turns) join(name string) *waiter {
	w := &waiter{name: name, ready: make(chan struct{})}
	for _, other := range t.waiting {
		if other.name == name {
			w.nth++
		}
	}
	at := len(t.waiting)
	for at > 0 && t.waiting[at-1].nth > w.nth {
		at--
	}
	t.waiting = slices.Insert(t.waiting, at, w)
	return w
}

// leave takes a waiter out who waits no more, and reports false when it was his
// turn already.
func (t *turns) leave(w *waiter) bool {
	i := slices.Index(t.waiting, w)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return true
}

// next lets the first go.
func (t *turns) next() *waiter {
	w := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	close(w.ready)
	return w
}

func (t *turns) empty() bool { return len(t.waiting) == 0 }

package lane

import "sync"

// A Lane hands what is put into it to Do, in the order in which it came, one
// batch at a time and never two at once. The zero Lane is not usable: set Do
// and Group before the first Put, and don't copy it after.
type Lane[T any] struct {
	// Do takes everything that waits, at least one item. It runs on the
	// lane's goroutine and may block.
	Do func(batch []T)
	// Group counts the lane's goroutine, so that whoever owns the lane can
	// wait for its end.
	Group *sync.WaitGroup
	// Turn, if there is one, is waited for before a batch is taken: what comes
	// meanwhile goes with it. What it returns is called once Do is over.
	Turn func() (over func())
	// Bound is how many items may wait, 0 for no bound. What Do is busy with
	// does not count.
	Bound int

	mu      sync.Mutex
	waiting []T
	running bool
}

// Put adds an item. It never blocks; it reports false, and takes nothing, when
// Bound items wait already.
func (l *Lane[T]) Put(item T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Bound > 0 && len(l.waiting) >= l.Bound {
		return false
	}
	l.waiting = append(l.waiting, item)
	if !l.running {
		l.running = true
		l.Group.Go(l.run)
	}
	return true
}

// Len returns how many items wait.
func (l *Lane[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func (l *Lane[T]) run() {
	for l.some() {
		over := func() {}
		if l.Turn != nil {
			over = l.Turn()
		}
		l.mu.Lock()
		batch := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		l.Do(batch)
		over()
	}
}

// some reports whether anything waits; if not, the lane's goroutine is over.
func (l *Lane[T]) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.waiting) > 0
	return l.running
}

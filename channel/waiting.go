package channel

import "sync"

// waiting is the live messages that came and are not settled yet, by id; one
// that was published twice counts as two. The zero value is nobody. Any
// goroutine.
type waiting struct {
	mu  sync.Mutex
	n   int
	ids map[string]int
}

func (w *waiting) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ids == nil {
		w.ids = make(map[string]int)
	}
	w.ids[id]++
	w.n++
}

func (w *waiting) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	if w.ids[id]--; w.ids[id] == 0 {
		delete(w.ids, id)
	}
	if w.n == 0 {
		w.ids = nil // a map doesn't shrink
	}
}

func (w *waiting) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ids[id] > 0
}

func (w *waiting) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

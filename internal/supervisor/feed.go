package supervisor

import "sync"

// A feed tells whoever listens which profiles are others than before. A
// listener that is slow gets each name once, however often it changed.
type feed struct {
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

// A Listener hears of changes until it is closed.
type Listener struct {
	feed *feed
	poke chan struct{} // capacity 1

	mu    sync.Mutex
	names map[string]struct{} // changed since the last Take
}

// Listen begins to hear of changes.
func (s *Supervisor) Listen() *Listener {
	l := &Listener{feed: &s.feed, poke: make(chan struct{}, 1), names: make(map[string]struct{})}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if s.feed.listeners == nil {
		s.feed.listeners = make(map[*Listener]struct{})
	}
	s.feed.listeners[l] = struct{}{}
	return l
}

// publish says that a profile has changed; "" stands for the supervisor.
func (f *feed) publish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		l.mu.Lock()
		l.names[name] = struct{}{}
		l.mu.Unlock()
		select {
		case l.poke <- struct{}{}:
		default:
		}
	}
}

// C is readable when something has changed.
func (l *Listener) C() <-chan struct{} { return l.poke }

// Take returns the names of what has changed since the last Take, "" among them
// for the supervisor itself.
func (l *Listener) Take() map[string]struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := l.names
	l.names = make(map[string]struct{})
	return names
}

// Close hears no more.
func (l *Listener) Close() {
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	delete(l.feed.listeners, l)
}

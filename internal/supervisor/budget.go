package supervisor

import (
	"context"
	"sync"
	"time"
)

// Rocket.Chat's limiter counts per address and route, so all profiles of one
// server share what it allows. Most bots are exempt, and whether one is can't
// be asked. So nothing is held back until a server says that it limits; from
// then on the route is paced for all, each profile in its turn, until it has
// not been met for a while.

// Bounds of a limited route: the limiter's default is 10 calls in a minute.
const (
	limitedCalls  = 10
	limitedWindow = time.Minute
	limitedLast   = 10 * time.Minute
	limitedMost   = 15 * time.Minute
)

type routeKey struct{ server, route string }

// A budgets is the REST budget of all servers. Its methods may be called from
// any goroutine.
type budgets struct {
	mu     sync.Mutex
	routes map[routeKey]*budget // those that are limited
}

// A budget is one limited route.
type budget struct {
	held   time.Time // nobody calls it until then
	met    time.Time // when the limit was last met
	tokens float64
	filled time.Time
	turns  turns
	timer  *time.Timer
}

func newBudgets() *budgets { return &budgets{routes: make(map[routeKey]*budget)} }

// limited says that a server asked for time on a route.
func (b *budgets) limited(server, route string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := routeKey{server, route}
	now := time.Now()
	x := b.routes[key]
	if x == nil {
		x = &budget{}
		x.timer = time.AfterFunc(time.Hour, func() { b.serve(key) })
		b.routes[key] = x
	}
	until := now.Add(max(time.Second, min(d, limitedMost)))
	if until.After(x.held) {
		x.held = until
	}
	// When the time is over a whole window is free again.
	x.met, x.tokens, x.filled = now, limitedCalls, x.held
	x.timer.Reset(time.Until(x.held))
}

// allow returns when a profile may call a route.
func (b *budgets) allow(ctx context.Context, server, route, name string) error {
	key := routeKey{server, route}
	b.mu.Lock()
	x := b.routes[key]
	if x == nil {
		b.mu.Unlock()
		return nil
	}
	w := x.turns.join(name)
	b.serveLocked(key, x)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		x.turns.leave(w)
		return context.Cause(ctx)
	}
}

func (b *budgets) serve(key routeKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.routes[key]; x != nil {
		b.serveLocked(key, x)
	}
}

// serveLocked lets those go whose turn it is, and sets the clock for the next.
// A route that was not limited for long is free again.
func (b *budgets) serveLocked(key routeKey, x *budget) {
	now := time.Now()
	if now.Sub(x.met) >= limitedLast {
		for !x.turns.empty() {
			x.turns.next()
		}
		x.timer.Stop()
		delete(b.routes, key)
		return
	}
	if now.Before(x.held) {
		x.timer.Reset(x.held.Sub(now))
		return
	}
	if d := now.Sub(x.filled); d > 0 {
		x.tokens = min(limitedCalls, x.tokens+d.Seconds()/limitedWindow.Seconds()*limitedCalls)
		x.filled = now
	}
	for !x.turns.empty() && x.tokens >= 1 {
		x.tokens--
		x.turns.next()
	}
	wait := limitedLast - now.Sub(x.met)
	if !x.turns.empty() {
		wait = time.Duration((1 - x.tokens) / limitedCalls * float64(limitedWindow))
	}
	x.timer.Reset(wait + time.Millisecond)
}

// close ends the clocks.
func (b *budgets) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, x := range b.routes {
		x.timer.Stop()
		delete(b.routes, key)
	}
}

package rest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheBudgetIsAskedForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var routes []string
		c, b, _, stop := bubble(t, full, func(cfg *Config) {
			cfg.Allow = func(_ context.Context, route string) error {
				routes = append(routes, route)
				time.Sleep(time.Minute) // longer than a call may take
				return nil
			}
		})
		defer stop()
		for _, call := range everyCall {
			if call.again {
				continue
			}
			routes = nil
			before := b.count()
			mustBe(t, call.make(t.Context(), c), ErrUnavailable)
			if fmt.Sprint(routes) != "["+call.route+"]" || b.count()-before != 1 {
				t.Errorf("%s: asked for %v, %d requests", call.name, routes, b.count()-before)
			}
		}
	})
}

func TestABudgetThatSaysNo(t *testing.T) {
	b := secure(t, succeeds)
	no := errors.New("the host has no more of it")
	for _, call := range everyCall {
		c := b.client(t, func(cfg *Config) {
			cfg.Allow = func(context.Context, string) error { return no }
		})
		if err := call.make(t.Context(), c); !errors.Is(err, no) {
			t.Errorf("%s: %v", call.name, err)
		}
	}
	if b.count() != 0 {
		t.Errorf("asked %d times", b.count())
	}
}

// A budget that is waited for ends with the client.
func TestCloseEndsAWaitForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, stop := bubble(t, meOK, func(cfg *Config) {
			cfg.Allow = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		})
		defer stop()
		errs := make(chan error, len(everyCall))
		for _, call := range everyCall {
			go func() { errs <- call.make(t.Context(), c) }()
		}
		synctest.Wait()
		c.Close()
		for range everyCall {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

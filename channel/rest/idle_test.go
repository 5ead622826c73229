package rest

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A client keeps its transport for as long as a call lives, and a while longer;
// the next call has another.
func TestIdleTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 3 * idleTime
		c, _, _, stop := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(long)
			meOK(w, r)
		}, nil)
		defer stop()
		there := func() bool {
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.transport != nil
		}
		if there() {
			t.Error("it is there before the first call")
		}
		for range 2 {
			done := make(chan error)
			go func() {
				_, err := c.Me(t.Context())
				done <- err
			}()
			time.Sleep(long - time.Millisecond)
			if !there() {
				t.Error("it was let go of under a call")
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			time.Sleep(idleTime - time.Millisecond)
			if !there() {
				t.Error("it was let go of too early")
			}
			time.Sleep(time.Millisecond)
			if there() {
				t.Error("an idle client keeps it")
			}
		}
	})
}

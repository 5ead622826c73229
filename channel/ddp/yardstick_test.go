package ddp_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"rcsupervisor/channel/ddp"
	"rcsupervisor/channel/dial"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// What keeps a shared bot from acting for the wrong person, where it is met by
// the socket that the token is said on.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	t.Run("the token goes elsewhere", func(t *testing.T) {
		var asked atomic.Int32
		thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer thief.Close()
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			s := httptest.NewServer(http.RedirectHandler(thief.URL+"/websocket", status))
			end := ddp.Run(t.Context(), ddp.Config{Server: s.URL, UserID: bot, Token: sealed.NewSecret(token), Network: &dial.Network{}}, &told{})
			wantEnd(t, end, ddp.End{Reason: healthcheck.Unreachable}, "which is not followed")
			s.Close()
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("another server was asked %d times", n)
		}
	})
}

package rest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What keeps a shared bot from acting for the wrong person, where it is met by
// whom the token is shown.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	t.Run("the token goes elsewhere", func(t *testing.T) {
		const file = "/file-upload/f1/a.txt"
		thief := secure(t, succeeds)
		for _, to := range []string{thief.url + "/api/v1/me", thief.url + file, "//" + strings.TrimPrefix(thief.url, "https://") + "/", "/login"} {
			for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
				b := secure(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", to)
					w.WriteHeader(status)
				})
				c := b.client(t, nil)
				for _, call := range everyCall {
					mustBe(t, call.make(t.Context(), c), ErrRedirected)
				}
				if d, err := c.Download(t.Context(), file, 1000); err == nil {
					got, _ := io.ReadAll(d)
					t.Errorf("%d to %s: a file: %q", status, to, got)
					d.Close()
				}
				for _, r := range b.asked {
					if r.path == "/login" {
						t.Errorf("%d: it was followed at home", status)
					}
				}
			}
		}
		// Nor does a link in a message, or a file's address, send it there.
		b := secure(t, succeeds)
		for _, link := range []string{thief.url + file, "//" + strings.TrimPrefix(thief.url, "https://") + file, b.url + "@" + strings.TrimPrefix(thief.url, "https://") + file} {
			if d, err := b.client(t, nil).Download(t.Context(), link, 1000); err == nil {
				t.Errorf("%s was fetched", link)
				d.Close()
			}
		}
		if n := thief.count(); n != 0 {
			t.Errorf("another server was asked %d times", n)
		}
	})
}

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"rcsupervisor/internal/supervisor"
)

// hostileNames are names that nobody's profile has: what a terminal would obey,
// what hides, what is no text, what is too long, and what leads elsewhere.
var hostileNames = []string{
	"\x1b[2J\x1b[31mall is well", "\x1b]0;owned\x07", "a\r\nrcsupervisor: done", "\u009b31m", "\u202egnihton", "a\u200bb", "\u2028x", "\x00", "\xff\xfe\x9b", "é\xcc",
	"../alice", "%2e%2e%2f", "a/b", "a b", "A", strings.Repeat("x", 65), strings.Repeat("\x1b", 2<<10), strings.Repeat("日", 1<<9), "-x", "'; rm -rf ~", "{}",
}

// A name that came from whoever asks is never said as it is: not in an answer,
// which a terminal shows, and not in the audit file, which people look at.
func TestNamesFromOutsideAreNeverRaw(t *testing.T) {
	told := Verb{Name: "told", Unknown: true, Do: func(_ context.Context, c Call) (any, error) {
		return nil, fmt.Errorf("%w: %s", supervisor.ErrNoProfile, c.Profile)
	}}
	p := newPost(t, nil, told)
	web := &http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.socket) },
		DisableKeepAlives: true,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	said := func(method, path, name string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://_"+path, nil)
		p.must(err)
		resp, err := web.Do(req)
		p.must(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		p.must(err)
		var e struct{ Error *Error }
		if resp.StatusCode < 400 || json.Unmarshal(body, &e) != nil && resp.StatusCode < 430 {
			t.Errorf("%s %.60s: %d %.200q", method, path, resp.StatusCode, body)
		}
		harmless(t, fmt.Sprintf("the answer to %s of %.30q", method, name), string(body))
		if e.Error != nil {
			harmless(t, fmt.Sprintf("the message to %s of %.30q", method, name), e.Error.Message+e.Error.Try)
		}
	}
	for _, name := range hostileNames {
		escaped := url.PathEscape(name)
		for _, verb := range []string{"stop", "start", "adopt", "suspend", "told", "dance", escaped} {
			said("POST", "/v1/profiles/"+escaped+"/"+verb, name)
		}
		said("GET", "/v1/profiles/"+escaped, name)
		said("GET", "/v1/profiles/"+escaped+"/logs", name)
		said("GET", "/v1/status?name="+url.QueryEscape(name), name)
	}
	// Over a megabyte it is not even read.
	rec := httptest.NewRecorder()
	fail(rec, noProfile(strings.Repeat("\x1b", 1<<20)))
	harmless(t, "the answer to a megabyte", rec.Body.String())
	p.end()
	audit, err := os.ReadFile(filepath.Join(p.dir, "state", AuditFile))
	p.must(err)
	for line := range bytes.Lines(audit) {
		harmless(t, "the audit file", strings.TrimSuffix(string(line), "\n"))
	}
}

// harmless fails for what a terminal would do more with than show it.
func harmless(t *testing.T, what, s string) {
	t.Helper()
	s = strings.TrimSuffix(s, "\n")
	if len(s) > 2<<10 || !utf8.ValidString(s) {
		t.Errorf("%s: %d bytes, or no text: %.100q", what, len(s), s)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%s: %.200q", what, s)
	}
}

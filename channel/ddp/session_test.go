package ddp

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

const fuzzToken = "the-token-of-the-bot"

// A watched session checks, at each step, what must hold whatever a server
// says.
type watched struct {
	*session
	t    *testing.T
	sent []string
	told []string
}

func watch(t *testing.T) *watched {
	w := &watched{t: t}
	w.session = &session{
		user: "bot", token: sealed.NewSecret(fuzzToken), handler: w, log: slog.New(slog.DiscardHandler),
		send: func(b []byte) { w.sent = append(w.sent, string(b)) },
	}
	w.reached = func(p phase) {
		if p == online {
			w.Ready(nil)
		}
	}
	return w
}

func (w *watched) Connected() { w.told = append(w.told, "connected") }

func (w *watched) Ready(*Conn) {
	if w.count("ready") > 0 || w.count("connected") != 1 {
		w.t.Error("ready out of turn")
	}
	w.told = append(w.told, "ready")
}

func (w *watched) Event(e Event) {
	if w.count("ready") != 1 {
		w.t.Error("an event before ready")
	}
	for _, a := range e.Args {
		if !json.Valid(a) {
			w.t.Errorf("an event with %q", a)
		}
	}
	w.told = append(w.told, "event")
}

func (w *watched) count(what string) (n int) {
	for _, s := range w.told {
		if s == what {
			n++
		}
	}
	return n
}

// FuzzSession lets a server say anything, a frame to a line.
func FuzzSession(f *testing.F) {
	connected, in, ready := `{"msg":"connected"}`, `{"msg":"result","id":"login-1","result":{"id":"bot"}}`, `{"msg":"ready","subs":["sub-1"]}`
	for _, seed := range []string{
		connected + "\n" + in + "\n" + message + "\n" + ready + "\n" + message,
		connected + "\n" + `{"msg":"ping","id":"1"}` + "\n" + `{"msg":"result","id":"login-1","error":{"error":"too-many-requests","details":{"timeToReset":1e9}}}`,
		connected + "\n" + in + "\n" + `{"msg":"nosub","id":"sub-1","error":{"error":404,"reason":"` + fuzzToken + `"}}`,
		connected + "\n" + `{"msg":"result","id":"login-1","result":{"id":"other"}}`,
		`{"msg":"failed"}`, `{"msg":"error","reason":"Must connect first"}` + "\n" + ready + "\n" + in,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := watch(t)
		w.start()
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			fr, err := decode(line)
			if err != nil {
				continue
			}
			if end := w.take(&fr); end != nil {
				w.ended(end)
				break
			}
		}
		for i, s := range w.sent {
			if !json.Valid([]byte(s)) {
				t.Errorf("sent %q", s)
			}
			if login := strings.Contains(s, fuzzToken) && strings.Contains(s, `"login-1"`); login && (i == 0 || w.count("connected") != 1) {
				t.Error("the login before `connected`")
			}
		}
	})
}

func (w *watched) ended(e *End) {
	switch e.Reason {
	case healthcheck.Dropped, healthcheck.Identity:
	case healthcheck.Refused:
		if !e.LoginRefused {
			w.t.Error("a refusal taken for confirmed")
		}
	case healthcheck.RateLimited:
		if e.RetryAfter < leastWait || e.RetryAfter > mostWait {
			w.t.Errorf("to wait %s", e.RetryAfter)
		}
	default:
		w.t.Errorf("ended as %s", e.Reason)
	}
	if text := e.Error(); strings.Contains(text, fuzzToken) || strings.ContainsAny(text, "\n\x1b\u202e") || len(text) > 1000 {
		w.t.Errorf("the end says %q", text)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"as it is, ü":                       "as it is, ü",
		"a\nb\x00\x1b[31m\u202ec":           "a b  [31m c",
		"the secret is here":                "the [sealed] is here",
		strings.Repeat("x", 158) + "secret": strings.Repeat("x", 158) + "[s",
		"bad \xff byte":                     "bad \ufffd byte",
	} {
		if got := printable(in, "secret"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

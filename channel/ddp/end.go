package ddp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"rcsupervisor/healthcheck"
)

// An End is how a connection ended. It is an error, so that it can be the cause
// a context is cancelled with: Run then ends with a copy of it.
type End struct {
	// Reason is one of healthcheck's for a connection: silent, closed, dropped,
	// unreachable, rate-limited, refused, identity; operator when the context was
	// cancelled without an End for its cause; bad-config when the address or the
	// network's settings can't be used at all.
	Reason healthcheck.Reason
	// Err says it in one sentence, without the token and without message text.
	Err error
	// RetryAfter is the time a rate-limited server asked for, 1 s to 15 min.
	RetryAfter time.Duration
	// LoginRefused marks a refusal as not yet confirmed: the login was answered
	// with 403, which a server does to valid tokens too when its database lags
	// (RC#23947). GET /api/v1/me answering 401 confirms it.
	LoginRefused bool
	// CloseCode is that of the server's close frame, 0 where there was none.
	CloseCode int
	// Connected and Online tell how far the connection had come: the server said
	// `connected`; the subscription was `ready`.
	Connected, Online bool
}

func (e *End) Error() string {
	if e.Err == nil {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Err.Error()
}

func (e *End) Unwrap() error { return e.Err }

func ended(reason healthcheck.Reason, text string) *End {
	return &End{Reason: reason, Err: errors.New(text)}
}

// cancelled is the End of a connection that its own side ended.
func cancelled(ctx context.Context) *End {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*End](cause); ok {
		mine := *e
		return &mine
	}
	return &End{Reason: healthcheck.Operator, Err: cause}
}

// Bounds of what a rate-limited server may ask for, and what is taken when it
// names no time.
const (
	leastWait   = time.Second
	mostWait    = 15 * time.Minute
	unnamedWait = 10 * time.Second
)

// wait brings what a server asked for within bounds.
func wait(ms float64) time.Duration {
	if math.IsNaN(ms) || ms <= 0 {
		return leastWait
	}
	if ms > float64(mostWait.Milliseconds()) {
		return mostWait
	}
	return max(leastWait, time.Duration(ms*float64(time.Millisecond)))
}

// A remoteError is the error of a result or nosub. `error` in it is a number or
// a string, and old servers send it bare.
type remoteError struct {
	code   string // "403", "too-many-requests", …; "" when there is none
	reason string
	wait   time.Duration
}

func readError(raw []byte) remoteError {
	var wire struct {
		Error, Reason, Message, Details json.RawMessage
	}
	if raw[0] != '{' || json.Unmarshal(raw, &wire) != nil {
		return remoteError{code: code(raw), wait: unnamedWait}
	}
	e := remoteError{code: code(wire.Error), reason: text(wire.Reason), wait: unnamedWait}
	if e.reason == "" {
		e.reason = text(wire.Message)
	}
	var details struct {
		TimeToReset json.RawMessage `json:"timeToReset"`
	}
	if len(wire.Details) > 0 && json.Unmarshal(wire.Details, &details) == nil {
		if ms, err := strconv.ParseFloat(code(details.TimeToReset), 64); err == nil {
			e.wait = wait(ms)
		}
	}
	return e
}

// code returns a JSON string or number as text.
func code(raw []byte) string {
	if s := text(raw); s != "" {
		return s
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return ""
}

// end is what a connection ends with when the server answered step with e.
func (e remoteError) end(step string, said func(string) string) *End {
	switch {
	case e.code == "too-many-requests":
		return &End{Reason: healthcheck.RateLimited, RetryAfter: e.wait, Err: errors.New(step + ": the server asks to wait " + e.wait.Round(time.Second).String())}
	case e.code == "" && e.reason == "":
		return ended(healthcheck.Dropped, step+": refused without a reason")
	}
	return ended(healthcheck.Dropped, step+": "+said(strings.TrimSpace(e.code+" "+e.reason)))
}

// quotable is how much of a server's sentence is passed on, in characters.
const quotable = 160

// printable returns a server's words as one line of bounded length in which
// secret can't be read: a server that lies could say it back.
func printable(words, secret string) string {
	if secret != "" {
		words = strings.ReplaceAll(words, secret, "[sealed]")
	}
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n > quotable {
			return -1
		}
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, words)
}

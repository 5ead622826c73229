package rest

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
)

// An envelope is what an answer says of itself, in all the shapes the versions
// have: {success, error, errorType, details} and, up to 8, {status, message}.
type envelope struct {
	Success *bool           `json:"success"`
	Status  string          `json:"status"`
	Error   json.RawMessage `json:"error"` // a text, a type, or an object
	Type    string          `json:"errorType"`
	Message string          `json:"message"`
	Details struct {
		Reset float64 `json:"timeToReset"` // milliseconds
	} `json:"details"`
}

// ours reports whether it is an answer of Rocket.Chat's API at all. Proxies
// and firewalls say no in JSON too, of other shapes, and what they refuse the
// server never heard of.
func (e *envelope) ours() bool { return e.Success != nil || e.Status != "" }

// text is the sentence in which the server says what is wrong. It may quote
// what was sent and is compared, never passed on.
func (e *envelope) text() string {
	var s string
	if json.Unmarshal(e.Error, &s) == nil && s != "" {
		return s
	}
	return e.Message
}

// failed reports whether the answer says that the call failed, whatever its
// status.
func (e *envelope) failed() bool {
	return e.Success != nil && !*e.Success || e.Status == "error"
}

// errorType finds the server's name for the failure: its errorType; else its
// error when that is a name (older versions); else the name in brackets that
// Meteor puts at the end of a text.
func (e *envelope) errorType() string {
	if plainType(e.Type) {
		return e.Type
	}
	text := e.text()
	if known(text) {
		return text
	}
	if i := strings.LastIndexByte(text, '['); i >= 0 && strings.HasSuffix(text, "]") {
		if name := text[i+1 : len(text)-1]; known(name) {
			return name
		}
	}
	return ""
}

func known(name string) bool {
	_, ok := kinds[name]
	return ok || strings.HasPrefix(name, "error-") && plainType(name)
}

// plainType reports whether s can be a name, and not something a server put
// where a name belongs.
func plainType(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range []byte(s) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// kinds is what the servers' names mean, over all versions.
var kinds = map[string]Kind{
	"totp-required":     ErrTwoFactor,
	"totp-invalid":      ErrTwoFactor,
	"totp-max-attempts": ErrTwoFactor,

	"error-not-allowed":        ErrForbidden,
	"error-action-not-allowed": ErrForbidden,
	"error-forbidden":          ErrForbidden,
	"error-unauthorized":       ErrForbidden,
	"error-not-authorized":     ErrForbidden,
	"error-no-permission":      ErrForbidden,
	"not-allowed":              ErrForbidden,
	"not-authorized":           ErrForbidden,
	"forbidden":                ErrForbidden,
	"unauthorized":             ErrForbidden,
	"room_is_blocked":          ErrForbidden,
	"You_have_been_muted":      ErrForbidden,

	"error-too-many-requests": ErrRateLimited,
	"too-many-requests":       ErrRateLimited,

	"error-message-not-found": ErrNotFound,
	"error-invalid-message":   ErrNotFound,
	"error-file-not-found":    ErrNotFound,
	"error-user-not-found":    ErrNotFound,
	"invalid-file":            ErrNotFound,

	"invalid-channel":         ErrRoomGone,
	"invalid-room":            ErrRoomGone,
	"error-invalid-channel":   ErrRoomGone,
	"error-invalid-room":      ErrRoomGone,
	"error-room-not-found":    ErrRoomGone,
	"error-channel-not-found": ErrRoomGone,
	"error-not-in-room":       ErrRoomGone,

	"error-room-archived":    ErrReadOnly,
	"error-room-is-archived": ErrReadOnly,
	"room_is_archived":       ErrReadOnly,
	"error-room-readonly":    ErrReadOnly,

	"error-message-size-exceeded": ErrTooLong,
	"error-file-too-large":        ErrTooLong,
}

// texts is what the servers' sentences mean where they give no name.
var texts = []struct {
	all  []string // every one of them is in the sentence
	kind Kind
}{
	{[]string{"E11000"}, ErrDuplicate},
	{[]string{"Cannot read propert", "'starred'"}, ErrDuplicate},
	{[]string{"room is readonly"}, ErrReadOnly},
	{[]string{"You have been muted"}, ErrForbidden},
	{[]string{"too many requests"}, ErrRateLimited},
	{[]string{"No message found with the id"}, ErrNotFound},
	{[]string{"User not found"}, ErrNotFound},
}

// meaning returns what the server's own words say, "" when they say nothing
// known. The words that tell a duplicate come before any name: E11000 arrives
// with the name of a database error.
func (e *envelope) meaning(route string) Kind {
	name, text := e.errorType(), e.text()
	for _, t := range texts[:2] {
		if containsAll(text, t.all) {
			return t.kind
		}
	}
	if k, ok := kinds[name]; ok {
		return k
	}
	// Of a call that names a user it is that user; of others, the bot itself.
	if name == "error-invalid-user" && (route == RouteUser || route == RouteDirect) {
		return ErrNotFound
	}
	for _, t := range texts[2:] {
		if containsAll(text, t.all) {
			return t.kind
		}
	}
	return ""
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// isJSON is asked before anything is read: a page of a proxy, or the web client
// that 3.4 gives for a route it doesn't have, is never taken for an answer.
func isJSON(h http.Header) bool {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false // none was asked for, and none is undone
	}
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return (err == nil || err == mime.ErrInvalidMediaParameter) &&
		(t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json"))
}

// classifyPage says what an answer without JSON means: its status is all there
// is.
func classifyPage(route string, status int) *Error {
	e := &Error{Route: route, Status: status, Uncertain: uncertain(status) || done(status), Kind: ErrNotJSON}
	switch {
	case status >= 300 && status <= 399:
		e.Kind = ErrRedirected
	case status >= 500, status == http.StatusRequestTimeout:
		e.Kind = ErrUnavailable
	case status == http.StatusTooManyRequests:
		e.Kind = ErrRateLimited
	case status == http.StatusRequestEntityTooLarge:
		e.Kind = ErrTooLong
	}
	return e
}

// classify says what a JSON answer means: by its status, then its errorType,
// then its text. It returns nil for one that says the call was done.
func classify(route string, status int, env envelope) *Error {
	if !done(status) && !env.ours() {
		return classifyPage(route, status)
	}
	e := &Error{Route: route, Status: status, Uncertain: uncertain(status), Type: env.errorType()}
	means := env.meaning(route)
	switch {
	case done(status):
		if !env.failed() {
			return nil
		}
		e.Kind = orElse(means, bare(route, env))
	case status >= 300 && status <= 399:
		e.Kind = ErrRedirected
	case status == http.StatusUnauthorized:
		e.Kind = unauthorized(means, env)
	case status == http.StatusForbidden:
		e.Kind = orElse(means, ErrForbidden)
	case status == http.StatusNotFound:
		e.Kind = orElse(means, missing(route))
	case status == http.StatusMethodNotAllowed:
		e.Kind = ErrNoRoute
	case status == http.StatusRequestEntityTooLarge:
		e.Kind = ErrTooLong
	case status == http.StatusTooManyRequests:
		e.Kind = ErrRateLimited
	case status == http.StatusRequestTimeout:
		e.Kind = ErrUnavailable
	case status >= 500:
		e.Kind = ErrUnavailable
		if means == ErrDuplicate {
			e.Kind, e.Uncertain = ErrDuplicate, false // RC#14486: two instances, one id
		}
	default:
		e.Kind = orElse(means, bare(route, env))
	}
	return e
}

func done(status int) bool { return status >= 200 && status <= 299 }

// uncertain reports whether a call with such an answer may have been done. A
// gateway's 502 or 504 says nothing of the server behind it.
func uncertain(status int) bool { return status >= 500 || status == http.StatusRequestTimeout }

// unauthorized tells the three things a 401 means apart. From 8.0 on it is also
// what a missing permission gets.
func unauthorized(means Kind, env envelope) Kind {
	switch {
	case means == ErrTwoFactor:
		return ErrTwoFactor
	case strings.Contains(env.text(), "must be logged in"), strings.Contains(env.Message, "must be logged in"):
		return ErrRefused
	}
	return orElse(means, ErrInvalid)
}

// bare is a failure without known words: chat.getMessage says nothing but
// success: false for a message it doesn't find.
func bare(route string, env envelope) Kind {
	if route == RouteMessage && env.text() == "" {
		return ErrNotFound
	}
	return ErrInvalid
}

// missing is what a 404 without known words is of.
func missing(route string) Kind {
	switch route {
	case RouteMedia, RouteUpload:
		return ErrNoRoute
	case RouteRoom, RouteChannelHistory, RouteGroupHistory, RouteDirectHistory:
		return ErrRoomGone
	}
	return ErrNotFound
}

func orElse(k, other Kind) Kind {
	if k != "" {
		return k
	}
	return other
}

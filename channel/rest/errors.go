package rest

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Kind says what a failure means. Each is an error to be asked for with
// errors.Is; its text is one sentence for people.
type Kind string

func (k Kind) Error() string { return string(k) }

// The kinds.
const (
	// ErrRefused is a 401 with a JSON body that says "not logged in". It is a
	// suspicion: a replica that lags gives it for a good token too
	// (RC#23947). [Client.Refusal] confirms it.
	ErrRefused Kind = "the server does not accept the token"
	// ErrTwoFactor is a call the server wants confirmed with a second factor,
	// which a bot can't give: its token was made without ignoring it.
	ErrTwoFactor Kind = "the server asks for a second factor"
	// ErrForbidden is a call the bot has no permission for: 400 up to 8, 403
	// from 9.0 on, and 401 for some calls of 8. It never says anything of the
	// token.
	ErrForbidden Kind = "the bot may not do this"
	// ErrRateLimited is a 429, or a method's limit inside a 400. Retry holds
	// the time to wait.
	ErrRateLimited Kind = "the server asks to wait"
	// ErrNotFound is a message, user or file that isn't there, or that the bot
	// may not see.
	ErrNotFound Kind = "there is no such thing on the server"
	// ErrRoomGone is a room that isn't there, is of another kind than asked
	// for, or that the bot is no member of.
	ErrRoomGone Kind = "there is no such room for the bot"
	// ErrReadOnly is a room that takes no messages of the bot: read-only or
	// archived.
	ErrReadOnly Kind = "the room takes no messages"
	// ErrTooLong is a text or file over the server's size.
	ErrTooLong Kind = "over the server's size"
	// ErrDuplicate is a message id that exists, whoever owns it, or a message
	// that an app prevented: the server answers both alike. [Client.Message]
	// tells which.
	ErrDuplicate Kind = "the message id was used before"
	// ErrUnavailable is a server that can't be reached, gave up (5xx), or
	// didn't answer in time.
	ErrUnavailable Kind = "the server is not available"
	// ErrNotJSON is an answer of another content type, or a JSON one of another
	// shape than Rocket.Chat's: from a proxy, or from a server of 3.4 that
	// doesn't know the route (which is [ErrNoRoute] too).
	ErrNotJSON Kind = "the answer is not from Rocket.Chat's API"
	// ErrMalformed is JSON that can't be read or lacks what was asked for.
	ErrMalformed Kind = "the answer can't be understood"
	// ErrTooLarge is an answer over our bound, or a file over the caller's.
	ErrTooLarge Kind = "the answer is too large"
	// ErrRedirected is an answer that points elsewhere. Redirects are never
	// followed: a file kept on other storage is unavailable, and the sealed
	// server must be the final address.
	ErrRedirected Kind = "the server points to another address"
	// ErrNoRoute is a call the server's version doesn't have.
	ErrNoRoute Kind = "the server has no such call"
	// ErrInvalid is any other call the server didn't take.
	ErrInvalid Kind = "the server did not take the call"
	// ErrClosed is a call on a closed client.
	ErrClosed Kind = "the connection to the server is closed"
)

// An Error is how a call failed. Its text holds the route, the status, the
// server's errorType and one sentence; never a body, a header, a token or what
// was written in a message.
type Error struct {
	Route  string        // see the Route constants
	Status int           // the HTTP status, 0: no answer came
	Type   string        // the server's errorType, "" when it gave none
	Kind   Kind          // what it means
	Retry  time.Duration // how long the server asks to wait, 0: it didn't say
	Held   bool          // answered here, without asking: the route waits for an earlier Retry
	// Uncertain: the server may have done what was asked all the same. The call
	// went out, and what came back neither says yes nor no: nothing, a 5xx, a
	// page, half an answer.
	Uncertain bool

	object bool  // the answer was a JSON object
	cause  error // a failed dial; printed, since dial's errors hold no secret
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Route + ": " + string(e.Kind))
	var said []string
	if e.Status != 0 {
		said = append(said, strconv.Itoa(e.Status))
	}
	if e.Type != "" {
		said = append(said, e.Type)
	}
	if len(said) > 0 {
		b.WriteString(" (" + strings.Join(said, " ") + ")")
	}
	if e.Retry > 0 {
		b.WriteString(", for " + e.Retry.Round(time.Millisecond).String())
	}
	if e.cause != nil {
		b.WriteString(": " + e.cause.Error())
	}
	return b.String()
}

// Is reports whether the error is of a [Kind].
func (e *Error) Is(target error) bool {
	if target == error(ErrNoRoute) && e.pageInstead() {
		return true
	}
	return target == error(e.Kind)
}

// pageInstead is how a server says that it has no such route when it doesn't
// say so in JSON: 3.4 answers 200 and its web page, newer ones a bare 404.
func (e *Error) pageInstead() bool {
	return e.Kind == ErrNotJSON && (e.Status == http.StatusOK || e.Status == http.StatusNotFound)
}

func (e *Error) Unwrap() error { return e.cause }

// A sentence is a cause of our own wording.
type sentence string

func (s sentence) Error() string { return string(s) }

// Causes of [ErrUnavailable] and its kin when a connection was made.
const (
	errSlow    sentence = "no answer in time"
	errStalled sentence = "no byte in time"
	errEnded   sentence = "the connection ended before the answer did"
	errNotHTTP sentence = "the answer is not HTTP"
)

// A dialError marks what the network said before a connection stood.
type dialError struct{ error }

func (d dialError) Unwrap() error { return d.error }

// failed returns the *Error in err. Every error of a call that isn't the
// context's or the budget's is one.
func failed(err error) (*Error, bool) { return errors.AsType[*Error](err) }

package control

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
)

// The codes of errors. They are public.
const (
	CodeUsage      = "usage"           // the request itself is wrong
	CodeNotRunning = "not-running"     // no supervisor, or one that is ending
	CodeNoProfile  = "no-such-profile" // none that whoever asks may know of
	CodePartial    = "partial"         // some of what was asked was done
	CodeRefused    = "refused"         // whoever asks may not
	CodeFailed     = "failed"
)

// An Error is what went wrong, as it crosses the socket.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Try     string `json:"try,omitempty"` // the command that mends it
}

func (e *Error) Error() string { return e.Message }

// Hint returns Try.
func (e *Error) Hint() string { return e.Try }

// body is an error on the wire.
type body struct {
	Error *Error `json:"error"`
}

// statusOf is the HTTP status that fits a code.
func statusOf(code string) int {
	switch code {
	case CodeUsage:
		return http.StatusBadRequest
	case CodeNotRunning:
		return http.StatusServiceUnavailable
	case CodeNoProfile:
		return http.StatusNotFound
	case CodeRefused:
		return http.StatusForbidden
	case CodePartial:
		return http.StatusMultiStatus
	}
	return http.StatusInternalServerError
}

// Usage is an error of whoever asked.
func Usage(message, try string) *Error { return &Error{CodeUsage, message, try} }

// errorOf makes an Error of what a verb returned.
func errorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Code: CodeFailed, Message: err.Error()}
	var hint interface{ Hint() string }
	if errors.As(err, &hint) {
		e.Try = hint.Hint()
	}
	order, isOrder := errors.AsType[*supervisor.OrderError](err)
	fault, isFault := errors.AsType[*profile.Fault](err)
	switch {
	case errors.Is(err, supervisor.ErrNoProfile):
		e.Code, e.Try = CodeNoProfile, "rcsupervisor status"
	case errors.Is(err, supervisor.ErrEnding):
		e.Code, e.Try = CodeNotRunning, "rcsupervisor run"
	case isOrder && order.Refused, errors.Is(err, fs.ErrPermission):
		e.Code = CodeRefused
	case isFault:
		e.Try = fault.Try
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = "the supervisor did not get to it in time"
	}
	if e.Try == "" {
		e.Try = "rcsupervisor doctor"
	}
	return e
}

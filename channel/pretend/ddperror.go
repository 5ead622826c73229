package pretend

import (
	"fmt"
	"time"
)

// A ddpError is an error on the socket. Its code is a number or a string.
type ddpError struct {
	code    any
	reason  string
	details doc
}

func ddpErr(code any, reason string) *ddpError { return &ddpError{code: code, reason: reason} }

func notAllowed() *ddpError { return ddpErr("not-allowed", "Not allowed") }

// tooMany is the limiter's answer; it names the wait twice.
func tooMany(wait time.Duration) *ddpError {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &ddpError{
		code:    "too-many-requests",
		reason:  fmt.Sprintf("Error, too many requests. Please slow down. You must wait %d seconds before trying again.", seconds),
		details: doc{{"timeToReset", wait.Milliseconds()}},
	}
}

func (e *ddpError) doc() doc {
	d := doc{{"isClientSafe", true}, {"error", e.code}, {"reason", e.reason}}
	if e.details != nil {
		d = d.with("details", e.details)
	}
	return d.with("message", fmt.Sprintf("%s [%v]", e.reason, e.code)).with("errorType", "Meteor.Error")
}

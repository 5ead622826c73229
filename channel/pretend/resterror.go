package pretend

import (
	"fmt"
	"net/http"
	"strings"
)

// A refusal is why the server doesn't do what was asked. REST and the methods
// of the socket each have their own way of saying it.
type refusal struct {
	status int
	kind   string // errorType, "" where there is none
	text   string // error; the kind is appended in brackets
	bare   bool   // nothing but success:false
	more   doc
	body   doc // the whole body, where it is like no other
}

func (e *refusal) Error() string { return e.text }

// doc is the body of a REST answer.
func (e *refusal) doc() doc {
	if e.body != nil {
		return e.body
	}
	d := doc{{"success", false}}
	if e.bare {
		return d
	}
	text := e.text
	if e.kind != "" && !strings.Contains(text, e.kind) {
		text = fmt.Sprintf("%s [%s]", text, e.kind)
	}
	d = d.with("error", text).text("errorType", e.kind)
	return append(d, e.more...)
}

// ddp is the same on the socket.
func (e *refusal) ddp() *ddpError {
	if e == nil {
		return nil
	}
	code := e.kind
	if code == "" {
		code = e.text
	}
	return ddpErr(code, e.text)
}

func bad(kind, text string) *refusal {
	return &refusal{status: http.StatusBadRequest, kind: kind, text: text}
}

// plain is a 400 without an errorType.
func plain(text string) *refusal { return &refusal{status: http.StatusBadRequest, text: text} }

// denied is a permission that is missing: up to 8 a 400 with a kind of its
// own, from 9.0 on a 403 with error-forbidden (PR#43214).
func (s *Server) denied(kind, text string) *refusal {
	if s.v.permission403 {
		return &refusal{status: http.StatusForbidden, kind: "error-forbidden", text: text}
	}
	return bad(kind, text)
}

// notMember is a private room somebody isn't in: an error without an
// errorType.
func (s *Server) notMember() *refusal {
	if s.v.permission403 {
		return s.denied("error-not-allowed", "Not allowed")
	}
	return plain("error-not-allowed")
}

// unauthorized is the 401 of this version.
func (s *Server) unauthorized() (int, doc) {
	const text = "You must be logged in to do this."
	d := doc{}
	if s.v.statusError {
		d = append(d, field{"status", "error"}, field{"message", text})
	}
	if s.v.failureFlag {
		d = append(d, field{"success", false}, field{"error", text})
	}
	return http.StatusUnauthorized, d
}

var (
	errNoRoom     = bad("error-room-not-found", `The required "roomId" or "roomName" param provided does not match any channel`)
	errNoChannel  = bad("invalid-channel", "The channel name provided is not valid")
	errReadOnly   = plain("You can't send messages because the room is readonly.")
	errArchived   = plain("error-room-archived")
	errTooLong    = bad("error-message-size-exceeded", "Message size exceeds Message_MaxAllowedSize")
	errNoMessage  = bad("error-message-not-found", "The provided \"messageId\" does not match any existing message.")
	errOutOfSync  = bad("error-message-ts-out-of-sync", "Message timestamp is out of sync")
	errNoUser     = bad("error-invalid-user", "The required \"userId\" or \"username\" param provided does not match any users")
	errTwoFactor  = &refusal{status: http.StatusBadRequest, kind: "totp-required", text: "TOTP Required", more: doc{{"details", doc{{"method", "totp"}}}}}
	errNoSuchFile = bad("invalid-file", "File not found")
)

// starred is what a server says that dropped a message silently: one whose id
// is taken, by whomever, or which an app prevented.
func (s *Server) starred() *refusal {
	if s.v.fullUsers {
		return plain("Cannot read property 'starred' of undefined")
	}
	return plain("Cannot read properties of undefined (reading 'starred')")
}

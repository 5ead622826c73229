package ddp

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// The ids of the frames that are sent once on each socket.
const (
	loginID = "login-1"
	subID   = "sub-1"
)

// Bounds of the events that may come between the subscription and its `ready`.
const (
	heldEvents = 512
	heldBytes  = 4 << 20
)

// A phase is what a session waits for.
type phase int

const (
	connecting phase = iota // for `connected`
	loggingIn               // for the login's result
	subscribing
	online
)

// String completes "the server did not …".
func (p phase) String() string {
	return [...]string{"say `connected`", "answer the login", "say `ready` to the subscription", "go on"}[p]
}

// A session is the order of frames on one socket: connect, login, sub, and only
// then events. The reading goroutine owns it.
type session struct {
	user    string
	token   sealed.Secret
	log     *slog.Logger
	handler Handler
	send    func(frame []byte) // queues it; owns it from then on
	reached func(phase)        // called as each phase begins

	phase phase
	held  []Event // those that came before `ready`
	bytes int     // of them
	moans int     // `error` frames so far
}

// start sends what a server may wait for before it says anything
// (purple-rocketchat#23).
func (s *session) start() {
	s.send([]byte(`{"msg":"connect","version":"1","support":["1"]}`))
}

// take acts on one frame. It returns nil as long as the connection goes on.
func (s *session) take(f *frame) *End {
	switch {
	case is(f.msg, "changed"):
		return s.changed(f)
	case is(f.msg, "ping"):
		s.pong(f)
	case is(f.msg, "connected"):
		s.connected()
	case is(f.msg, "failed"):
		return ended(healthcheck.Dropped, "the server does not speak version 1 of DDP, the only one there is to speak")
	case is(f.msg, "result"):
		return s.result(f)
	case is(f.msg, "ready"):
		s.subscribed(f)
	case is(f.msg, "nosub"):
		return s.nosub(f)
	case is(f.msg, "error"):
		s.moan(f)
	}
	// Everything else is none of ours: server_id, updated, added and removed (of
	// users), pong, whatever servers to come may say.
	return nil
}

// echoed is the longest id of a ping that is said back.
const echoed = 256

// pong answers a ping at once, whatever the phase (RC#7786).
func (s *session) pong(f *frame) {
	if len(f.id) == 0 || len(f.id) > echoed {
		s.send([]byte(`{"msg":"pong"}`))
		return
	}
	s.send(append(append([]byte(`{"msg":"pong","id":`), f.id...), '}'))
}

func (s *session) connected() {
	if s.phase != connecting {
		return
	}
	s.enter(loggingIn)
	s.handler.Connected()
	resume, err := json.Marshal(s.token.Reveal())
	if err != nil {
		panic(err) // a string always marshals
	}
	// By hand: fmt keeps what it formats in memory that others use again.
	login := append([]byte(`{"msg":"method","method":"login","id":"`+loginID+`","params":[{"resume":`), resume...)
	clear(resume)
	s.send(append(login, `}]}`...))
}

func (s *session) enter(p phase) {
	s.phase = p
	s.reached(p)
}

// result reads that of the login. Those of Call are not waited for: typing is
// told and forgotten.
func (s *session) result(f *frame) *End {
	if s.phase != loggingIn || !is(f.id, loginID) {
		return nil
	}
	if !absent(f.err) {
		e := readError(f.err)
		if e.code == "403" {
			return &End{Reason: healthcheck.Refused, LoginRefused: true, Err: errors.New("login: " + s.said(e.code+" "+e.reason))}
		}
		return e.end("login", s.said)
	}
	var who struct {
		ID json.RawMessage `json:"id"`
	}
	if !absent(f.result) {
		_ = json.Unmarshal(f.result, &who) // a result of another shape names nobody
	}
	switch id := text(who.ID); id {
	case "":
		return ended(healthcheck.Dropped, "login: answered without an error and without saying as whom")
	case s.user:
	default:
		return ended(healthcheck.Identity, fmt.Sprintf("the token belongs to user %s, not to %s for whom it was sealed", s.said(id), s.user))
	}
	s.enter(subscribing)
	s.send([]byte(`{"msg":"sub","id":"` + subID + `","name":"` + Collection + `","params":["` + MyMessages + `",false]}`))
	return nil
}

func (s *session) subscribed(f *frame) {
	if s.phase != subscribing || !lists(f.subs, subID) {
		return
	}
	s.enter(online)
	held := s.held
	s.held = nil
	for _, e := range held {
		s.handler.Event(e)
	}
}

// nosub ends the connection whenever it comes: the subscription is all that it
// is for. It comes without an error too (Go.SDK#44).
func (s *session) nosub(f *frame) *End {
	if s.phase < subscribing || !is(f.id, subID) {
		return nil
	}
	if absent(f.err) {
		return ended(healthcheck.Dropped, "the server ended the subscription to the bot's messages without a reason")
	}
	return readError(f.err).end("subscription to the bot's messages", s.said)
}

// changed hands on what was published on our stream. `id` of such a frame is
// always "id" and says nothing (RC#27430); collection and event name do.
func (s *session) changed(f *frame) *End {
	if s.phase < subscribing || !is(f.collection, Collection) || !is(f.event, MyMessages) {
		return nil
	}
	e := Event{Collection: Collection, Name: MyMessages, Args: arguments(f.args)}
	if s.phase == online {
		s.handler.Event(e)
		return nil
	}
	s.held = append(s.held, e)
	if s.bytes += len(f.args); s.bytes > heldBytes || len(s.held) > heldEvents {
		return ended(healthcheck.Dropped, fmt.Sprintf("over %d events or %d MiB of them before the subscription was ready", heldEvents, heldBytes>>20))
	}
	return nil
}

// moan logs the first of the frames in which a server complains of ours.
func (s *session) moan(f *frame) {
	if s.moans++; s.moans == 1 {
		s.log.Warn("the server complains of a frame", "reason", s.said(text(f.reason)))
	}
}

func (s *session) said(words string) string { return printable(words, s.token.Reveal()) }

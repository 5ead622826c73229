package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"rcsupervisor/internal/supervisor"
)

// A Verb is something that can be asked for one profile:
// POST /v1/profiles/{name}/{verb}. Whoever may drive the profile may ask it;
// he and the profile are known to be there when Do is called.
type Verb struct {
	Name string
	// Reads: it changes nothing, so it leaves no line in the audit file.
	Reads bool
	// Admin: it is for root and the supervisor's user alone.
	Admin bool
	// Unknown: it may be asked of a name that is no profile (yet); then it is
	// for root and the supervisor's user alone.
	Unknown bool
	// Makes: it may be asked by anybody of a name that is no profile of his
	// (yet). Do makes one of it where it is his to make, and else has to answer
	// as if nobody had that name.
	Makes bool
	// Do carries it out. What it returns goes back as JSON; nil is {}. Its
	// errors are an [*Error], or become one: see the codes.
	Do func(context.Context, Call) (any, error)
}

// A Call is one request for a verb.
type Call struct {
	Peer    Peer
	Profile string
	Args    json.RawMessage // the request's body, nil for none
	detail  *string
}

// Decode reads the arguments, strictly.
func (c Call) Decode(into any) error {
	if len(bytes.TrimSpace(c.Args)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Usage("the request's body is not as it must be: "+err.Error(), "rcsupervisor --help")
	}
	if _, err := d.Token(); err != io.EOF {
		return Usage("the request's body goes on after its end", "rcsupervisor --help")
	}
	return nil
}

// Note adds to the audit line what exactly was asked. It must hold no secret.
func (c Call) Note(detail string) {
	if c.detail != nil {
		*c.detail = detail
	}
}

// Orders are the verbs that the supervisor itself carries out.
func Orders(s *supervisor.Supervisor) []Verb {
	plain := func(name string, do func(context.Context, string) error) Verb {
		return Verb{Name: name, Do: func(ctx context.Context, c Call) (any, error) { return nil, do(ctx, c.Profile) }}
	}
	suspend := Verb{Name: "suspend", Admin: true, Do: func(ctx context.Context, c Call) (any, error) {
		var args SuspendArgs
		if err := c.Decode(&args); err != nil {
			return nil, err
		}
		if len(args.Reason) > 200 {
			return nil, Usage("a reason has at most 200 bytes", "rcsupervisor suspend "+c.Profile+" --reason TEXT")
		}
		c.Note(args.Reason)
		return nil, s.Suspend(ctx, c.Profile, args.Reason)
	}}
	resume := plain("resume", s.Resume)
	resume.Admin = true
	accept := Verb{Name: "accept", Do: func(ctx context.Context, c Call) (any, error) {
		taken, err := s.Accept(ctx, c.Profile)
		c.Note(noted(taken))
		if taken == nil {
			taken = []string{}
		}
		return AcceptReply{Accepted: taken}, err
	}}
	adopt := Verb{Name: "adopt", Do: func(ctx context.Context, c Call) (any, error) {
		// What belonged to somebody else is not for its new owner to take.
		if now, known, ok := s.Owners(c.Profile); ok && !c.Peer.Admin() && (now != c.Peer.UID || known != c.Peer.UID) {
			return nil, &Error{CodeRefused, "the profile was another user's before", askAdmin + " for rcsupervisor adopt " + c.Profile}
		}
		changes, err := s.Adopt(ctx, c.Profile)
		c.Note(noted(changes))
		if changes == nil {
			changes = []string{}
		}
		return AdoptReply{Changes: changes, Home: s.Home(c.Profile)}, err
	}}
	return []Verb{
		plain("start", s.Start), plain("stop", s.Stop), plain("restart", s.Restart), suspend, resume, accept, adopt,
	}
}

// SuspendArgs are those of suspend.
type SuspendArgs struct {
	Reason string `json:"reason,omitempty"`
}

// AcceptReply is what accept took into use.
type AcceptReply struct {
	Accepted []string `json:"accepted"`
}

// AdoptReply is what adopt found to be other than known.
type AdoptReply struct {
	Changes []string `json:"changes"`
	Home    string   `json:"home"`
}

// noted joins what was accepted, bounded.
func noted(list []string) string {
	var b []byte
	for _, s := range list {
		if len(b)+len(s) > 2000 {
			return string(b) + "; …"
		}
		if len(b) > 0 {
			b = append(b, "; "...)
		}
		b = append(b, s...)
	}
	return string(b)
}

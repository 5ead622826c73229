package pretend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// sessionLife is Accounts_LoginExpiration: 90 days.
const sessionLife = 90 * 24 * time.Hour

// credentials is what a login carries: a token to resume with, or a user and a
// password, plain or hashed.
type credentials struct {
	Resume string `json:"resume"`
	User   struct {
		Username string `json:"username"`
		Email    string `json:"email"`
	} `json:"user"`
	Password json.RawMessage `json:"password"`
}

// fits compares a password, plain or as {"digest","algorithm":"sha-256"}.
func (u *user) fits(raw json.RawMessage) bool {
	if u.password == "" {
		return false
	}
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain == u.password
	}
	var hashed struct{ Digest, Algorithm string }
	if json.Unmarshal(raw, &hashed) != nil {
		return false
	}
	sum := sha256.Sum256([]byte(u.password))
	return hashed.Digest == hex.EncodeToString(sum[:])
}

// login is the method of that name. A refusal is 403; a limiter's or a fault's
// answer isn't.
func (c *session) login(params []json.RawMessage) (any, *ddpError) {
	s := c.server
	var cred credentials
	read(params, &cred)
	t, bad := s.authenticateLocked(cred)
	var u *user
	if t != nil {
		u = t.user
	}
	if f, ok := s.faults.find(LoginError, u, ""); ok {
		return nil, ddpErr(orInt(f.Code, 500), orText(f.Text, "Internal server error"))
	}
	if f, ok := s.faults.find(LoginRateLimited, u, ""); ok {
		return nil, tooMany(time.Duration(f.Delay))
	}
	if bad == nil && (s.faults.use(RefuseToken, u, "") || s.faults.use(Transient403, u, "")) {
		bad = s.loggedOut()
	}
	if bad != nil {
		s.count.add(u, "login refused")
		return nil, bad
	}
	s.count.add(u, "login")
	return c.welcome(t, cred.Resume != ""), nil
}

func orInt(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// loggedOut is what a token that isn't good is told. The streamer leaves out
// the last full stop.
func (s *Server) loggedOut() *ddpError {
	if s.v.streamer {
		return ddpErr(403, "You've been logged out by the server. Please log in again")
	}
	return ddpErr(403, "You've been logged out by the server. Please log in again.")
}

// authenticateLocked finds the token that a login resumes, or makes one for a
// user and a password.
func (s *Server) authenticateLocked(cred credentials) (*token, *ddpError) {
	if cred.Resume != "" {
		u, expired := s.lookupLocked(cred.Resume)
		switch {
		case expired:
			return nil, ddpErr(403, "Your session has expired. Please log in again.")
		case u == nil:
			return nil, s.loggedOut()
		}
		return s.tokens[cred.Resume], nil
	}
	u := s.byName[cred.User.Username]
	if cred.User.Email != "" {
		u = s.byEmail(cred.User.Email)
	}
	if u == nil || !u.active || !u.fits(cred.Password) {
		return nil, ddpErr(403, "User not found")
	}
	return s.addTokenLocked(u, "session", newToken(), s.now().Add(sessionLife)), nil
}

func (s *Server) byEmail(address string) *user {
	for _, u := range s.users {
		if address == u.username+"@example.org" {
			return u
		}
	}
	return nil
}

// welcome logs the session in: the users document, the subscriptions made
// before, and what the result says. A token without an end has
// {"$date": null} on Meteor and no tokenExpires on the streamer.
func (c *session) welcome(t *token, resumed bool) doc {
	s, u := c.server, t.user
	c.becomeUser(t)
	id := u.id
	if s.faults.use(WrongID, u, "") {
		id = newID()
	}
	d := doc{{"id", id}, {"token", t.value}}
	switch {
	case !t.expires.IsZero():
		d = d.with("tokenExpires", t.expires)
	case !s.v.streamer:
		d = d.with("tokenExpires", json.RawMessage(`{"$date":null}`))
	}
	kind := "resume"
	if !resumed {
		kind = "password"
	}
	return d.with("type", kind)
}

func (c *session) becomeUser(t *token) {
	s, u := c.server, t.user
	if !s.v.streamer {
		c.send(kindOther, encode(nil, doc{
			{"msg", "added"},
			{"collection", "users"},
			{"id", u.id},
			{"fields", doc{{"emails", []doc{{{"address", u.username + "@example.org"}, {"verified", true}}}}, {"username", u.username}}},
		}, onSocket))
	}
	c.becomeLocked(u, t.value)
}

// logout: on Meteor the socket stays, anonymous and silent; the streamer
// closes it with 1002.
func (c *session) logout([]json.RawMessage) (any, *ddpError) {
	s := c.server
	if t := s.tokens[c.token]; t != nil && !t.expires.IsZero() {
		delete(s.tokens, t.value)
	}
	if s.v.streamer {
		c.after(0, func() { c.end(closeProtocol) })
		return nil, nil
	}
	c.becomeLocked(nil, "")
	return nil, nil
}

// String never shows a token.
func (t *token) String() string { return fmt.Sprintf("token %q of %s", t.name, t.user.username) }

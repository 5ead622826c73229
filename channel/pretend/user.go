package pretend

import (
	"slices"
	"sort"
	"time"
)

// UserOptions say what a user is beside a username. All may be left out.
type UserOptions struct {
	ID        string   // default: 17 random letters
	Name      string   // default: the username with a capital letter
	Password  string   // "" can't log in with a password
	Token     string   // a personal access token; default: random
	Bot       bool     // roles bot, type bot: exempt from the REST limiter
	Roles     []string // default: user, or bot
	Limited   bool     // not exempt from the limiter, whatever the roles
	TwoFactor bool     // logins and token routes ask for a code (any code does)
	Remote    bool     // a user of a federated server
}

// A User as a test or a page needs him. It is a copy: it doesn't change when
// the user does.
type User struct {
	ID       string   `json:"_id"`
	Username string   `json:"username"`
	Name     string   `json:"name"`
	Token    string   `json:"token"` // the first personal access token that is still good, "" without one
	Roles    []string `json:"roles"`
	Active   bool     `json:"active"`
}

// user is a user's record; the server's lock guards it.
type user struct {
	id, username, name, password string
	roles                        []string
	tokens                       []*token // in the order they were made
	active                       bool
	limited, twoFactor, remote   bool
	status, statusText           string
	created                      time.Time
	removed                      []removal // subscriptions that ended
	sockets                      int       // on which he is logged in
}

// token is a personal access token, or a session's when it has an end.
type token struct {
	value, name string
	user        *user
	expires     time.Time // zero: never
}

// removal remembers what was taken away, for ?updatedSince.
type removal struct {
	id string
	at time.Time
}

func (u *user) has(role string) bool { return slices.Contains(u.roles, role) }

func (u *user) kind() string {
	switch {
	case u.has("bot"):
		return "bot"
	case u.has("app"):
		return "app"
	}
	return "user"
}

// bypass tells whether the REST limiter lets u through: api-bypass-rate-limit
// belongs to the roles admin, bot and app.
func (u *user) bypass() bool {
	return u != nil && !u.limited && (u.has("admin") || u.has("bot") || u.has("app"))
}

func (u *user) public() User {
	v := User{ID: u.id, Username: u.username, Name: u.name, Roles: slices.Clone(u.roles), Active: u.active}
	for _, t := range u.tokens {
		if t.expires.IsZero() {
			v.Token = t.value
			break
		}
	}
	return v
}

// AddUser adds a user with one personal access token. It panics where the
// username, the id or the token is taken: such a test means nothing.
func (s *Server) AddUser(username string, o UserOptions) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{
		id: o.ID, username: username, name: o.Name, password: o.Password, roles: slices.Clone(o.Roles),
		active: true, limited: o.Limited, twoFactor: o.TwoFactor, remote: o.Remote, status: "offline", created: s.now(),
	}
	if u.id == "" {
		u.id = newID()
	}
	if u.name == "" {
		u.name = capital(username)
	}
	if u.roles == nil {
		u.roles = []string{"user"}
		if o.Bot {
			u.roles = []string{"bot"}
		}
	}
	value := o.Token
	if value == "" {
		value = newToken()
	}
	if s.byName[username] != nil || s.users[u.id] != nil || s.tokens[value] != nil || username == "" {
		panic("pretend: the user " + username + " is there already")
	}
	s.users[u.id], s.byName[username] = u, u
	s.addTokenLocked(u, "first", value, time.Time{})
	s.changedLocked()
	return u.public()
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

func (s *Server) addTokenLocked(u *user, name, value string, expires time.Time) *token {
	t := &token{value: value, name: name, user: u, expires: expires}
	u.tokens = append(u.tokens, t)
	s.tokens[value] = t
	return t
}

// Users lists all users by username.
func (s *Server) Users() []User {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]User, 0, len(s.users))
	for _, u := range s.users {
		list = append(list, u.public())
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Username < list[j].Username })
	return list
}

// FindUser finds a user by id or username.
func (s *Server) FindUser(idOrName string) (User, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.findUserLocked(idOrName); u != nil {
		return u.public(), true
	}
	return User{}, false
}

func (s *Server) findUserLocked(idOrName string) *user {
	if u := s.users[idOrName]; u != nil {
		return u
	}
	return s.byName[idOrName]
}

// userLocked is the record of a user whom the caller got from this server.
func (s *Server) userLocked(u User) *user {
	if have := s.users[u.ID]; have != nil {
		return have
	}
	panic("pretend: no user " + u.Username + " on this server")
}

// AddToken gives u one more personal access token.
func (s *Server) AddToken(u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.userLocked(u)
	return s.addTokenLocked(have, newID(), newToken(), time.Time{}).value
}

// RevokeToken takes a token away. With database watchers (3.4) its sockets are
// closed with code 1000 and no frame; later servers leave them open. It
// reports whether the token was there.
func (s *Server) RevokeToken(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	return s.revokeLocked(value)
}

func (s *Server) revokeLocked(value string) bool {
	t := s.tokens[value]
	if t == nil {
		return false
	}
	delete(s.tokens, value)
	t.user.tokens = slices.DeleteFunc(t.user.tokens, func(x *token) bool { return x == t })
	if s.v.watchers {
		s.endSessionsLocked(func(c *session) bool { return c.token == value }, closeNormal)
	}
	return true
}

// RevokeTokens takes all tokens of u away.
func (s *Server) RevokeTokens(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	for _, t := range slices.Clone(s.userLocked(u).tokens) {
		s.revokeLocked(t.value)
	}
}

// Deactivate switches u off: tokens are refused, and sockets closed, since
// every version tells its sockets of that.
func (s *Server) Deactivate(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	have := s.userLocked(u)
	have.active = false
	s.endSessionsLocked(func(c *session) bool { return c.user.Load() == have }, closeNormal)
}

// Activate switches u on again.
func (s *Server) Activate(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.userLocked(u).active = true
	s.changedLocked()
}

// SetRoles gives u other roles.
func (s *Server) SetRoles(u User, roles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.userLocked(u).roles = slices.Clone(roles)
	s.changedLocked()
}

// ForceLogout takes u's tokens and tells his sockets, as an administrator
// does: Meteor sends force_logout, the streamer ends the socket.
func (s *Server) ForceLogout(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	have := s.userLocked(u)
	for _, t := range slices.Clone(have.tokens) {
		s.revokeLocked(t.value)
	}
	s.forceLogoutLocked(have)
}

func (s *Server) forceLogoutLocked(u *user) {
	if s.v.streamer {
		s.endSessionsLocked(func(c *session) bool { return c.user.Load() == u }, closeAbrupt)
		return
	}
	s.notifyUserLocked(u.id, "force_logout")
}

// lookupLocked finds whom a token belongs to, or says why not.
func (s *Server) lookupLocked(value string) (u *user, expired bool) {
	t := s.tokens[value]
	switch {
	case t == nil || !t.user.active:
		return nil, false
	case !t.expires.IsZero() && s.now().After(t.expires):
		return nil, true
	}
	return t.user, false
}

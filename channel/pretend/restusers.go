package pretend

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (c *call) info() (doc, *refusal) {
	version := c.s.v.short
	if c.user != nil && c.user.has("admin") {
		version = c.s.v.full
	}
	if c.s.v.fullUsers {
		return doc{{"success", true}, {"version", version}}, nil
	}
	return doc{{"version", version}, {"success", true}}, nil
}

func (c *call) me() (doc, *refusal) { return c.s.meDoc(c.user), nil }

// restLogin takes user (or username, or email) and password, or resume.
func (c *call) restLogin() (doc, *refusal) {
	var b struct {
		User     json.RawMessage `json:"user"`
		Username string          `json:"username"`
		Email    string          `json:"email"`
		Password json.RawMessage `json:"password"`
		Resume   string          `json:"resume"`
		Code     string          `json:"code"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	cred := credentials{Resume: b.Resume, Password: b.Password}
	cred.User.Username, cred.User.Email = b.Username, b.Email
	var name string
	if json.Unmarshal(b.User, &name) == nil && name != "" {
		if cred.User.Username = name; strings.Contains(name, "@") {
			cred.User.Email = name
		}
	} else if len(b.User) > 0 {
		_ = json.Unmarshal(b.User, &cred.User)
	}
	t, no := c.s.authenticateLocked(cred)
	if no == nil && c.s.faults.use(RefuseToken, t.user, "") {
		no = c.s.loggedOut()
	}
	if no != nil {
		return nil, &refusal{status: http.StatusUnauthorized, body: doc{{"status", "error"}, {"error", "Unauthorized"}, {"message", "Unauthorized"}}}
	}
	if t.user.twoFactor && b.Resume == "" && b.Code == "" && c.r.Header.Get("x-2fa-code") == "" {
		c.s.revokeLocked(t.value)
		return nil, &refusal{status: http.StatusUnauthorized, kind: "totp-required", text: "TOTP Required"}
	}
	return doc{{"status", "success"}, {"data", doc{{"userId", t.user.id}, {"authToken", t.value}, {"me", c.s.meDoc(t.user)}}}}, nil
}

func (c *call) restLogout() (doc, *refusal) {
	c.s.revokeLocked(c.token)
	return doc{{"status", "success"}, {"data", doc{{"message", "You've been logged out!"}}}}, nil
}

func (c *call) userParam(id, name string) *user {
	if u := c.s.users[id]; u != nil {
		return u
	}
	return c.s.byName[name]
}

func (c *call) userInfo() (doc, *refusal) {
	u := c.userParam(c.query("userId"), c.query("username"))
	if u == nil {
		return nil, bad("error-invalid-user", "User not found.")
	}
	return doc{{"user", u.doc()}}, nil
}

// userList is for administrators.
func (c *call) userList() (doc, *refusal) {
	if !c.user.has("admin") {
		return nil, c.s.denied("error-unauthorized", "Not authorized")
	}
	list := []doc{}
	for _, u := range c.s.users {
		list = append(list, u.doc())
	}
	slices.SortFunc(list, func(a, b doc) int { return strings.Compare(a[0].value.(string), b[0].value.(string)) })
	return c.paged("users", list), nil
}

var statuses = []string{"online", "away", "offline", "busy"}

func (c *call) setStatus() (doc, *refusal) {
	var b struct {
		UserID  string  `json:"userId"`
		Status  string  `json:"status"`
		Message *string `json:"message"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	if b.Status != "" && !slices.Contains(statuses, b.Status) {
		return nil, bad("error-invalid-status", "Valid status types include online, away, offline, and busy.")
	}
	if b.Status != "" {
		c.user.status = b.Status
	}
	if b.Message != nil {
		c.user.statusText = *b.Message
	}
	c.s.userChangedLocked(c.user)
	return doc{}, nil
}

// userChangedLocked tells a user's own sockets of him, as Meteor does of the
// document that it added at login.
func (s *Server) userChangedLocked(u *user) {
	if s.v.streamer {
		return
	}
	fields := doc{{"status", u.status}, {"statusText", u.statusText}}
	frame := encode(nil, doc{{"msg", "changed"}, {"collection", "users"}, {"id", u.id}, {"fields", fields}}, onSocket)
	for c := range s.sessions {
		if c.user.Load() == u {
			c.send(kindEvent, frame)
		}
	}
}

func (c *call) status() (doc, *refusal) {
	u := c.userParam(c.query("userId"), c.query("username"))
	if u == nil {
		u = c.user
	}
	return doc{{"_id", u.id}, {"status", u.status}, {"message", u.statusText}, {"connectionStatus", u.status}}, nil
}

func (c *call) presence() (doc, *refusal) {
	list := []doc{}
	for id := range strings.SplitSeq(c.query("ids"), ",") {
		if u := c.s.users[id]; u != nil {
			list = append(list, doc{{"_id", u.id}, {"username", u.username}, {"name", u.name}, {"status", u.status}, {"utcOffset", 0}})
		}
	}
	return doc{{"users", list}, {"full", c.query("ids") == ""}}, nil
}

// usersLogout ends all sessions of a user, tokens included.
func (c *call) usersLogout() (doc, *refusal) {
	var b struct {
		UserID string `json:"userId"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	u := c.user
	if b.UserID != "" && b.UserID != u.id {
		if !u.has("admin") {
			return nil, c.s.denied("error-not-allowed", "Not allowed")
		}
		if u = c.s.users[b.UserID]; u == nil {
			return nil, errNoUser
		}
	}
	for _, t := range slices.Clone(u.tokens) {
		if !t.expires.IsZero() {
			c.s.revokeLocked(t.value)
		}
	}
	c.s.forceLogoutLocked(u)
	return doc{{"message", "User " + u.id + " has been logged out!"}}, nil
}

// tokenBody names a personal access token.
type tokenBody struct {
	Name   string `json:"tokenName"`
	Bypass bool   `json:"bypassTwoFactor"`
}

// tokenCall is what generate, regenerate and remove have in common: the
// permission create-personal-access-tokens belongs to the roles user and
// admin, not to bot, and a second factor is asked for.
func (c *call) tokenCall() (tokenBody, *token, *refusal) {
	var b tokenBody
	if no := c.into(&b); no != nil {
		return b, nil, no
	}
	if !c.user.has("user") && !c.user.has("admin") {
		return b, nil, c.s.denied("not-authorized", "Not Authorized")
	}
	if c.user.twoFactor && c.r.Header.Get("x-2fa-code") == "" {
		return b, nil, errTwoFactor
	}
	if b.Name == "" {
		return b, nil, plain(`The "tokenName" param is required`)
	}
	for _, t := range c.user.tokens {
		if t.name == b.Name && t.expires.IsZero() {
			return b, t, nil
		}
	}
	return b, nil, nil
}

func (c *call) generateToken() (doc, *refusal) {
	b, have, no := c.tokenCall()
	if no != nil {
		return nil, no
	}
	if have != nil {
		return nil, bad("error-token-already-exists", "A token with this name already exists")
	}
	return doc{{"token", c.s.addTokenLocked(c.user, b.Name, newToken(), time.Time{}).value}}, nil
}

func (c *call) regenerateToken() (doc, *refusal) {
	b, have, no := c.tokenCall()
	if no != nil {
		return nil, no
	}
	if have == nil {
		return nil, bad("error-token-does-not-exists", "Token does not exist")
	}
	c.s.revokeLocked(have.value)
	return doc{{"token", c.s.addTokenLocked(c.user, b.Name, newToken(), time.Time{}).value}}, nil
}

func (c *call) removeToken() (doc, *refusal) {
	_, have, no := c.tokenCall()
	if no != nil {
		return nil, no
	}
	if have == nil {
		return nil, bad("error-token-does-not-exists", "Token does not exist")
	}
	c.s.revokeLocked(have.value)
	return doc{}, nil
}

func (c *call) listTokens() (doc, *refusal) {
	list := []doc{}
	for _, t := range c.user.tokens {
		if t.expires.IsZero() {
			list = append(list, doc{{"name", t.name}, {"lastTokenPart", t.value[len(t.value)-6:]}, {"bypassTwoFactor", true}})
		}
	}
	return doc{{"tokens", list}}, nil
}

// publicSettings reads _id=A,B, or up to 8 query={"_id":{"$in":[…]}}.
func (c *call) publicSettings() (doc, *refusal) {
	want := strings.Split(c.query("_id"), ",")
	if q := c.query("query"); q != "" {
		if !c.s.v.queryParameter {
			return nil, bad("invalid-params", `must NOT have additional properties: "query"`)
		}
		var sel struct {
			ID json.RawMessage `json:"_id"`
		}
		var in struct {
			In []string `json:"$in"`
		}
		var one string
		if json.Unmarshal([]byte(q), &sel) != nil {
			return nil, bad("error-invalid-query", "Invalid query parameter provided: \""+q+"\"")
		}
		if json.Unmarshal(sel.ID, &one) == nil {
			in.In = []string{one}
		} else {
			_ = json.Unmarshal(sel.ID, &in)
		}
		want = in.In
	}
	list := []doc{}
	for _, k := range sortedKeys(c.s.settings) {
		if len(want) == 0 || want[0] == "" || slices.Contains(want, k) {
			list = append(list, doc{{"_id", k}, {"value", c.s.settings[k]}, {"enterprise", false}})
		}
	}
	return c.paged("settings", list), nil
}

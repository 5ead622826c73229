package sealed

import (
	"fmt"
	"maps"
	"slices"
)

// Credentials are what a channel gets of its envelope, once, over its link:
// the bot it is, the only server its token may go to, and the keys it signs
// with. Values are those named in agent.secrets and no others.
type Credentials struct {
	Server     string // canonical, see [Server]
	UserID     string
	Token      Secret
	Generation uint64
	PostKey    Secret // keys.post: derives the ids of posted messages
	AskerKey   Secret // keys.asker: signs asker tokens; empty when not sealed
	Values     map[string]Secret
}

// Secrets returns every secret among the credentials, for the redactor.
func (c Credentials) Secrets() []Secret {
	return append(slices.Collect(maps.Values(c.Values)), c.Token, c.PostKey, c.AskerKey)
}

// Equal reports whether both hold the same.
func (c Credentials) Equal(o Credentials) bool {
	return c.Server == o.Server && c.UserID == o.UserID && c.Generation == o.Generation &&
		c.Token.Equal(o.Token) && c.PostKey.Equal(o.PostKey) && c.AskerKey.Equal(o.AskerKey) &&
		maps.EqualFunc(c.Values, o.Values, Secret.Equal)
}

// wireHandover is the one form in which credentials leave the supervisor.
type wireHandover struct {
	V          int               `json:"v"`
	Server     string            `json:"server"`
	UserID     string            `json:"user_id"`
	Token      string            `json:"token"`
	Generation uint64            `json:"generation"`
	Post       string            `json:"post"`
	Asker      string            `json:"asker"`
	Values     map[string]string `json:"values"`
}

// MarshalHandover returns the credentials with their secrets in plain text, as
// one line of JSON, to be written once to a worker's pipe and then cleared.
// Nothing else turns a secret into bytes; [Secret] itself prints as [sealed].
func (c Credentials) MarshalHandover() ([]byte, error) {
	return compactJSON(wireHandover{
		V: version, Server: c.Server, UserID: c.UserID, Token: c.Token.Reveal(), Generation: c.Generation,
		Post: c.PostKey.Reveal(), Asker: c.AskerKey.Reveal(), Values: revealAll(c.Values),
	})
}

// UnmarshalHandover reads what MarshalHandover wrote, as strictly as an
// envelope is read. Its errors quote nothing of data.
func UnmarshalHandover(data []byte) (Credentials, error) {
	var c Credentials
	var v uint64
	r := newStrict(data)
	err := r.document(map[string]func() error{
		"v": r.number(&v), "server": r.text(&c.Server), "user_id": r.text(&c.UserID), "token": r.secret(&c.Token),
		"generation": r.number(&c.Generation), "post": r.secret(&c.PostKey), "asker": r.secret(&c.AskerKey), "values": r.secrets(&c.Values),
	})
	if err != nil {
		return Credentials{}, fmt.Errorf("hand-over: %w", err)
	}
	if v != version {
		return Credentials{}, fmt.Errorf("hand-over: %w", errNoVersion)
	}
	if server, err := Server(c.Server); err != nil || server != c.Server {
		return Credentials{}, fmt.Errorf("hand-over: server is not in its canonical form")
	}
	if c.Token.Empty() || c.UserID == "" {
		return Credentials{}, fmt.Errorf("hand-over: token or user_id is empty")
	}
	return c, nil
}

package sealed

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

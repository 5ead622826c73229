package channel

import (
	"slices"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/profile"
)

// rules are what messages are judged by. They never change; a change of
// settings, access or of what is known of the bot is a new set of rules.
type rules struct {
	self     chat.User
	admin    bool // the bot is an administrator of its server
	policy   *gate.Policy
	settings profile.Settings
	access   profile.Access
	askerKey []byte // keys.asker, empty when none is sealed
}

func newRules(s *Start, username string, roles ...string) *rules {
	return &rules{
		self:     chat.User{ID: s.Credentials.UserID, Username: username},
		admin:    slices.Contains(roles, "admin"),
		policy:   gate.Compile(s.Access, s.Siblings),
		settings: s.Settings,
		access:   s.Access,
		askerKey: []byte(s.Credentials.AskerKey.Reveal()),
	}
}

// bare reports whether the agent is one that needs no prompt: what it is asked
// is all that it looks at.
func (r *rules) bare() bool { return r.settings.Agent.Kind == "echo" }

// listens reports whether anything said in a room can concern the bot.
func (r *rules) listens(room string, kind chat.Kind) bool {
	on, _ := r.policy.Room(room)
	return on || kind == chat.Direct
}

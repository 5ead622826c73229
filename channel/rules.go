package channel

import (
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/profile"
)

// rules are what messages are judged by. They never change; a change of
// settings or access is a new set of rules.
type rules struct {
	self     chat.User
	policy   *gate.Policy
	settings profile.Settings
	access   profile.Access
}

func newRules(s Start, username string) *rules {
	return &rules{
		self:     chat.User{ID: s.Credentials.UserID, Username: username},
		policy:   gate.Compile(s.Access, s.Siblings),
		settings: s.Settings,
		access:   s.Access,
	}
}

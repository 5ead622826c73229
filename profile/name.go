package profile

import (
	"regexp"
	"slices"
)

// namePattern is what a profile's name looks like; Hermes' own rule.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// DefaultName is the profile of a root's own home.
const DefaultName = "default"

// reserved are the names that Hermes takes for itself below profiles/: it
// would not open such a profile, or open another.
var reserved = []string{
	"hermes", "default", "test", "tmp", "root", "sudo",
	// Its sub-commands.
	"chat", "model", "gateway", "setup", "whatsapp", "login", "logout", "status", "cron", "doctor", "dump", "config",
	"pairing", "skills", "tools", "mcp", "sessions", "insights", "version", "update", "uninstall", "profile", "plugins",
	"honcho", "acp",
}

// ValidName reports whether name can be a profile's.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// ReservedName reports whether Hermes keeps name for itself below profiles/.
func ReservedName(name string) bool { return slices.Contains(reserved, name) }

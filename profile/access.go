package profile

// A Role of a person. Somebody without an entry is a stranger.
type Role string

// The roles.
const (
	Owner   Role = "owner"
	Member  Role = "member"
	Blocked Role = "blocked"
)

// Access is what access.yaml says: who may talk to the bot, and where. Ids
// decide; names are for people to read.
type Access struct {
	People                 []Person
	Rooms                  []Room
	IgnoreSenders          []string
	MemberCommands         []string // commands.members
	Approvals              string   // owner or asker
	AllowContextReferences bool
	SharedMemoryWarning    bool
}

// A Person who is let in, or kept out.
type Person struct {
	ID   string
	Name string
	Role Role
}

// A Room that is on. Mention says whether a message there must mention the
// bot to wake it.
type Room struct {
	ID      string
	Name    string
	Mention bool
}

package profile

// What is ours in a home lies in one folder.
const (
	Folder       = "rocketchat"
	SettingsFile = "channel.yaml"
	AccessFile   = "access.yaml"
	SealedFile   = "secrets.age"
	StateFolder  = "state" // the channel's alone, never watched
)

// A Hash is SHA-256.
type Hash [32]byte

// Hashes tell apart two readings of a home's files: each covers the file's
// name, owner, mode and content, and is that of a missing file where there is
// none.
type Hashes struct {
	Settings Hash
	Access   Hash
	Sealed   Hash
}

// A Profile is a home as it was read once.
type Profile struct {
	Settings Settings
	Access   Access
	Hashes   Hashes
}

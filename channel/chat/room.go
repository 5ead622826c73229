package chat

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Kind of room, as Rocket.Chat writes it in `t` and `roomType`.
type Kind string

// The kinds a channel knows. Any other is unknown and refused.
const (
	Channel  Kind = "c"
	Group    Kind = "p" // a private channel
	Direct   Kind = "d" // of two people, or of more: see [Room.OneToOne]
	Livechat Kind = "l"
	Voice    Kind = "v"
)

// A Room as rooms.info, rooms.get and subscriptions.get describe it. Fields
// that an endpoint doesn't give are zero.
type Room struct {
	ID         string   `json:"_id"`
	Kind       Kind     `json:"t"`
	Name       string   `json:"name"`
	FullName   string   `json:"fname"`
	UsersCount int      `json:"usersCount"`
	UserIDs    []string `json:"uids"`
	Usernames  []string `json:"usernames"`
	ReadOnly   bool     `json:"ro"`
	Archived   bool     `json:"archived"`
	Encrypted  bool     `json:"encrypted"`
	Updated    Stamp    `json:"_updatedAt"`
	Parent     string   `json:"prid"` // of a discussion
	Last       *Message `json:"lastMessage"`
}

// OneToOne reports whether the id of a direct room says that it is of two
// people: it is then the two user ids, sorted and joined
// (createDirectRoom.ts). A direct room of more has a random id.
func OneToOne(roomID, a, b string) bool {
	if a == "" || b == "" || len(roomID) != len(a)+len(b) {
		return false
	}
	ids := []string{a, b}
	slices.Sort(ids)
	return roomID == strings.Join(ids, "")
}

// A Context is what the server says of a message's room beside the message:
// the second argument of a stream-room-messages event. Old servers leave it
// out (RC#12574); then Known is false.
type Context struct {
	Known       bool
	Participant bool // the bot is a member: the stream also brings public rooms it never joined
	Kind        Kind
	RoomName    string // absent for direct rooms; a random id for discussions
}

// ParseEvent reads the arguments of one stream-room-messages event. It
// tolerates arguments nested once more in a list (js.SDK#130) and a missing
// second one, and fails only where no message can be read.
func ParseEvent(args []json.RawMessage) (Message, Context, error) {
	for len(args) == 1 && len(args[0]) > 0 && args[0][0] == '[' {
		var inner []json.RawMessage
		if err := json.Unmarshal(args[0], &inner); err != nil {
			return Message{}, Context{}, err
		}
		args = inner
	}
	if len(args) == 0 {
		return Message{}, Context{}, errNoID
	}
	var m Message
	if err := json.Unmarshal(args[0], &m); err != nil {
		return Message{}, Context{}, err
	}
	if len(args) < 2 {
		return m, Context{}, nil
	}
	var where struct {
		Participant *bool `json:"roomParticipant"`
		Kind        text  `json:"roomType"`
		Name        text  `json:"roomName"`
	}
	if json.Unmarshal(args[1], &where) != nil || where.Participant == nil || where.Kind == "" {
		return m, Context{}, nil
	}
	return m, Context{
		Known: true, Participant: *where.Participant,
		Kind: Kind(where.Kind), RoomName: string(where.Name),
	}, nil
}

package chat

import (
	"bytes"
	"encoding/json"
)

// A Kind of room, as Rocket.Chat writes it in `t` and `roomType`.
type Kind string

// The kinds a channel knows. Any other is unknown and refused.
const (
	Channel  Kind = "c"
	Group    Kind = "p" // a private channel
	Direct   Kind = "d" // of two people, or of more: see [OneToOne]
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
	Messages   int      `json:"msgs"` // how many it has, as the server counts
}

// UnmarshalJSON reads a room as leniently as a message: an odd field, a last
// message without an id among them, is as good as absent. It fails only where
// there is no JSON object.
func (r *Room) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return errNotJSON
	}
	*r = Room{}
	fields := value(b).fields()
	for {
		key, v, ok := fields.field()
		if !ok {
			return nil
		}
		r.field(string(key), v)
	}
}

func (r *Room) field(key string, v value) {
	switch key {
	case "_id":
		r.ID = v.text()
	case "t":
		r.Kind = Kind(v.text())
	case "name":
		r.Name = v.text()
	case "fname":
		r.FullName = v.text()
	case "usersCount":
		r.UsersCount = int(v.number())
	case "uids":
		r.UserIDs = v.texts()
	case "usernames":
		r.Usernames = v.texts()
	case "ro":
		r.ReadOnly = v.truth()
	case "archived":
		r.Archived = v.truth()
	case "encrypted":
		r.Encrypted = v.truth()
	case "_updatedAt":
		r.Updated = v.stamp()
	case "prid":
		r.Parent = v.text()
	case "msgs":
		r.Messages = int(v.number())
	case "lastMessage":
		var m Message
		if m.read(v) == nil {
			r.Last = &m
		}
	}
}

// OneToOne reports whether the id of a direct room says that it is of two
// people: it is then the two user ids, sorted and joined
// (createDirectRoom.ts). A direct room of more has a random id.
func OneToOne(roomID, a, b string) bool {
	if a == "" || b == "" || len(roomID) != len(a)+len(b) {
		return false
	}
	if b < a {
		a, b = b, a
	}
	return roomID[:len(a)] == a && roomID[len(a):] == b
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
		if json.Unmarshal(args[0], &inner) != nil {
			return Message{}, Context{}, errNotJSON
		}
		args = inner
	}
	if len(args) == 0 {
		return Message{}, Context{}, errNoID
	}
	var m Message
	if err := m.UnmarshalJSON(args[0]); err != nil {
		return Message{}, Context{}, err
	}
	if len(args) < 2 || !json.Valid(args[1]) {
		return m, Context{}, nil
	}
	return m, value(bytes.TrimSpace(args[1])).context(), nil
}

// context reads what the stream says of a room. It is known only where both
// the membership and the kind were said: half of it must not open a room.
func (v value) context() (c Context) {
	fields, member := v.fields(), false
	for {
		key, val, ok := fields.field()
		if !ok {
			break
		}
		switch string(key) {
		case "roomParticipant":
			c.Participant = val.truth()
			member = c.Participant || string(val) == "false"
		case "roomType":
			c.Kind = Kind(val.text())
		case "roomName":
			c.RoomName = val.text()
		}
	}
	if c.Known = member && c.Kind != ""; !c.Known {
		return Context{}
	}
	return c
}

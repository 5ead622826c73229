package gate

import (
	"time"

	"rcsupervisor/channel/chat"
)

// Facts are what [Decide] has to know beside the message.
type Facts struct {
	Self   chat.User // the bot: its id decides, its username finds it in a text
	Policy *Policy   // never nil
	Room   Room
	Now    time.Time     // by the server's clock
	Age    time.Duration // limits.age; a live message that is older is ignored

	// CaughtUp marks a message that was read from a room's history. Marks of
	// being published again and age mean nothing then, and it decides nothing
	// that was asked.
	CaughtUp bool

	// Bots holds the ids of users known as bots by their type or role. It may
	// be nil.
	Bots Set

	// Requests are those that are open, and those closed within the last 24
	// hours, whose numbers still mean nothing else. Of other rooms and threads
	// they don't matter.
	Requests []Request

	// OverRate: the person has had limits.answers_per_hour answers. OverCap:
	// the room has had as many answers as any room may.
	OverRate, OverCap bool
}

// A Set of ids.
type Set map[string]struct{}

// Has reports whether the set, which may be nil, holds id.
func (s Set) Has(id string) bool { _, ok := s[id]; return ok }

// NewSet makes a set of ids. The empty id is never in one.
func NewSet(ids ...string) Set {
	s := make(Set, len(ids))
	for _, id := range ids {
		if id != "" {
			s[id] = struct{}{}
		}
	}
	return s
}

// A Room is what is known of a message's room. The zero Room is not known.
type Room struct {
	Known       bool
	Participant bool // the bot is a member
	Kind        chat.Kind
	Informed    bool // rooms.info was asked: what it did not say, it won't say
	Members     int  // how many people it counts, 0 when it did not say
	Archived    bool
	ReadOnly    bool
	MayPost     bool // though it is read-only
}

// FromEvent returns what a stream event says of its room.
func FromEvent(c chat.Context) Room {
	if !c.Known {
		return Room{}
	}
	return Room{Known: true, Participant: c.Participant, Kind: c.Kind}
}

// FromInfo returns what rooms.info, and the bot's subscription, say. mayPost
// tells that the bot may write though the room is read-only.
func FromInfo(r chat.Room, participant, mayPost bool) Room {
	members := max(r.UsersCount, len(r.UserIDs), len(r.Usernames))
	return Room{
		Known: r.Kind != "", Informed: true, Participant: participant, Kind: r.Kind,
		Members: members, Archived: r.Archived, ReadOnly: r.ReadOnly, MayPost: mayPost,
	}
}

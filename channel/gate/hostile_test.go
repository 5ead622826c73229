package gate

import (
	"strings"
	"testing"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// What a hostile server, or somebody who can make one say odd things, puts into
// an event. A message that is taken for what it seems stands first.
func TestHostileEvents(t *testing.T) {
	now := `"ts":` + at(0)
	mention := `,"mentions":[{"_id":"uHermes","username":"hermes"}]`
	from := func(u, rest string) string {
		return `{"_id":"m1","rid":"rOn","msg":"@hermes hello","u":` + u + `,` + now + rest + `}`
	}
	mia := `{"_id":"uMember","username":"mia"}`
	for _, c := range []struct{ what, message, context, want string }{
		{"as it should be", from(mia, mention), inLab, "ASK"},
		// who it is from
		{"the username of an owner is nobody's identity", from(`{"_id":"x","username":"olga"}`, mention), inLab, "stranger"},
		{"an edited username", from(`{"_id":"uMember","username":"renamed"}`, mention), inLab, "ASK"},
		{"the bot's own username", from(`{"_id":"uMember","username":"hermes"}`, mention), inLab, "ASK"},
		{"the bot's username, by a stranger", from(`{"_id":"x","username":"hermes","name":"Hermes"}`, mention), inLab, "stranger"},
		{"the bot, under another name", from(`{"_id":"uHermes","username":"mia"}`, mention), inLab, "own"},
		{"no u", `{"_id":"m1","rid":"rOn","msg":"@hermes hello",` + now + mention + `}`, inLab, "ignored"},
		{"u is null", from(`null`, mention), inLab, "ignored"},
		{"u is a text", from(`"uMember"`, mention), inLab, "ignored"},
		{"u is a list", from(`[{"_id":"uMember"}]`, mention), inLab, "ignored"},
		{"an id that is a number", from(`{"_id":7}`, mention), inLab, "ignored"},
		{"an id that is a list", from(`{"_id":["uMember"]}`, mention), inLab, "ignored"},
		{"no id", from(`{"username":"mia"}`, mention), inLab, "ignored"},
		{"an id twice: the last counts", from(`{"_id":"uMember","_id":"x"}`, mention), inLab, "stranger"},
		{"u twice: the last counts", from(mia, mention+`,"u":{"_id":"x"}`), inLab, "stranger"},
		{"an id in other letters", from(`{"_id":"umember"}`, mention), inLab, "stranger"},
		{"an id with a blank", from(`{"_id":"uMember "}`, mention), inLab, "stranger"},
		{"an id with something unseen", from(`{"_id":"uMember\u200b"}`, mention), inLab, "stranger"},
		{"an id with NUL", from(`{"_id":"uMember\u0000"}`, mention), inLab, "stranger"},
		{"an id in letters that look alike", from(`{"_id":"uM\u0435mber"}`, mention), inLab, "stranger"},
		{"an alias", from(`{"_id":"x","username":"mia"}`, mention+`,"alias":"mia"`), inLab, "stranger"},
		{"a bot by type", from(`{"_id":"uMember","type":"bot"}`, mention), inLab, "bot"},
		{"an app by type", from(`{"_id":"uMember","type":"app"}`, mention), inLab, "bot"},
		{"bot: an empty object says nothing", from(mia, mention+`,"bot":{}`), inLab, "ASK"},
		{"bot: true", from(mia, mention+`,"bot":true`), inLab, "bot"},
		// who is mentioned
		{"by id, though the text has no @: the id decides", `{"_id":"m1","rid":"rOn","msg":"hello","u":` + mia + `,` + now + mention + `}`, inLab, "ASK"},
		{"by username, with another's id", from(mia, `,"mentions":[{"_id":"x","username":"hermes"}]`), inLab, "unwoken"},
		{"by display name", from(mia, `,"mentions":[{"_id":"x","name":"Hermes"}]`), inLab, "unwoken"},
		{"an empty list, though the text has one", from(mia, `,"mentions":[]`), inLab, "unwoken"},
		{"a list of nonsense", from(mia, `,"mentions":[null,7,"uHermes",["uHermes"],{"id":"uHermes"}]`), inLab, "unwoken"},
		{"an object in the list's place is no list", from(mia, `,"mentions":{"_id":"uHermes"}`), inLab, "ASK"},
		{"null is no list", from(mia, `,"mentions":null`), inLab, "ASK"},
		{"md that says otherwise is not read", `{"_id":"m1","rid":"rOn","msg":"hello","u":` + mia + `,` + now + `,"md":[{"type":"PARAGRAPH","value":[{"type":"MENTION_USER","value":{"type":"PLAIN_TEXT","value":"hermes"}}]}]}`, inLab, "unwoken"},
		{"a text that isn't one", `{"_id":"m1","rid":"rOn","msg":["@hermes"],"u":` + mia + `,` + now + `}`, inLab, "unwoken"},
		{"lone surrogates", `{"_id":"m1","rid":"rOn","msg":"\ud800@hermes \udfff","u":` + mia + `,` + now + `}`, inLab, "unwoken"},
		// where
		{"another room's", strings.Replace(from(mia, mention), "rOn", "rOther", 1), inLab, "room-off"},
		{"a room's id in other letters", strings.Replace(from(mia, mention), "rOn", "ron", 1), inLab, "room-off"},
		{"not a member, in words", from(mia, mention), `{"roomParticipant":"true","roomType":"c"}`, "RETRY*"},
		{"not a member, by number", from(mia, mention), `{"roomParticipant":1,"roomType":"c"}`, "RETRY*"},
		{"a kind that isn't one", from(mia, mention), `{"roomParticipant":true,"roomType":["c"]}`, "RETRY*"},
		{"membership twice: the last counts", from(mia, mention), `{"roomParticipant":true,"roomParticipant":false,"roomType":"c"}`, "membership*"},
		{"a channel whose id is two ids joined", strings.Replace(from(mia, ""), "rOn", "uHermesuMember", 1), inLab, "room-off"},
		{"a private group whose id is two ids joined", strings.Replace(from(mia, ""), "rOn", "uHermesuMember", 1), `{"roomParticipant":true,"roomType":"p"}`, "room-off"},
		{"a direct room of two others", strings.Replace(from(mia, ""), "rOn", "uMemberuOwner", 1), `{"roomParticipant":true,"roomType":"d"}`, "RETRY*"},
		{"a direct room of the bot and somebody else", strings.Replace(from(mia, ""), "rOn", "uHermesuOwner", 1), `{"roomParticipant":true,"roomType":"d"}`, "RETRY*"},
		{"a direct room of two", strings.Replace(from(mia, ""), "rOn", "uHermesuMember", 1), `{"roomParticipant":true,"roomType":"d"}`, "ASK"},
		// when
		{"from next year", strings.Replace(from(mia, mention), now, `"ts":{"$date":1900000000000}`, 1), inLab, "ASK"},
		{"a time that isn't one", strings.Replace(from(mia, mention), now, `"ts":"yesterday"`, 1), inLab, "age*"},
		{"a type that isn't one", from(mia, mention+`,"t":7`), inLab, "ASK"},
		{"a system note of a type of the future", from(mia, mention+`,"t":"new"`), inLab, "system"},
	} {
		if got := short(event(t, c.message, c.context, nil)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// A room of more than two is a group to everybody, whatever its id looks like,
// once somebody has counted it.
func TestOneToOneByItsIdAlone(t *testing.T) {
	for _, c := range []struct {
		what string
		room Room
		want string
	}{
		{"nobody counted", Room{}, "ASK"},
		{"counted, without a number", Room{Informed: true}, "ASK"},
		{"two", Room{Informed: true, Members: 2}, "ASK"},
		{"the other is gone", Room{Informed: true, Members: 1}, "ASK"},
		{"three", Room{Informed: true, Members: 3}, "room-off"},
		{"a number that nobody gave", Room{Members: 3}, "ASK"},
	} {
		m, f := direct(member, "hello")
		m.RoomID, f.Room = joined(self.ID, member), c.room
		f.Room.Known, f.Room.Participant, f.Room.Kind = true, true, chat.Direct
		if got := short(Decide(m, f)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// Roles in odd forms let nobody in, and of two the narrower holds.
func TestOddRoles(t *testing.T) {
	for _, c := range []struct {
		roles []profile.Role
		want  string
	}{
		{[]profile.Role{"owner"}, "ASK"},
		{[]profile.Role{"Owner"}, "stranger"},
		{[]profile.Role{"admin"}, "stranger"},
		{[]profile.Role{"owner "}, "stranger"},
		{[]profile.Role{""}, "stranger"},
		{[]profile.Role{"*"}, "stranger"},
		{[]profile.Role{"owner", "blocked"}, "blocked"},
		{[]profile.Role{"blocked", "owner"}, "blocked"},
		{[]profile.Role{"owner", "Owner"}, "stranger"},
	} {
		m, f := hello(), facts()
		a := access()
		a.People = nil
		for _, r := range c.roles {
			a.People = append(a.People, profile.Person{ID: member, Role: r})
		}
		f.Policy = Compile(a, nil)
		if got := short(Decide(m, f)); got != c.want {
			t.Errorf("%q: %s, want %s", c.roles, got, c.want)
		}
	}
	// Everybody is nobody.
	a := access()
	a.People = []profile.Person{{ID: "*", Role: profile.Owner}, {ID: "", Role: profile.Owner}, {ID: "all", Role: profile.Owner}}
	m, f := hello(), facts()
	f.Policy = Compile(a, nil)
	if got := short(Decide(m, f)); got != "stranger" {
		t.Errorf("a star lets in: %s", got)
	}
}

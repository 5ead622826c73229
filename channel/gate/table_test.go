package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/internal/golden"
	"rcsupervisor/profile"
)

// The people and rooms of all tests in this package.
const (
	owner, member, stranger, blocked = "uOwner", "uMember", "uStranger", "uBlocked"
	otherBot, sibling, ignored       = "uRobot", "uSibling", "uIgnored"
)

var (
	self = chat.User{ID: "uHermes", Username: "hermes", Name: "Hermes"}
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	sent = chat.At(noon.Add(-time.Second))
)

func access() profile.Access {
	return profile.Access{
		People: []profile.Person{
			{ID: owner, Name: "olga", Role: profile.Owner}, {ID: member, Name: "mia", Role: profile.Member}, {ID: blocked, Name: "ben", Role: profile.Blocked},
		},
		Rooms:          []profile.Room{{ID: "rOn", Mention: true}, {ID: "rFree", Mention: false}, {ID: "rThree", Mention: true}},
		IgnoreSenders:  []string{ignored},
		MemberCommands: []string{"help", "status", "stop", "new"},
		Approvals:      "owner",
	}
}

func facts() Facts {
	return Facts{
		Self: self, Policy: Compile(access(), []string{sibling}), Now: noon, Age: 10 * time.Minute,
		Room: Room{Known: true, Participant: true, Kind: chat.Channel}, Bots: NewSet(otherBot),
	}
}

// hello is a fresh message that mentions the bot in a room that is on.
func hello() chat.Message {
	return chat.Message{
		ID: "m1", RoomID: "rOn", Text: "@hermes hello", Sender: chat.User{ID: member, Username: "mia"},
		Sent: sent, Updated: chat.At(sent.Add(20 * time.Millisecond)),
		Mentions: []chat.User{{ID: self.ID, Username: "hermes", Type: "user"}}, MentionsSet: true,
	}
}

// joined is the id of a direct room of two people.
func joined(a, b string) string { return min(a, b) + max(a, b) }

// A change makes one case of a message and its facts.
type change struct {
	name string
	make func(*chat.Message, *Facts)
}

func room(id string, r Room) func(*chat.Message, *Facts) {
	return func(m *chat.Message, f *Facts) {
		m.RoomID, f.Room = id, r
		f.Room.Known = true
		f.Room.Participant = true
	}
}

var rooms = []change{
	{"of two, by its id", func(m *chat.Message, f *Facts) { room(joined(self.ID, m.Sender.ID), Room{Kind: chat.Direct})(m, f) }},
	{"of two, counted", room("rTwo", Room{Kind: chat.Direct, Informed: true, Members: 2})},
	{"of three, by an id of two", func(m *chat.Message, f *Facts) {
		room(joined(self.ID, m.Sender.ID), Room{Kind: chat.Direct, Informed: true, Members: 3})(m, f)
	}},
	{"direct, not counted yet", room("rTwo", Room{Kind: chat.Direct})},
	{"direct, of three, off", room("rOther", Room{Kind: chat.Direct, Informed: true, Members: 3})},
	{"direct, of three, on", room("rThree", Room{Kind: chat.Direct, Informed: true, Members: 3})},
	{"channel on", room("rOn", Room{Kind: chat.Channel})},
	{"channel on, no mention", room("rFree", Room{Kind: chat.Channel})},
	{"private group on", room("rOn", Room{Kind: chat.Group})},
	{"channel off", room("rOther", Room{Kind: chat.Channel})},
	{"private group off", room("rOther", Room{Kind: chat.Group})},
	{"archived", room("rOn", Room{Kind: chat.Channel, Informed: true, Archived: true})},
	{"read-only", room("rOn", Room{Kind: chat.Channel, Informed: true, ReadOnly: true})},
	{"read-only, may post", room("rOn", Room{Kind: chat.Channel, Informed: true, ReadOnly: true, MayPost: true})},
	{"livechat", room("rOn", Room{Kind: chat.Livechat})},
	{"voice", room("rOn", Room{Kind: chat.Voice})},
	{"kind of the future", room("rOn", Room{Kind: "z"})},
	{"never joined, or left", func(m *chat.Message, f *Facts) { m.RoomID, f.Room = "rOn", Room{Known: true, Kind: chat.Channel} }},
	{"facts missing", func(m *chat.Message, f *Facts) { m.RoomID, f.Room = "rOn", Room{} }},
}

func from(id string) func(*chat.Message, *Facts) {
	return func(m *chat.Message, _ *Facts) { m.Sender = chat.User{ID: id} }
}

var senders = []change{
	{"owner", from(owner)},
	{"member", from(member)},
	{"stranger", from(stranger)},
	{"blocked", from(blocked)},
	{"the bot", from(self.ID)},
	{"a webhook", func(m *chat.Message, _ *Facts) { m.Sender.ID, m.Automated = member, true }},
	{"a bot by role", from(otherBot)},
	{"a sibling", from(sibling)},
	{"ignored", from(ignored)},
	{"nobody", from("")},
}

var calls = []change{
	{"mentioned by id", func(*chat.Message, *Facts) {}},
	{"mentioned in the text alone", func(m *chat.Message, _ *Facts) { m.Mentions, m.MentionsSet = nil, false }},
	{"not mentioned", func(m *chat.Message, _ *Facts) { m.Text, m.Mentions = "hello", nil }},
	{"named, but not mentioned", func(m *chat.Message, _ *Facts) { m.Text, m.Mentions = "hermes said `@hermes`", nil }},
	{"@all and @here", func(m *chat.Message, _ *Facts) {
		m.Text, m.Mentions = "@all @here hello", []chat.User{{ID: "all", Username: "all"}, {ID: "here", Username: "here"}}
	}},
	{"a team of its name", func(m *chat.Message, _ *Facts) { m.Mentions[0].ID, m.Mentions[0].Type = "tHermes", "team" }},
	{"a team with its id", func(m *chat.Message, _ *Facts) { m.Mentions[0].Type = "team" }},
}

func touched(t chat.Touch, after time.Duration) func(*chat.Message, *Facts) {
	return func(m *chat.Message, _ *Facts) { m.Touched, m.Updated = t, chat.At(m.Sent.Add(after)) }
}

var marks = []change{
	{"fresh", func(*chat.Message, *Facts) {}},
	{"touched at once", touched(chat.TouchReaction|chat.TouchThread|chat.TouchPreview, 9*time.Second)},
	{"reaction", touched(chat.TouchReaction, 11*time.Second)},
	{"reply in its thread", touched(chat.TouchThread, 11*time.Second)},
	{"pinned", touched(chat.TouchPinned, 11*time.Second)},
	{"starred", touched(chat.TouchStarred, 11*time.Second)},
	{"discussion", touched(chat.TouchDiscussion, 11*time.Second)},
	{"translated", touched(chat.TouchTranslated, 11*time.Second)},
	{"preview", touched(chat.TouchPreview, 11*time.Second)},
	{"touched at no time", func(m *chat.Message, _ *Facts) { m.Touched, m.Updated = chat.TouchReaction, chat.Stamp{} }},
	{"edited at once", touched(chat.TouchEdited, 10*time.Millisecond)},
	{"edited by another", touched(chat.TouchEdited|chat.TouchRewritten, 11*time.Second)},
	{"old", func(m *chat.Message, f *Facts) { m.Sent = chat.At(noon.Add(-f.Age - time.Second)) }},
	{"old, with a reaction", func(m *chat.Message, f *Facts) {
		m.Sent, m.Touched, m.Updated = chat.At(noon.Add(-time.Hour)), chat.TouchReaction, chat.At(noon)
	}},
	{"without a time", func(m *chat.Message, _ *Facts) { m.Sent = chat.Stamp{} }},
	{"system note", func(m *chat.Message, _ *Facts) { m.Type = "ru" }},
	{"deleted", func(m *chat.Message, _ *Facts) { m.Type, m.Text, m.Touched = "rm", "", chat.TouchEdited }},
	{"shown to one alone", func(m *chat.Message, _ *Facts) { m.Ephemeral = true }},
	{"encrypted", func(m *chat.Message, _ *Facts) { m.Type, m.Encrypted, m.Text = "e2e", true, "" }},
}

var modes = []change{
	{"live", func(*chat.Message, *Facts) {}},
	{"caught up", func(_ *chat.Message, f *Facts) { f.CaughtUp = true }},
}

// short is a verdict in a cell: the step of what is ignored, else what is done.
// A * says that the room's cursor stays where it is.
func short(v Verdict) string {
	s := string(v.Step)
	switch v.Action {
	case Ignore:
	case Refuse:
		s = "REFUSE " + string(v.Why)
	default:
		s = strings.ToUpper(v.Action.String())
	}
	if !v.MoveCursor {
		s += "*"
	}
	return s
}

// TestTable decides every combination and compares with a file that people
// read: rooms down, senders across, one table for each way of being mentioned
// and published; ways that differ in nothing share one.
func TestTable(t *testing.T) {
	var tables []string
	cases := map[string][]string{}
	for _, mode := range modes {
		for _, mark := range marks {
			for _, call := range calls {
				table := decideAll(call, mark, mode)
				if cases[table] == nil {
					tables = append(tables, table)
				}
				cases[table] = append(cases[table], mode.name+"; "+mark.name+"; "+call.name)
			}
		}
	}
	var b strings.Builder
	b.WriteString("What becomes of a message. Small letters: it is ignored, at that step. A *: the room's cursor stays where it is.\n" +
		"Rooms without an entry of their own share the one below them.\n")
	for _, table := range tables {
		fmt.Fprintf(&b, "\n%s\n\n%s", folded(cases[table]), table)
	}
	golden.Compare(t, "table.golden", b.String())
}

// decideAll makes one table: rooms down, those that don't differ together, and
// senders across.
func decideAll(call, mark, mode change) string {
	var order []string
	names := map[string][]string{}
	for _, r := range rooms {
		cells := ""
		for _, s := range senders {
			m, f := hello(), facts()
			for _, c := range []change{s, r, call, mark, mode} {
				c.make(&m, &f)
			}
			cells += fmt.Sprintf("%-18s", short(Decide(m, f)))
		}
		if names[cells] == nil {
			order = append(order, cells)
		}
		names[cells] = append(names[cells], r.name)
	}
	var b strings.Builder
	heads := ""
	for _, s := range senders {
		heads += fmt.Sprintf("%-18s", s.name)
	}
	fmt.Fprintf(&b, "  %-25s%s\n", "", strings.TrimRight(heads, " "))
	for _, cells := range order {
		rooms := names[cells]
		if len(rooms) == len(names[order[0]]) && len(order) == 1 {
			rooms = []string{"any room"}
		}
		for _, r := range rooms[:len(rooms)-1] {
			fmt.Fprintf(&b, "  %s\n", r)
		}
		fmt.Fprintf(&b, "  %-25s%s\n", rooms[len(rooms)-1], strings.TrimRight(cells, " "))
	}
	return b.String()
}

// folded lists cases, by mode and way of being mentioned.
func folded(cases []string) string {
	fold := func(cases []string, sep int, all int, instead string) (lines []string) {
		by := map[string][]string{}
		for _, c := range cases {
			part := strings.SplitN(c, "; ", 3)
			key := part[0] + "; %s; " + part[2]
			if sep == 2 {
				key = part[0] + "; " + part[1] + "; %s"
			}
			if by[key] == nil {
				lines = append(lines, key)
			}
			by[key] = append(by[key], part[sep])
		}
		for i, key := range lines {
			what := strings.Join(by[key], " | ")
			if len(by[key]) == all {
				what = instead
			}
			lines[i] = strings.Replace(key, "%s", what, 1)
		}
		return lines
	}
	return strings.Join(fold(fold(cases, 2, len(calls), "however mentioned"), 1, len(marks), "however published"), "\n")
}

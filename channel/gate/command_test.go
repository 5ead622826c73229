package gate

import (
	"strings"
	"testing"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// direct makes a message of one person in a room of two, and its facts.
func direct(from, text string) (chat.Message, Facts) {
	m, f := hello(), facts()
	m.Sender.ID, m.Text, m.Mentions, m.MentionsSet = from, text, nil, true
	m.RoomID, f.Room = "rTwo", Room{Known: true, Participant: true, Kind: chat.Direct, Informed: true, Members: 2}
	return m, f
}

func TestCommands(t *testing.T) {
	const (
		asked   = "ask"     // it is a question
		bared   = "bare"    // it goes to the agent as a command
		ordered = "order"   // it is ours
		refused = "refused" // and said so
	)
	for _, c := range []struct {
		text          string
		owner, member string
		command       Command
	}{
		// ours
		{"/help", ordered, ordered, Command{"help", ""}},
		{"!help", ordered, ordered, Command{"help", ""}},
		{"  /STOP", ordered, ordered, Command{"stop", ""}},
		{"\n\t!New about tea", ordered, ordered, Command{"new", "about tea"}},
		{"/status@hermes", ordered, ordered, Command{"status", ""}},
		{"/stop\nnow", ordered, ordered, Command{"stop", "now"}},
		{"\u200b/stop", ordered, ordered, Command{"stop", ""}},
		{"/stop\u200b", ordered, ordered, Command{"stop", ""}},
		// Hermes'
		{"/yolo", bared, refused, Command{"yolo", ""}},
		{"!yolo", bared, refused, Command{"yolo", ""}},
		{"/YOLO", bared, refused, Command{"yolo", ""}},
		{"/model opus --global", bared, refused, Command{"model", "opus --global"}},
		{"/approve always", bared, refused, Command{"approve", "always"}},
		{"!approve always", bared, refused, Command{"approve", "always"}},
		{"/reload-mcp", bared, refused, Command{"reload-mcp", ""}},
		{"!set-home", bared, refused, Command{"set-home", ""}},
		{"restart gateway", bared, refused, Command{"restart", ""}},
		{"Please restart the Hermes gateway.", bared, refused, Command{"restart", ""}},
		{"restart hermes", bared, refused, Command{"restart", ""}},
		// whatever it may be: skills and plugins add words
		{"/some-skill x", bared, refused, Command{"some-skill", "x"}},
		{"/日本", bared, refused, Command{"日本", ""}},
		{"/1", bared, refused, Command{"1", ""}},
		{"\x1c\u2028\ufeff/yolo", bared, refused, Command{"yolo", ""}},
		// no commands at all
		{"/etc/hosts is broken", asked, asked, Command{}},
		{"//x", asked, asked, Command{}},
		{"/", asked, asked, Command{}},
		{"/ yolo", asked, asked, Command{}},
		{"/* why */", asked, asked, Command{}},
		{"!", asked, asked, Command{}},
		{"!!!", asked, asked, Command{}},
		{"!important: read this", asked, asked, Command{}},
		{"! yolo", asked, asked, Command{}},
		{"say /yolo", asked, asked, Command{}},
		{"stop", asked, asked, Command{}},
		{"restart the printer", asked, asked, Command{}},
		{"why did it restart hermes again?", asked, asked, Command{}},
		{"／yolo", asked, asked, Command{}},
		{"yes", asked, asked, Command{}},
		{"41", asked, asked, Command{}},
	} {
		for who, want := range map[string]string{owner: c.owner, member: c.member} {
			m, f := direct(who, c.text)
			v := Decide(m, f)
			got := map[Action]string{Ask: asked, Order: ordered, Refuse: refused}[v.Action]
			if v.Bare {
				got = bared
			}
			if got != want || v.Command != c.command || want == refused && v.Why != WhyCommand {
				t.Errorf("%q of %s: %s %+v, want %s", c.text, who, got, v, want)
			}
			if want != asked && v.Action == Ask && v.Step != StepQuestion || want == asked && v.Text != c.text {
				t.Errorf("%q of %s: %+v", c.text, who, v)
			}
		}
	}
}

// A command may follow a mention, in whatever form a mention is taken out.
func TestCommandsAfterAMention(t *testing.T) {
	for text, want := range map[string]string{
		"@hermes /help":      "help",
		"@hermes, !status":   "status",
		"  @hermes:  /Stop":  "stop",
		"@hermes\n/new":      "new",
		"@hermes please /x":  "",
		"/help @hermes":      "help",
		"@hermes-beta /help": "",
		"say @hermes /help":  "",
	} {
		m, f := hello(), facts()
		m.Text = text
		if v := Decide(m, f); v.Command.Name != want || (want != "") != (v.Action == Order) {
			t.Errorf("%q: %+v", text, v)
		}
	}
	m, f := hello(), facts()
	m.Text, m.Mentions = "/help", nil // a command for whom?
	if v := Decide(m, f); v.Step != StepUnwoken {
		t.Errorf("a command that mentions nobody: %+v", v)
	}
}

func TestABareCommandIsAsHermesReadsIt(t *testing.T) {
	for text, want := range map[string]string{
		"/model opus":                  "/model opus",
		"  !Model  opus \n":            "/model  opus",
		"@hermes !model opus":          "/model opus",
		"/model@hermes opus":           "/model opus",
		"/background do\n  - a\n  - b": "/background do\n  - a\n  - b",
		"!retry":                       "/retry",
		"restart gateway":              "restart gateway",
	} {
		m, f := direct(owner, text)
		m.MentionsSet = false
		if v := Decide(m, f); v.Action != Ask || !v.Bare || v.Text != want {
			t.Errorf("%q: %+v, want %q", text, v, want)
		}
	}
}

// Restarting by plain words is for direct rooms alone, as in Hermes.
func TestPlainWordsAreNoCommandInAGroup(t *testing.T) {
	m, f := hello(), facts()
	m.Text = "@hermes restart gateway"
	if v := Decide(m, f); v.Action != Ask || v.Bare || v.Text != "restart gateway" {
		t.Errorf("%+v", v)
	}
}

func TestMembersHaveTheListedCommands(t *testing.T) {
	for _, c := range []struct {
		listed []string
		text   string
		want   Action
		bare   bool
	}{
		{nil, "/help", Refuse, false},
		{[]string{"status"}, "/help", Refuse, false},
		{[]string{"Help"}, "!help", Order, false},
		{[]string{"model"}, "/model", Ask, true},
		{[]string{"my-skill"}, "!my-skill x", Ask, true},
		{[]string{"model"}, "/models", Refuse, false},
	} {
		a := access()
		a.MemberCommands = c.listed
		m, f := direct(member, c.text)
		f.Policy = Compile(a, nil)
		if v := Decide(m, f); v.Action != c.want || v.Bare != c.bare {
			t.Errorf("%q of a member with %q: %+v", c.text, c.listed, v)
		}
		m.Sender.ID = owner
		if v := Decide(m, f); v.Action == Refuse {
			t.Errorf("%q of an owner: %+v", c.text, v)
		}
	}
	if !(Command{Name: Stop}).OfTheAsker() || !(Command{Name: New}).OfTheAsker() || (Command{Name: Help}).OfTheAsker() {
		t.Error("stop and new are the asker's, help is everybody's")
	}
}

// Nobody but those let in gives a command, whatever he writes.
func TestStrangersGiveNoCommands(t *testing.T) {
	for _, text := range []string{"/help", "!stop", "/yolo", "restart hermes"} {
		m, f := direct(stranger, text)
		if v := Decide(m, f); v.Action != Stranger || v.Command != (Command{}) {
			t.Errorf("%q of a stranger: %+v", text, v)
		}
		m.Sender.ID = blocked
		if v := Decide(m, f); v.Action != Ignore {
			t.Errorf("%q of somebody blocked: %+v", text, v)
		}
	}
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		what          string
		from, text    string
		rate, cap, up bool
		want          string
	}{
		{"within", member, "hello", false, false, false, "ASK"},
		{"over the hour's answers", member, "hello", true, false, false, "REFUSE rate"},
		{"an owner too", owner, "hello", true, false, false, "REFUSE rate"},
		{"but not what was missed", member, "hello", true, false, true, "ASK"},
		{"nor our commands", member, "!stop", true, false, false, "ORDER"},
		{"an owner's bare command", owner, "/retry", true, false, false, "REFUSE rate"},
		{"over the room's cap", member, "hello", false, true, false, "loop"},
		{"caught up as well", member, "hello", false, true, true, "loop"},
		{"also of an owner", owner, "hello", false, true, false, "loop"},
		{"commands of members", member, "!help", false, true, false, "loop"},
		{"refusals of members", member, "/yolo", false, true, false, "loop"},
		{"an owner can still stop it", owner, "!stop", false, true, false, "ORDER"},
		{"both", member, "hello", true, true, false, "loop"},
		{"nothing to answer", member, " \n", false, false, false, "empty"},
	} {
		m, f := direct(c.from, c.text)
		f.OverRate, f.OverCap, f.CaughtUp = c.rate, c.cap, c.up
		if got := short(Decide(m, f)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	m, f := direct(member, "")
	m.Files = []chat.File{{ID: "f1"}}
	if v := Decide(m, f); v.Action != Ask {
		t.Errorf("a file alone: %+v", v)
	}
	if m, f = hello(), facts(); true {
		m.Text = "@hermes"
	}
	if v := Decide(m, f); v.Action != Ask || v.Text != "" {
		t.Errorf("a mention alone: %+v", v)
	}
}

func TestThePolicyIsTheNarrowest(t *testing.T) {
	p := Compile(profile.Access{
		People: []profile.Person{
			{ID: "a", Role: profile.Owner},
			{ID: "a", Role: profile.Member},
			{ID: "b", Role: profile.Blocked},
			{ID: "b", Role: profile.Owner},
			{ID: "", Role: profile.Owner},
			{ID: "c", Role: "admin"},
		},
		Rooms:         []profile.Room{{ID: "r", Mention: false}, {ID: "r", Mention: true}, {ID: "", Mention: false}},
		IgnoreSenders: []string{""},
	}, []string{""})
	if p.Role("a") != profile.Member || p.Role("b") != profile.Blocked || p.LetIn("b") || p.LetIn("") || p.LetIn("c") || p.LetIn("d") || !p.LetIn("a") {
		t.Error("roles")
	}
	if on, mention := p.Room("r"); !on || !mention {
		t.Error("rooms")
	}
	if on, _ := p.Room(""); on || p.ignored.Has("") || p.siblings.Has("") {
		t.Error("nobody's id means something")
	}
}

func TestNoTextOfAMemberIsAForeignCommand(t *testing.T) {
	for _, before := range []string{"", " ", "\n", "\t", "\u00a0", "\u200b", "\x00", "\x1f", "@hermes ", "@hermes,\n"} {
		for name := range hermesCommands {
			for _, sign := range []string{"/", "!"} {
				for _, after := range []string{"", " x", "@hermes", "\nx", "\u200b", "\u2028x"} {
					text := before + sign + strings.ToUpper(name) + after
					m, f := direct(member, text)
					m.MentionsSet = false
					if v := Decide(m, f); v.Action == Ask {
						t.Fatalf("%q is a question: %+v", text, v)
					}
				}
			}
		}
	}
}

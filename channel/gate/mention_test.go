package gate

import (
	"strings"
	"testing"

	"rcsupervisor/channel/chat"
)

func TestMentionsByText(t *testing.T) {
	for _, cases := range [][]mentionCase{mentionsByWhatIsBefore, mentionsByWhatFollows, mentionsByWhereTheyAre, mentionsBesideOthers, mentionsThatOnlyLookIt} {
		for _, c := range cases {
			if _, _, got := find(c.text, "hermes"); got != c.want {
				t.Errorf("%q: %t, want %t", c.text, got, c.want)
			}
		}
	}
	if _, _, ok := find("@ @", ""); ok {
		t.Error("a bot without a name was mentioned")
	}
}

// Names may hold . - and _ themselves, and one may begin another.
func TestMentionsOfOddNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"her.mes", "@her.mes hello", true},
		{"her.mes", "@her hello", false},
		{"hermes-beta", "@hermes hello", false},
		{"hermes-beta", "@hermes-beta hello", true},
		{"hermes.", "@hermes. hello", true},
		{"ヘルメス", "@ヘルメス hello", true},
		{"ヘルメス", "@ヘルメス君 hello", false},
		{"a", "a @b @a", true},
	} {
		if _, _, got := find(c.text, c.name); got != c.want {
			t.Errorf("%s in %q: %t, want %t", c.name, c.text, got, c.want)
		}
	}
}

// P53: the mention is taken out, and everything else stays as it was written.
func TestTheMentionIsTakenOut(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"@hermes hello", "hello"},
		{"  @hermes   hello", "hello"},
		{"@hermes, hello", "hello"},
		{"@hermes: hello", "hello"},
		{"@hermes. hello", "hello"},
		{"@hermes! hello", "@hermes! hello"},
		{"@hermes", ""},
		{"@hermes\n", ""},
		{"@hermes\nhello", "hello"},
		{"@hermes\r\nhello", "hello"},
		{"@hermes\n    indented\n\tmore", "    indented\n\tmore"},
		{"@hermes\n\nhello", "\nhello"},
		{"@hermes ```\ncode\n```", "```\ncode\n```"},
		{"@hermes why `@hermes`?", "why `@hermes`?"},
		{"@hermes and @hermes", "and @hermes"},
		{"hello @hermes", "hello"},
		{"hello @hermes\nmore", "hello\nmore"},
		{"hey @hermes what's up", "hey what's up"},
		{"hey  @hermes  what", "hey   what"},
		{"hey @hermes, what's up", "hey, what's up"},
		{"are you there @hermes?", "are you there?"},
		{"thanks @hermes. Bye", "thanks. Bye"},
		{"hello\n@hermes what", "hello\nwhat"},
		{"hello\n  @hermes what", "hello\n  what"},
		{"hello\n@hermes", "hello"},
		{"hello\n@hermes\nmore", "hello\nmore"},
		{"- @hermes do", "- do"},
		{"@hermes's code", "@hermes's code"},
		{"(@hermes) x", "(@hermes) x"},
		{"*@hermes* x", "*@hermes* x"},
		{"@alice @hermes x", "@alice x"},
		{"@hermes-beta x @hermes", "@hermes-beta x"},
		{"@hermes-beta x", "@hermes-beta x"},
		{"> @hermes\nx", "> @hermes\nx"},
		{"x", "x"},
		{"", ""},
	} {
		if got := without(c.text, "hermes"); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzMention: where a mention is found it is one, and taking it out removes
// nothing but it, a blank and a mark of address beside it.
func FuzzMention(f *testing.F) {
	for _, s := range []string{"@hermes hello", "x `@hermes` (@hermes)", "```\n@hermes\n```\n@hermes.", "> @hermes\n@hermes:", "@@hermes\xff@hermes\x00", "[@hermes](x) \\`@hermes`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start, end, ok := find(text, "hermes")
		left := without(text, "hermes")
		if !ok {
			if left != text {
				t.Fatalf("%q became %q", text, left)
			}
			return
		}
		if text[start:end] != "@hermes" || !opens(before(text, start)) || !closes(text[end:]) {
			t.Errorf("%q at %d:%d", text, start, end)
		}
		if left == text {
			return
		}
		cut := len(text) - len(left) - len("@hermes")
		if cut < 0 || strings.Count(left, "@hermes") < strings.Count(text, "@hermes")-1 {
			t.Errorf("%q became %q", text, left)
		}
		rest := strings.TrimSpace(text[:start]) + strings.TrimLeft(strings.TrimLeft(text[end:], ",:."), " \t\r\n\u00a0")
		if squeeze(left) != squeeze(rest) && squeeze(left) != squeeze(text[:start]+text[end:]) {
			t.Errorf("%q lost more than its mention: %q", text, left)
		}
	})
}

// before is what stands before a place in its line; what follows the ``` that
// closes a fence begins anew, and may itself open one.
func before(text string, at int) string {
	begin := 0
	for begin <= at {
		next := fenced(text, begin)
		if next == begin {
			_, next = cutLine(text, begin)
		}
		if next > at || next == len(text) {
			break
		}
		begin = next
	}
	return text[begin:at]
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestTeamsAndEverybodyAreNotTheBot(t *testing.T) {
	m := hello()
	for _, c := range []struct {
		what string
		u    chat.User
		want bool
	}{
		{"the bot", chat.User{ID: self.ID, Username: "hermes"}, true},
		{"the bot, renamed meanwhile", chat.User{ID: self.ID, Username: "hermes-old", Type: "user"}, true},
		{"a team of its name", chat.User{ID: "t1", Name: "hermes", Type: "team"}, false},
		{"a team with its id", chat.User{ID: self.ID, Type: "team"}, false},
		{"somebody else of its name", chat.User{ID: "x", Username: "hermes"}, false},
		{"@all", chat.User{ID: "all", Username: "all"}, false},
	} {
		m.Mentions = []chat.User{c.u}
		if got := mentioned(&m, self); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

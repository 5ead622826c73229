package gate

import (
	"strings"
	"testing"

	"rcsupervisor/channel/chat"
)

// A mentionCase is a text, and whether it mentions hermes.
type mentionCase struct {
	text string
	want bool
}

// The forms that were tried on real servers and on Rocket.Chat's parser
// 0.31.35, and those that the bounded match is made for, by what they are about.
var (
	// The start, white space, or an opening.
	mentionsByWhatIsBefore = []mentionCase{
		{"@hermes", true},
		{"hello @hermes", true},
		{"hello\n@hermes", true},
		{"\t@hermes", true},
		{"\u00a0@hermes", true},
		{"(@hermes)", true},
		{"*@hermes*", true},
		{"**@hermes**", true},
		{"~@hermes~", true},
		{"_@hermes hello_", true},
		{`"@hermes"`, true},
		{`("@hermes")`, true},
		{"x >@hermes", true},
		{"- @hermes", true},
		{"1. @hermes", true},
		{"[ ](https://chat.example.org/channel/lab?msg=m0) @hermes look", true},
		{"foo,@hermes", false},
		{"foo@hermes", false},
		{"mail foo.bar@hermes", false},
		{"-@hermes", false},
		{".@hermes", false},
		{"/@hermes", false},
		{"@@hermes", false},
		{"<@hermes>", false},
		{`\@hermes`, false},
		{"'@hermes'", false},
		{"x>@hermes", false},
		{`x"@hermes"`, false},
		{"日@hermes", false},
		{"\u200b@hermes", false},
	}
	// The end, white space, or a sign no name has.
	mentionsByWhatFollows = []mentionCase{
		{"@hermes,", true},
		{"@hermes, hello", true},
		{"@hermes!", true},
		{"@hermes?", true},
		{"@hermes;", true},
		{"@hermes's", true},
		{"@hermes/beta", true},
		{"@hermes)", true},
		{"@hermes…", true},
		{"@hermes—hello", true},
		{"@hermes+1", true},
		{"@hermes👍", true},
		{"@hermes\u200b", true},
		{"@hermes\u00a0x", true},
		{"@hermes\nx", true},
		{"@hermes:", true},
		{"@hermes: hello", true},
		{"@hermes.", true},
		{"thanks @hermes. Bye", true},
		{"@hermes:\nhello", true},
		{"@hermes:host", false},
		{"@hermes:matrix.org", false},
		{"@hermes:,", false},
		{"@hermes..", false},
		{"@hermes.x", false},
		{"@hermes.,", false},
		{"@hermes@server.org", false},
		{"@hermes@", false},
		{"@hermes-beta", false},
		{"@hermes-", false},
		{"@hermes_", false},
		{"_@hermes_", false},
		{"@hermes2", false},
		{"@hermesx", false},
		{"@hermés", false},
		{"@hermesé", false},
		{"@hermes\u0301", false},
		{"@hermes日", false},
		{"@hermes٣", false},
		{"@Hermes", false},
		{"@HERMES", false},
		{"@herme", false},
		{"hermes", false},
		{"@ hermes", false},
	}
	// Code, quotes, headings, links.
	mentionsByWhereTheyAre = []mentionCase{
		{"`@hermes`", false},
		{"` @hermes `", false},
		{"`` @hermes ``", false},
		{"a`b @hermes`c", false},
		{"`a` @hermes `b`", true},
		{"`a @hermes", true},
		{"`` @hermes", true},
		{"a `b\n@hermes` c", true},
		{"\\`@hermes` `", false},
		{"\\` @hermes", true},
		{"```\n@hermes\n```", false},
		{"```go\n@hermes\n```", false},
		{"x\n```\na\n@hermes\n```\ny", false},
		{"```\na\n```\n@hermes", true},
		{"```\na\n``` @hermes", true},
		{"```\na\n```\n```\n@hermes\n```", false},
		{"```\n@hermes", true},
		{"```\n@hermes\n ```", true},
		{"```js @hermes\n```", true},
		{"```\n```\n@hermes", true},
		{" ```\n@hermes\n```", true},
		{"```@hermes```", false},
		{"~~~\n@hermes\n~~~", true},
		{"> @hermes", false},
		{">@hermes", false},
		{"hi\n> @hermes", false},
		{"> hi\n@hermes", true},
		{" > @hermes", true},
		{"# @hermes", false},
		{"#### @hermes", false},
		{"##### @hermes", true},
		{"#x @hermes", true},
		{"[@hermes](https://x.org)", false},
		{"[a @hermes](https://x.org)", false},
		{"[a @hermes]", true},
		{"https://x.org/@hermes", false},
	}
	mentionsBesideOthers = []mentionCase{
		{"@hermes-beta @hermes. @all", true},
		{"@hermes-beta", false},
		{"`@hermes` @hermes", true},
		{"@all @here @hermes2", false},
		{"", false},
		{"@", false},
	}
	// What looks like the bot's name, or like an @, and is another; what is
	// hidden in it; and what other readers take for an end of a line.
	mentionsThatOnlyLookIt = []mentionCase{
		{"＠hermes", false},
		{"﹫hermes", false},
		{"@hеrmes", false}, // a Cyrillic е
		{"@ｈermes", false},
		{"@ηermes", false},
		{"@her\u200bmes", false},
		{"@\u200bhermes", false},
		{"@\u2060hermes", false},
		{"@\u0301hermes", false},
		{"@\ufe0fhermes", false},
		{"@her\u00admes", false},
		{"@her\x00mes", false},
		{"@hermes\x00", true},
		{"\x00@hermes", false},
		{"\u202e@hermes", false},
		{"@\u202esemreh", false},
		{"@hermes\u200dbeta", true}, // as the server's parser, which ends a name here
		{"@hermes\ufe0f", false},
		{"@hermes\U000e0100", false},
		{"@hermes\U000e0062\U000e0065", true},
		{"x\U000e0020@hermes", false},
		{"@hermes\u20e3", false},
		{"@hermes\xff", true},
		{"\xff@hermes", false},
		{"a\r@hermes", true},
		{"a\u0085@hermes", true},
		{"a\u2028@hermes", true},
		{"a\u2029@hermes", true},
		{"> a\r@hermes", false}, // one quoted line, whatever else it looks like
		{"> a\u2028@hermes", false},
		{"> a\r\n@hermes", true},
		{"```\r\n@hermes\r\n```", false},
		{"@hermes\u2028hello", true},
		{"Hermes hello", false},
		{"@Hermes\u00a0Bot", false},
	}
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

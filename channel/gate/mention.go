package gate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"rcsupervisor/channel/chat"
)

// mentioned reports whether a message mentions the bot. Where the server says
// who is mentioned, that decides, by id: a team of the bot's name is not the
// bot, and @all and @here have ids of their own that are nobody's. Only where
// it doesn't say is the text read.
func mentioned(m *chat.Message, self chat.User) bool {
	if m.MentionsSet {
		_, ok := mentionOf(m, self.ID)
		return ok
	}
	if m.Encrypted {
		return false
	}
	_, _, ok := find(m.Text, self.Username)
	return ok
}

func mentionOf(m *chat.Message, id string) (chat.User, bool) {
	for _, u := range m.Mentions {
		if u.ID == id && u.Type != "team" {
			return u, true
		}
	}
	return chat.User{}, false
}

// find returns where a text first mentions a name: from its @ to the end of
// the name. It reads a text as Rocket.Chat's message parser does, and is
// narrower where the two could differ, since a text that nobody resolved must
// not wake the wrong bot:
//
//   - before the @ stands the start of the text, white space, or an opening
//     ( > * _ ~ ";
//   - after the name stands the end, white space, or a sign that can't be part
//     of a name. A colon or a full stop may follow only before white space or
//     the end, for @name: begins a federated id and . is a character of names;
//   - code spans, closed fences, quoted lines, headings and the text of links
//     mention nobody.
func find(text, name string) (start, end int, ok bool) {
	if name == "" || !strings.Contains(text, name) {
		return 0, 0, false
	}
	for at := 0; at < len(text); {
		line, next := cutLine(text, at)
		switch {
		case fenced(text, at) > at:
			at = fenced(text, at)
			continue
		case !strings.HasPrefix(line, ">") && !heading(line):
			if s := findInLine(line, name); s >= 0 {
				return at + s, at + s + 1 + len(name), true
			}
		}
		at = next
	}
	return 0, 0, false
}

// cutLine returns the line that begins at at, and where the next one begins.
func cutLine(text string, at int) (line string, next int) {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return text[at : at+i], at + i + 1
	}
	return text[at:], len(text)
}

const fence = "```"

// fenced returns where a fence that opens at at has closed, just after its
// last ```, or at itself where none opens there. A fence opens and closes at
// the start of a line and has a line between; one that is never closed is
// plain text.
func fenced(text string, at int) int {
	line, next := cutLine(text, at)
	if !strings.HasPrefix(line, fence) || strings.ContainsAny(strings.TrimRight(line[len(fence):], " \t\r"), "` \t") {
		return at
	}
	for first := true; next < len(text); first = false {
		begin := next
		if line, next = cutLine(text, begin); strings.HasPrefix(line, fence) {
			if first {
				return at
			}
			return begin + len(fence)
		}
	}
	return at
}

func heading(line string) bool {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	return level >= 1 && level <= 4 && strings.HasPrefix(line[level:], " ")
}

// findInLine returns the index of a mention's @, -1 for none.
func findInLine(line, name string) int {
	for i := 0; i < len(line); {
		switch line[i] {
		case '`':
			i = skipCode(line, i)
		case '[':
			i = skipLabel(line, i)
		case '@':
			if opens(line[:i]) && strings.HasPrefix(line[i+1:], name) && closes(line[i+1+len(name):]) {
				return i
			}
			i++
		default:
			i++
		}
	}
	return -1
}

// skipCode returns the end of the code span that opens at i, or i+1 where none
// does: “ has nothing between, and \` opens nothing.
func skipCode(line string, i int) int {
	if i > 0 && line[i-1] == '\\' {
		return i + 1
	}
	if n := strings.IndexByte(line[i+1:], '`'); n > 0 {
		return i + 1 + n + 1
	}
	return i + 1
}

// skipLabel returns the end of a link's text that opens at i, or i+1.
func skipLabel(line string, i int) int {
	if n := strings.Index(line[i:], "]("); n > 0 && strings.IndexByte(line[i+n:], ')') > 0 {
		return i + n + 1
	}
	return i + 1
}

// opens reports whether a mention may begin after before.
func opens(before string) bool {
	if before == "" {
		return true
	}
	switch before[len(before)-1] {
	case '(', '*', '_', '~':
		return true
	case '>', '"':
		return opens(before[:len(before)-1])
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsSpace(r)
}

// closes reports whether a name may end before after.
func closes(after string) bool {
	if after == "" {
		return true
	}
	r, n := utf8.DecodeRuneInString(after)
	switch r {
	case '.', ':':
		next, _ := utf8.DecodeRuneInString(after[n:])
		return after[n:] == "" || unicode.IsSpace(next)
	case '-', '_', '@':
		return false
	}
	return !unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// without returns a text with the first mention of a name taken out of it, and
// with it one blank that stood beside it. Nothing else is touched: no other
// mention, no line, no indentation. Where taking it out would leave a torn
// word or empty brackets behind ("@name's", "(@name)") it stays.
func without(text, name string) string {
	start, end, ok := find(text, name)
	if !ok {
		return text
	}
	before, after := text[:start], text[end:]
	if r, _ := utf8.DecodeLastRuneInString(before); before != "" && !unicode.IsSpace(r) {
		return text
	}
	if strings.TrimSpace(before) == "" {
		return withoutAddress(text, after)
	}
	r, _ := utf8.DecodeRuneInString(after)
	switch {
	case after != "" && !unicode.IsSpace(r) && !strings.ContainsRune(",:;.!?)", r):
		return text
	case strings.HasSuffix(before, "\n") && (after == "" || r == '\n' || r == '\r'):
		return before[:len(before)-1] + after // a line of its own
	case !strings.HasSuffix(strings.TrimRight(before, " \t"), "\n"):
		return trimOneBlank(before) + after
	case after == "" || r == ' ':
		return before + strings.TrimPrefix(after, " ")
	}
	return text
}

// withoutAddress takes out a mention that a text begins with. after is what
// follows it.
func withoutAddress(text, after string) string {
	r, n := utf8.DecodeRuneInString(after)
	switch {
	case after == "" || unicode.IsSpace(r):
	case r == ',' || r == ':' || r == '.':
		next, _ := utf8.DecodeRuneInString(after[n:])
		if after[n:] != "" && !unicode.IsSpace(next) {
			return text
		}
		after = after[n:]
	default:
		return text
	}
	after = strings.TrimLeft(after, " \t\u00a0")
	after = strings.TrimPrefix(after, "\r")
	return strings.TrimPrefix(after, "\n")
}

func trimOneBlank(s string) string {
	if n := len(s); n > 0 && (s[n-1] == ' ' || s[n-1] == '\t') {
		return s[:n-1]
	}
	return s
}

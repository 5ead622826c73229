package asker

import "strings"

// removed stands where a token was. Its blanks keep what is left around it
// from forming another.
const removed = "(token removed)"

// Remove returns a text without anything that has the shape of an asker token,
// genuine or not, in either case. It is for what people wrote, so that nobody
// hands an agent a token of his own or one he has read somewhere; and for what
// is posted, so that no token gets where others can read it.
//
// Characters that are not seen could hide a token from it: take them out
// first.
func Remove(text string) string {
	from, kept := 0, 0
	var b strings.Builder
	for from < len(text) {
		i := strings.IndexByte(text[from:], '.')
		if i < 0 {
			break
		}
		dot := from + i
		start, end, ok := shaped(text, dot)
		if !ok || start < kept {
			from = dot + 1
			continue
		}
		b.WriteString(text[kept:start])
		b.WriteString(removed)
		from, kept = end, end
	}
	if kept == 0 {
		return text
	}
	b.WriteString(text[kept:])
	return b.String()
}

// shaped reports where a token lies whose first dot is at dot: "v" and digits
// before it; then an id, an id, and digits, each with a dot after it; then at
// least as many characters of base64url as a signature has.
func shaped(text string, dot int) (start, end int, ok bool) {
	start = dot
	for start > 0 && digit(text[start-1]) {
		start--
	}
	if start == dot || start == 0 || text[start-1]|0x20 != 'v' {
		return 0, 0, false
	}
	end = dot + 1
	for _, part := range [...]func(byte) bool{word, word, digit} {
		n := run(text[end:], part)
		if n == 0 || end+n >= len(text) || text[end+n] != '.' {
			return 0, 0, false
		}
		end += n + 1
	}
	n := run(text[end:], word)
	return start - 1, end + n, n >= sigLen
}

func run(s string, of func(byte) bool) int {
	n := 0
	for n < len(s) && of(s[n]) {
		n++
	}
	return n
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

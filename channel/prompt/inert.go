package prompt

import "strings"

// zwsp after an @ is not seen, and belongs to no word.
const zwsp = "\u200b"

// Inert returns a text in which no @ begins a reference of Hermes': after every
// @ that is followed by a word and a colon, or by diff or staged, stands a
// zero-width space. Hermes looks at what comes before the @ and at how the word
// ends as well; here neither matters, for what is inert once too often harms
// nobody.
//
// It has to be the last thing done to a text.
func Inert(s string) string {
	var b strings.Builder
	kept := 0
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '@')
		if i < 0 {
			break
		}
		from += i + 1
		if wakes(s[from:]) {
			b.WriteString(s[kept:from])
			b.WriteString(zwsp)
			kept = from
		}
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// wakes reports whether what follows an @ could make it a reference.
func wakes(s string) bool {
	n := 0
	for n < len(s) && (letter(s[n]) || n > 0 && (s[n] >= '0' && s[n] <= '9' || s[n] == '_' || s[n] == '-')) {
		n++
	}
	return n > 0 && n < len(s) && s[n] == ':' || begins(s, "diff") || begins(s, "staged")
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func begins(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

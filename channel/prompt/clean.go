package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"rcsupervisor/channel/prompt/asker"
	"rcsupervisor/internal/unseen"
)

// indent stands before every line of people's text.
const indent = "    "

// nameLen bounds a name, in characters.
const nameLen = 64

// clean returns people's text with one kind of line break and nothing unseen in
// it. Everything that any reader of the prompt might take for a line break is
// one: CR, VT, FF, the separators U+001C to U+001E, NEL, U+2028 and U+2029.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(-1)
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			continue
		case breaksLine(r):
			r = '\n'
		case r == utf8.RuneError:
			r = '\ufffd'
		case r != '\t' && unseen.Is(r) && !placed(before, r, s[i+utf8.RuneLen(r):]):
			continue
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// plain holds for a text that is clean as it is: most are.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func breaksLine(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\x1c', '\x1d', '\x1e', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// placed reports whether a character that is not seen has its place in real
// text: a joiner, or a variation selector.
func placed(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	if r == '\u200c' || r == '\u200d' {
		return joins(before) && joins(after) && !unseen.Is(after)
	}
	return unseen.Presents(before, r, after)
}

// joins reports whether a character is one that joiners stand between in real
// text: emoji, and scripts that need them. Between any others they only hide.
func joins(r rune) bool {
	return r >= utf8.RuneSelf && r != utf8.RuneError && !unicode.In(r, unicode.Z, unicode.C)
}

// said returns people's text as it goes into a prompt: clean, without tokens.
func said(s string) string { return asker.Remove(clean(s)) }

// Name returns a name as it goes into one of our lines: one line of at most 64
// characters, without brackets, quotation marks, control or format characters.
// It may be empty. What is not kept leaves a blank, so that taking it out makes
// nothing new of what stood beside it.
func Name(s string) string {
	var b strings.Builder
	count, blank := 0, false
	for _, r := range said(s) {
		if unicode.Is(unicode.Variation_Selector, r) {
			continue
		}
		if !named(r) {
			blank = count > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			count++
		}
		if count >= nameLen {
			break
		}
		blank = false
		b.WriteRune(r)
		count++
	}
	return strings.TrimRight(b.String(), " ")
}

// named holds for a character that may stand in a name.
func named(r rune) bool {
	return !unicode.In(r, unicode.Z, unicode.C, unicode.Ps, unicode.Pe) && !strings.ContainsRune("<>\"`\u2800\ufffd", r)
}

// shift returns a text with every line of it indented.
func shift(s string) string {
	return indent + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+indent)
}

package post

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Defuse makes an answer fit to be posted: @all and @here call nobody (U+200B
// after the @), invalid UTF-8 is U+FFFD, line ends are "\n", and control
// characters other than that and the tab are gone, as is U+FEFF, which some
// clients trim and others show.
//
// A name that merely begins so (@allison, @here-bot, bob@all.example) stays as
// it is. What stands before the @ doesn't matter, since servers differ in what
// they let stand there; code is no exception, since they differ in that too.
func Defuse(text string) string { return disarm(tidy(text)) }

// tidy is text with its characters made fit.
func tidy(text string) string {
	if !strings.ContainsFunc(text, unfit) && utf8.ValidString(text) {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune { // invalid bytes arrive as U+FFFD
		switch {
		case r == '\r':
			return '\n'
		case unfit(r):
			return -1
		}
		return r
	}, text)
}

// unfit reports whether r is to be dropped or replaced.
func unfit(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\ufeff'
}

// guard keeps an @ from calling anybody.
const guard = "\u200b"

// disarm puts guard after the @ of each @all and @here.
func disarm(text string) string {
	at := strings.IndexByte(text, '@')
	if at < 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for at >= 0 {
		after := at + 1
		if calls(text[after:]) {
			b.WriteString(text[from:after])
			b.WriteString(guard)
			from = after
		}
		next := strings.IndexByte(text[after:], '@')
		if next < 0 {
			break
		}
		at = after + next
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// marks are what besides letters and digits a name may hold. That many of them
// in a row are no part of one.
const (
	marks    = ".-_"
	maxMarks = 8
)

// calls reports whether an @ before s would call everybody: whether s begins
// with all or here, and the name ends there. Marks belong to a name only if more
// of it comes after them.
func calls(s string) bool {
	rest, ok := cutFold(s, "all")
	if !ok {
		if rest, ok = cutFold(s, "here"); !ok {
			return false
		}
	}
	for range maxMarks {
		if rest == "" || !strings.Contains(marks, rest[:1]) {
			break
		}
		rest = rest[1:]
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// cutFold is s without prefix, which is lower-case ASCII, in any case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

package unseen

import (
	"testing"
	"unicode"
)

func TestWhatIsNotSeen(t *testing.T) {
	for _, r := range []rune{
		0, '\t', '\n', '\r', 0x1b, 0x7f, 0x80, 0x85, 0x9b, // control
		0xad, 0x61c, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x202e, 0x2060, 0x2061, 0x2066, 0x2069, 0xfeff, 0xfff9, 0x1d173, // format
		0xe0001, 0xe0020, 0xe0041, 0xe007f, // tags
		0xfe00, 0xfe0e, 0xfe0f, 0x180b, 0x180f, 0xe0100, 0xe01ef, // variation selectors
		0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, // joiner and fillers
		0x2065, 0xfff0, 0xe0000, 0xe0002, 0xe0080, 0xe0fff, // not assigned, and ignored all the same
	} {
		if !Is(r) {
			t.Errorf("%U is seen", r)
		}
	}
	for _, r := range []rune{' ', 'a', '@', '~', 0xa0, 0xe9, 0x301, 0x2003, 0x2028, 0x2800, 0x3000, 0x65e5, 0xfffc, 0xfffd, 0xff20, 0xe000, 0x1f600, 0x1f3fd, 0x10fffd} {
		if Is(r) {
			t.Errorf("%U is not seen", r)
		}
	}
	if Is(-1) || Is(unicode.MaxRune+1) {
		t.Error("what is no character is not seen")
	}
}

func TestPresentation(t *testing.T) {
	for _, c := range []struct {
		before, r, after rune
		want             bool
	}{
		{'❤', 0xfe0f, -1, true},
		{'❤', 0xfe0e, 'x', true},
		{'1', 0xfe0f, keycap, true},
		{'#', 0xfe0f, keycap, true},
		{'©', 0xfe0f, ' ', true},
		{'ℹ', 0xfe0f, '.', true},
		{'1', 0xfe0f, '.', false}, // it would hide a digit's neighbour from who looks for it
		{'1', 0xfe0f, -1, false},
		{'a', 0xfe0f, keycap, false},
		{'日', 0xfe0f, -1, false},
		{'日', 0xfe00, -1, false}, // other forms of a letter are the same letter
		{'日', 0xe0100, -1, false},
		{'❤', 0xfe01, -1, false},
		{'❤', 0x200d, -1, false},
		{'a', 0xfe0f, -1, false},
		{' ', 0xfe0f, -1, false},
		{'\n', 0xfe0f, -1, false},
		{-1, 0xfe0f, keycap, false},
		{0xfe0f, 0xfe0f, -1, false},
		{0x301, 0xfe0f, -1, false},
		{0x200d, 0xfe0f, -1, false},
		{0xfffd, 0xfe0f, -1, false},
		{0x3000, 0xfe0f, -1, false},
	} {
		if got := Presents(c.before, c.r, c.after); got != c.want {
			t.Errorf("%U between %U and %U: %t", c.r, c.before, c.after, got)
		}
	}
}

package unseen

import "unicode"

// Is reports whether r takes up no place of its own: control and format
// characters (bidi, zero-width and tag characters among them), variation
// selectors, fillers, and whatever else Unicode says to show nothing for
// (Default_Ignorable_Code_Point), be it assigned yet or not. Line breaks and
// tabs are control characters too; blanks are not unseen.
func Is(r rune) bool {
	if r < 0x7f {
		return r >= 0 && r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// keycap makes a key of the digit before it.
const keycap = '\u20e3'

// Presents reports whether r is a variation selector that has its place between
// two characters (-1 for none): one of the two that ask for text or picture,
// behind a sign that may be both, or within a keycap. Anywhere else,
// and behind each other, they only hide.
func Presents(before, r, after rune) bool {
	switch {
	case r != '\ufe0e' && r != '\ufe0f':
		return false
	case before < 0x80:
		return after == keycap && (before >= '0' && before <= '9' || before == '#' || before == '*')
	case before == 'ℹ': // the one letter that is also a picture
		return true
	}
	return before != unicode.ReplacementChar && !Is(before) && !unicode.In(before, unicode.L, unicode.M, unicode.N, unicode.Z, unicode.C)
}

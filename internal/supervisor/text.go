package supervisor

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

// clip returns at most left bytes of s, in whole characters and on one line,
// and takes them off left.
func clip(s string, left *int) string {
	if len(s) > *left {
		n := max(0, *left-len("…"))
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	*left -= len(s)
	return strings.ToValidUTF8(s, "\ufffd")
}

package slips

import "strings"

// tooLong is what is no slip of a word of ours any more; it bounds the work.
const tooLong = 64

// Nearest returns the candidate that is name but for one or two slips (a
// letter more, less, another, or swapped with the next), or "". A short word
// may have one slip only. Case, and - for _, are no slips.
func Nearest(name string, candidates []string) string {
	best, least := "", 3
	if len(name) < 5 {
		least = 2
	}
	for _, c := range candidates {
		if strings.EqualFold(strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(c, "-", "_")) {
			return c
		}
		if d := Distance(name, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// Distance is the number of letters inserted, left out, changed or swapped
// with the next that make one word of the other. Of what is too long to be a
// word it is more than any slip.
func Distance(a, b string) int {
	if len(a) > tooLong || len(b) > tooLong {
		return tooLong
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

package main

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/sys/unix"
)

// width is that of everything printed for people who read it elsewhere than on
// a terminal, and the most that a sentence has there too.
const width = 80

// A terminal that says it is narrower than anything can be read in, or wider
// than the eye follows a row, isn't believed.
const narrowest, widest = 40, 240

// widthOf is how many columns a table may have.
func widthOf(out io.Writer) int {
	f, ok := fileOf(out)
	if !ok {
		return width
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return width
	}
	return min(max(int(size.Col), narrowest), widest)
}

// cells is how many columns s takes on a terminal: two for a character of
// Chinese or an emoji. Of several signs that are one to people it is what they
// take apart, which is how some terminals show them.
func cells(s string) int {
	n := 0
	for rest, state := s, -1; rest != ""; {
		var c string
		var w int
		c, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n += apart(c, w)
	}
	return n
}

// apart is how many columns a character takes, which has w where it is shown as
// one.
func apart(c string, w int) int {
	sum := 0
	for _, r := range c {
		if '\U0001f3fb' <= r && r <= '\U0001f3ff' {
			sum += 2 // a skin, beside the hand it belongs to
			continue
		}
		sum += uniseg.StringWidth(string(r))
	}
	return max(w, sum)
}

// cut is s in at most n columns.
func cut(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	return beginning(s, n-1) + "…"
}

// cutMiddle is s in at most n columns, with its beginning and its end.
func cutMiddle(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	front := beginning(s, n/2)
	end := s[len(front):]
	for end != "" && cells(front)+1+cells(end) > n {
		_, end, _, _ = uniseg.FirstGraphemeClusterInString(end, -1)
	}
	return front + "…" + end
}

// beginning is as much of s, in whole characters, as fits into n columns.
func beginning(s string, n int) string {
	end, left := 0, n
	for rest, state := s, -1; rest != ""; {
		var c string
		var w int
		c, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if w = apart(c, w); w > left {
			break
		}
		end, left = end+len(c), left-w
	}
	return s[:end]
}

// pad is s with spaces after it, n columns together.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cells(s))) }

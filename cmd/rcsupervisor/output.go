package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// hanging writes text after a head, broken at spaces so that it fits, with the
// lines that follow below its beginning. A word that is longer stays whole. The
// head's first word may have a colour, on a terminal.
func hanging(w io.Writer, head, text string, colour ...string) {
	indent := strings.Repeat(" ", cells(head))
	line, first, most := head, true, min(width, widthOf(w))
	flush := func() {
		line = strings.TrimRight(line, " ")
		if mark, rest, ok := strings.Cut(line, " "); ok && len(colour) > 0 {
			line = painted(w, colour[0], mark) + " " + rest
		}
		fmt.Fprintln(w, line)
	}
	for word := range strings.FieldsSeq(text) {
		if !first && cells(line)+1+cells(word) > most {
			flush()
			line, first, colour = indent, true, nil
		}
		if !first {
			line += " "
		}
		line, first = line+word, false
	}
	flush()
}

// table writes rows below a head, in columns. The last column is cut where it
// would not fit.
func table(w io.Writer, head []string, rows [][]string) {
	rows = slices.Insert(slices.Clone(rows), 0, head)
	last := len(head) - 1
	wide := make([]int, last)
	for _, row := range rows {
		for i := range wide {
			wide[i] = max(wide[i], cells(row[i]))
		}
	}
	for _, row := range rows {
		line := ""
		for i, n := range wide {
			line += pad(row[i], n) + "  "
		}
		line += cut(row[last], max(0, widthOf(w)-cells(line)))
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// longAgo says how long ago something was, in the unit people would use.
func longAgo(t, now time.Time) string {
	d := now.Sub(t)
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{365 * 24 * time.Hour, "year"}, {30 * 24 * time.Hour, "month"}, {24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.unit); n == 1 {
			return "a " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "just now"
}

// orNone is a list for people.
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Colours, as terminals know them.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// painted colours a word where out is a terminal and nobody asked for none.
func painted(out io.Writer, code, word string) string {
	if !isTerminal(out) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// hanging writes text after a head, broken at spaces so that it fits, with the
// lines that follow below its beginning. A word that is longer stays whole. The
// head's first word may have a colour, on a terminal.
func hanging(w io.Writer, head, text string, colour ...string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line, first := head, true
	flush := func() {
		line = strings.TrimRight(line, " ")
		if mark, rest, ok := strings.Cut(line, " "); ok && len(colour) > 0 {
			line = painted(w, colour[0], mark) + " " + rest
		}
		fmt.Fprintln(w, line)
	}
	for word := range strings.FieldsSeq(text) {
		if !first && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
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

// table writes rows below a head, in columns.
func table(w io.Writer, head []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = t.Flush() // w keeps its own error; nothing is owed to a reader who has gone
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

package post

import "strings"

// A fence is the beginning of a code block; the zero fence is none. Only those
// at the start of a line count, and only of backticks, since Rocket.Chat knows
// no other.
type fence struct {
	ticks    string // three or more
	language string // the first word after them
}

// maxTicks bounds a fence; a longer row of backticks is text.
const maxTicks = 8

// opened is the fence that line opens, if it opens one. What stands behind the
// backticks is a language and not a long text, nor does it hold a backtick: that
// is a code span.
func opened(line string, limit int) fence {
	n := ticks(line)
	info := strings.TrimRight(line[n:], " \t")
	if n < 3 || n > maxTicks || len(info) > limit/4 || strings.Contains(info, "`") {
		return fence{}
	}
	f := fence{ticks: line[:n]}
	if words := strings.Fields(info); len(words) > 0 {
		f.language = words[0]
	}
	return f
}

// is reports whether f is a fence at all.
func (f fence) is() bool { return f.ticks != "" }

// closedBy reports whether line ends f's block.
func (f fence) closedBy(line string) bool {
	n := ticks(line)
	return f.is() && n >= len(f.ticks) && n <= maxTicks && strings.TrimRight(line[n:], " \t") == ""
}

// again is what opens f's block again at the start of a part. A language that
// would take much of the part is left out.
func (f fence) again(limit int) string {
	switch {
	case !f.is():
		return ""
	case len(f.language) > limit/8:
		return f.ticks + "\n"
	}
	return f.ticks + f.language + "\n"
}

// end is what closes f's block at the end of a part.
func (f fence) end() string {
	if !f.is() {
		return ""
	}
	return "\n" + f.ticks
}

// room is how many units that takes.
func (f fence) room() int { return len(f.end()) }

// leftOpen is the code block that text leaves open, read as a server reads it.
// It differs from where the cut lies only for odd lines, of which a piece reads
// as a fence.
func leftOpen(text string, limit int) (f fence) {
	if !strings.Contains(text, "```") {
		return fence{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case f.closedBy(line):
			f = fence{}
		case !f.is():
			f = opened(line, limit)
		}
	}
	return f
}

// ticks is how many backticks s begins with.
func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

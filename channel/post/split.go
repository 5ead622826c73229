package post

import (
	"strings"
	"unicode/utf8"
)

// LeastPart is the least that a part can be cut to: below it there is no room
// for what has to be said again around a cut.
const LeastPart = 64

// Split cuts a Markdown answer into parts of at most limit UTF-16 code units,
// which is how Rocket.Chat counts. A limit below [LeastPart] counts as that.
// Each part has gone through [Defuse], and no cut makes an @all of a longer
// name.
//
// It cuts where a reader would: between paragraphs, else between lines, else
// between sentences, the three of them only if the part is half full by then,
// else between words. A code block that is cut is closed, and opened again with
// its language. Code spans, links and addresses stay whole where they can; in
// one long word the cut comes between two graphemes, and only a grapheme that
// is longer than a part is cut itself, between two characters.
//
// Without the fences put around cuts, the parts are the answer without white
// space at its cuts and ends. No part is empty, and an answer of nothing but
// white space has none. A long answer has many parts: the caller knows how many
// are too many.
func Split(text string, limit int) []string {
	c := cutter{text: Defuse(text), limit: max(limit, LeastPart)}
	var parts []string
	for p, more := c.next(); more; p, more = c.next() {
		if body := c.text[p.from:p.to]; strings.TrimSpace(body) != "" {
			parts = append(parts, p.before+body+p.after)
		}
	}
	return parts
}

// A cutter walks through a text once, part by part.
type cutter struct {
	text  string
	limit int
	at    int   // what comes before is cut
	open  fence // the code block that at lies in
}

// A cut is one part: text[from:to] with what is said around it.
type cut struct {
	before   string
	from, to int
	after    string
}

// A place is one where a part may end: at to, and the next goes on at next,
// which lies in open. ok is false for no place at all.
type place struct {
	to, next int
	open     fence
	used     int // units of the part up to to
	ok       bool
}

// next is the next part, until there is none.
func (c *cutter) next() (p cut, more bool) {
	if !c.open.is() {
		c.skipBlank()
	}
	if c.at >= len(c.text) {
		return cut{}, false
	}
	p = cut{before: c.open.again(c.limit), from: c.at}
	end := c.find(units(p.before))
	p.to = end.to
	if !end.open.is() {
		p.to = c.at + len(strings.TrimRight(c.text[c.at:end.to], " \t\n"))
	}
	if end.next < len(c.text) || p.before != "" { // what isn't cut is left as it is
		p.after = leftOpen(p.before+c.text[p.from:p.to], c.limit).end()
	}
	if line := firstLine(c.text[end.next:], c.limit); end.open.closedBy(line) {
		// The block would be opened again for nothing but its end.
		end.next, end.open = min(end.next+len(line)+1, len(c.text)), fence{}
	}
	c.at, c.open = end.next, end.open
	return p, true
}

// skipBlank moves over lines of nothing but white space: outside of code no
// part begins with one.
func (c *cutter) skipBlank() {
	rest := c.text[c.at:]
	solid := strings.TrimLeft(rest, " \t\n")
	if solid == "" {
		c.at = len(c.text)
		return
	}
	c.at += strings.LastIndexByte(rest[:len(rest)-len(solid)], '\n') + 1
}

// find is where the part that begins at c.at ends, of which used units are
// spent already: after as many lines as fit, at the best place among them.
func (c *cutter) find(used int) place {
	here := place{to: c.at, next: c.at, open: c.open, used: used}
	var paragraph, line place // the last ends of one
	for here.next < len(c.text) {
		after, fits := c.add(here)
		if !fits {
			return c.choose(paragraph, line, here)
		}
		if !after.open.is() && (here.open.is() || c.paragraphEnds(here, after)) {
			paragraph = after
		}
		if !after.open.is() || here.open.is() { // not between a fence and its code
			line = after
		}
		here = after
	}
	here.ok = true
	return here
}

// add is the place after the line at here, and whether the line fits: in a code
// block with room for closing it.
func (c *cutter) add(here place) (after place, fits bool) {
	line := firstLine(c.text[here.next:], c.limit)
	if len(line) > maxBytes(c.limit) {
		return place{}, false
	}
	after = place{to: here.next + len(line), open: here.open, ok: true}
	after.next = min(after.to+1, len(c.text))
	switch {
	case here.open.closedBy(line):
		after.open = fence{}
	case !here.open.is():
		after.open = opened(line, c.limit)
	}
	after.used = here.used + units(line)
	if here.next > c.at {
		after.used++ // the line break before it
	}
	return after, after.used+after.open.room() <= c.limit
}

// paragraphEnds reports whether a paragraph ends with the line from here to
// after: it is blank, or a blank line or a code block follows.
func (c *cutter) paragraphEnds(here, after place) bool {
	if strings.TrimSpace(c.text[here.next:after.to]) == "" {
		return true
	}
	line := firstLine(c.text[after.next:], c.limit)
	return strings.TrimSpace(line) == "" || opened(line, c.limit).is()
}

// choose is where to cut when the line at here doesn't fit any more.
func (c *cutter) choose(paragraph, line, here place) place {
	half := c.limit / 2
	first := firstLine(c.text[here.next:], c.limit)
	switch {
	case paragraph.ok && paragraph.used >= half:
		return paragraph
	case line.ok && line.used >= half:
		return line
	case here.open.closedBy(first):
		return here // next takes the end of the block along
	case !here.open.is() && opened(first, c.limit).is() && line.ok:
		return line
	}
	in, whole := c.within(here)
	if !whole && line.ok {
		return line // what is too long for the rest of this part may fit the next
	}
	return in
}

// firstLine is the first line of s, or as much of it as is surely too long for
// a part.
func firstLine(s string, limit int) string {
	if most := maxBytes(limit) + 1; len(s) > most {
		s = s[:most]
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}

// units is the length of s in UTF-16 code units; s is valid UTF-8, or such cut
// off anywhere.
func units(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// maxBytes is how many bytes n UTF-16 code units can have in UTF-8.
func maxBytes(n int) int { return 3 * n }

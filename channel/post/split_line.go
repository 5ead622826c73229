package post

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// within is the best place to cut in the line at here, which does not fit.
// whole is false if a word has to be cut for it.
func (c *cutter) within(here place) (p place, whole bool) {
	room := c.limit - here.used - here.open.room()
	if here.next > c.at {
		room-- // for the line break before it
	}
	line := firstLine(c.text[here.next:], 2*c.limit)
	if !here.open.is() && strings.HasPrefix(line, "```") {
		room -= len("\n") + maxTicks // a piece of it may open a block
	}
	s := c.scan(line, room, c.limit/2-here.used, here.open)
	mark := firstOf(s.sentence, s.word)
	if whole = mark.next > 0; !whole {
		mark = firstOf(s.grapheme, s.torn, s.forced)
	}
	if mark.next == 0 {
		n := firstRunes(line, room)
		if here.next > c.at && units(line[:n]) > room {
			return here, false // the beginning of a block has taken all there is
		}
		mark = span{n, n}
	}
	return place{
		to: here.next + mark.to, next: here.next + mark.next,
		open: here.open, used: here.used + units(line[:mark.to]), ok: true,
	}, whole
}

// A span is a place in a line: what is before to belongs to the part, and from
// next on to the next. Between them there is white space. The zero span is none,
// since no part ends where a line begins.
type span struct{ to, next int }

// firstOf is the first of places that is one.
func firstOf(places ...span) span {
	for _, p := range places {
		if p.next > 0 {
			return p
		}
	}
	return span{}
}

// spots are the last places in a line where it can be cut, from the best to
// the worst: after a sentence, after a word, between two graphemes; and where
// only what is better kept whole is longer than a part, after a word of that
// and between two graphemes of it.
type spots struct{ sentence, word, grapheme, torn, forced span }

// scan looks for the last places within room units of a line that lies in open;
// a sentence counts only from enough units on. In code every character counts,
// and there are neither sentences nor links.
func (c *cutter) scan(line string, room, enough int, open fence) spots {
	var s spots
	code := open.is()
	var whole []span
	if !code {
		whole = atoms(line)
	}
	at, solid, used := 0, 0, 0
	rest, state := line, -1
	for rest != "" {
		var cluster string
		var bounds int
		cluster, rest, bounds, state = uniseg.StepString(rest, state)
		at += len(cluster)
		used += units(cluster)
		white := blank(cluster)
		if used > room && (code || !white) {
			return s
		}
		if !white {
			solid = at
		}
		if c.spoils(line[:at], rest, open) {
			continue
		}
		if solid == 0 { // nothing yet but white space, which may go
			s.forced = span{at, at}
			continue
		}
		for len(whole) > 0 && whole[0].next <= at {
			whole = whole[1:]
		}
		word := span{solid, at}
		between := bounds&uniseg.MaskLine != uniseg.LineDontBreak
		if code {
			word, between = span{at, at}, white
		}
		if len(whole) > 0 && whole[0].to < at {
			if used <= room {
				s.forced = span{at, at}
			}
			if between {
				s.torn = word
			}
			continue
		}
		if used <= room {
			s.grapheme = span{at, at}
		}
		if between {
			s.word = word
		}
		if between && !code && bounds&uniseg.MaskSentence != 0 && used >= enough {
			s.sentence = word
		}
	}
	return s
}

// spoils reports whether a cut between head and rest of a line makes something
// of either that it isn't: an @all, or a fence.
func (c *cutter) spoils(head, rest string, open fence) bool {
	if !open.is() {
		head = strings.TrimRight(head, " \t") // as it will be
	}
	switch {
	case callsAtEnd(head), strings.HasPrefix(strings.TrimLeft(rest, " \t"), "```"):
		return true
	case !strings.HasPrefix(head, "```"):
		return false
	case open.is():
		return open.closedBy(head)
	}
	return opened(head, c.limit).is()
}

// blank reports whether a grapheme is white space and nothing on it.
func blank(cluster string) bool {
	r, size := utf8.DecodeRuneInString(cluster)
	return size == len(cluster) && unicode.IsSpace(r)
}

// firstRunes is how many bytes of s, in whole characters, have at most room
// units; at least one character.
func firstRunes(s string, room int) int {
	n := 0
	for i, r := range s {
		size := utf8.RuneLen(r)
		if room -= units(s[i : i+size]); room < 0 && n > 0 {
			break
		}
		n = i + size
	}
	return n
}

// callsAtEnd reports whether s ends with an @ and a name that calls everybody:
// what would be cut off there is the rest of a longer name.
func callsAtEnd(s string) bool {
	for range maxMarks + 1 {
		for _, name := range []string{"@all", "@here"} {
			if n := len(s) - len(name); n >= 0 && strings.EqualFold(s[n:], name) {
				return true
			}
		}
		if s == "" || !strings.Contains(marks, s[len(s)-1:]) {
			return false
		}
		s = s[:len(s)-1]
	}
	return false
}

// atoms are what of a line is not to be cut: code spans, links, addresses and
// names after an @, in order and not overlapping. to is where one begins, next where the text goes
// on after it.
func atoms(line string) []span {
	if !strings.ContainsAny(line, "`[@") && !strings.Contains(line, "://") {
		return nil
	}
	var found []span
	var brackets []int
	closing := closers(line)
	for i := 0; i < len(line); {
		from := i
		switch {
		case line[i] == '`':
			i += ticks(line[i:])
			if end, ok := closing[from]; ok {
				i = end
			}
			found = append(found, span{from, i})
			continue
		case line[i] == '[':
			brackets = append(brackets, i)
		case line[i] == ']' && len(brackets) > 0:
			open := brackets[len(brackets)-1]
			brackets = brackets[:len(brackets)-1]
			if n := target(line[i+1:]); n > 0 {
				found = append(found, span{open, i + 1 + n})
				i += n
			}
		case address(line[i:]):
			i += len(firstWord(line[i:]))
			found = append(found, span{from, i})
			continue
		case line[i] == '@':
			i += 1 + name(line[i+1:])
			found = append(found, span{from, i})
			continue
		}
		i++
	}
	return merged(found)
}

// closers tells of each row of backticks that opens a code span where the span
// ends: behind the next row of the same length.
func closers(line string) map[int]int {
	type row struct{ at, n int }
	var rows []row
	for i := strings.IndexByte(line, '`'); i >= 0 && i < len(line); {
		n := ticks(line[i:])
		rows = append(rows, row{i, n})
		i += n
		next := strings.IndexByte(line[i:], '`')
		if next < 0 {
			break
		}
		i += next
	}
	ends := map[int]int{}
	last := map[int]int{} // by length: the end of the next row of it
	for _, r := range slices.Backward(rows) {
		if end, ok := last[r.n]; ok {
			ends[r.at] = end
		}
		last[r.n] = r.at + r.n
	}
	return ends
}

// target is the length of a link's target in round brackets, which s begins
// with; 0 if it doesn't.
func target(s string) int {
	if !strings.HasPrefix(s, "(") {
		return 0
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case ' ', '\t', '[', ']':
			return 0
		}
	}
	return 0
}

// address reports whether s begins with a web address.
func address(s string) bool {
	return s[0] == 'h' && (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://"))
}

// name is the length of what s begins with and could be a user's name.
func name(s string) int {
	for i := range len(s) {
		b := s[i]
		if (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '-' && b != '_' && b != '.' {
			return i
		}
	}
	return len(s)
}

// firstWord is s up to the first white space.
func firstWord(s string) string {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i]
	}
	return s
}

// merged are spans in order, those that overlap as one.
func merged(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return a.to - b.to })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.to < out[n-1].next {
			out[n-1].next = max(out[n-1].next, s.next)
			continue
		}
		out = append(out, s)
	}
	return out
}

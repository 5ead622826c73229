package dotenv

import (
	"slices"
	"strings"
)

// Without returns the file without the lines that assign any of keys, and
// which of them it found. Every other byte stays: comments, order, blank
// lines, line ends, the byte order mark. All assignments of a key go, or an
// earlier one would come to life again.
//
// A quoted value that goes on over the following lines, as python-dotenv
// allows, goes with them: the rest of a token must not stay behind.
func (f *File) Without(keys ...string) (data []byte, found []string) {
	var b strings.Builder
	for i := 0; i < len(f.lines); i++ {
		l := f.lines[i]
		if l.key == "" || !slices.Contains(keys, l.key) {
			b.WriteString(l.text)
			continue
		}
		if !slices.Contains(found, l.key) {
			found = append(found, l.key)
		}
		i += f.continued(i)
	}
	return f.enc.encode(b.String()), found
}

// continued is the number of lines after i that its value goes on over: up to
// the one with the closing quote. A line that assigns something, or a comment,
// is one of its own for Hermes, and then nothing is taken with it.
func (f *File) continued(i int) int {
	v := f.lines[i].raw
	if v == "" || (v[0] != '"' && v[0] != '\'') || closing(v) > 0 {
		return 0
	}
	for n, l := range f.lines[i+1:] {
		text := strings.TrimFunc(l.text, isSpace)
		if l.key != "" || strings.HasPrefix(text, "#") {
			return 0
		}
		if closing(v[:1]+text) > 0 {
			return n + 1
		}
	}
	return 0
}

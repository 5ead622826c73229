package agent

import "strings"

// mediaMark begins a line that names a file to send. Hermes' gateway has it so.
const mediaMark = "MEDIA:"

// maxMediaLine bounds such a line; a longer one is text.
const maxMediaLine = 4096 + len(mediaMark)

// A MediaScan takes the lines `MEDIA:<path>` out of an answer that comes in
// pieces. In a code block they are text like any other. The zero value is ready.
type MediaScan struct {
	line   string // the beginning of a line that may become such a one
	inside bool   // in a line that can't
	fenced bool
}

// Write takes the next piece. It returns the text that is certain by now, and
// the paths named in it.
func (m *MediaScan) Write(chunk string) (text string, paths []string) {
	var b strings.Builder
	for line := range strings.Lines(chunk) {
		if m.inside {
			b.WriteString(line)
			m.inside = !strings.HasSuffix(line, "\n")
			continue
		}
		m.line += line
		switch {
		case strings.HasSuffix(m.line, "\n"):
			paths = m.end(&b, paths)
		case !m.undecided():
			b.WriteString(m.line)
			m.line, m.inside = "", true
		}
	}
	return b.String(), paths
}

// End returns what was held back of the last line.
func (m *MediaScan) End() (text string, paths []string) {
	var b strings.Builder
	paths = m.end(&b, nil)
	return b.String(), paths
}

// end decides a whole line.
func (m *MediaScan) end(b *strings.Builder, paths []string) []string {
	line := m.line
	m.line = ""
	word := strings.TrimSpace(line)
	path, ok := strings.CutPrefix(word, mediaMark)
	path = strings.Trim(path, " \t`\"'")
	switch {
	case strings.HasPrefix(word, "```"), strings.HasPrefix(word, "~~~"):
		m.fenced = !m.fenced
	case ok && path != "" && !m.fenced && len(line) <= maxMediaLine:
		return append(paths, path)
	}
	b.WriteString(line)
	return paths
}

// undecided reports whether the line begun may still be one that names a file,
// or that opens or closes a code block.
func (m *MediaScan) undecided() bool {
	word := strings.TrimLeft(m.line, " \t")
	if len(m.line) > maxMediaLine {
		return false
	}
	for _, mark := range []string{mediaMark, "```", "~~~"} {
		if strings.HasPrefix(word, mark) || strings.HasPrefix(mark, word) {
			return true
		}
	}
	return false
}

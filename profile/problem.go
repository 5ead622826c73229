package profile

import (
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing wrong in a file that a person wrote. Text never
// quotes a value of the file: any of them may be a secret that was pasted into
// the wrong place.
type Problem struct {
	Line int    // 1 for the first; 0 when the problem is of the whole file
	Key  string // dotted, as in the key reference; "" when none fits
	Text string // lower case, no full stop
}

// A FileError is everything wrong with channel.yaml or access.yaml, told at
// once. Problems are in the order of their lines and never empty.
type FileError struct {
	File     string // as it was named to the parser
	Problems []Problem
}

// Error lists the problems, one a line, each as file:line.
func (e *FileError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
		if p.Key != "" {
			b.WriteString(p.Key)
			b.WriteString(": ")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// maxProblems bounds how many problems of one file are told: a file of
// another kind would otherwise have one on each of its lines.
const maxProblems = 20

// A report collects problems while a file is decoded.
type report struct {
	file     string
	problems []Problem
	more     int
}

func (r *report) add(line int, key, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, Problem{Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// err is nil when nothing was wrong.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	if r.more > 0 {
		r.problems = append(r.problems, Problem{Text: fmt.Sprintf("and %d more problems", r.more)})
	}
	return &FileError{File: r.file, Problems: r.problems}
}

package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Interaction goes to the terminal: prompts to standard error, answers from
// standard input without being shown.

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// askHidden asks one question and reads one line that is not shown.
func askHidden(s streams, question string) (string, error) {
	f, ok := s.in.(*os.File)
	if !ok {
		return "", io.ErrUnexpectedEOF
	}
	fmt.Fprint(s.err, question)
	defer fmt.Fprintln(s.err)
	line, err := term.ReadPassword(int(f.Fd()))
	return string(line), err
}

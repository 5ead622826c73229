package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// risks are the rows of the README's table of risks.
func risks(t *testing.T) (found []string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	must(t, err)
	_, after, ok := strings.Cut(string(readme), "| risk | what rcsupervisor does |\n|---|---|\n")
	if !ok {
		t.Fatal("the README has no table of risks")
	}
	for line := range strings.Lines(after) {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		risk, what, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		if what == "" {
			t.Errorf("nothing is said of %q", risk)
		}
		found = append(found, strings.ReplaceAll(risk, "`", ""))
	}
	return found
}

// Each risk that the README says is met has a test that names it; who asks what
// the sentence rests on finds it by its words.
func TestEachRiskHasATestThatNamesIt(t *testing.T) {
	var tests strings.Builder
	must(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	}))
	all := risks(t)
	if len(all) < 15 {
		t.Errorf("the table has %d rows", len(all))
	}
	for _, risk := range all {
		named := strings.TrimSuffix(strconv.Quote(risk), `"`) // its beginning: a row may have several tests
		if !strings.Contains(tests.String(), named) {
			t.Errorf("no test names %q", risk)
		}
	}
}

package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// byParser returns the names that Rocket.Chat's own message parser finds in
// each text. It is installed from npm into a folder of the test's own.
func byParser(t *testing.T, texts []string) [][]string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "mentions.js"} {
		b, err := os.ReadFile(filepath.Join("testdata", "parser", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		cannot(t, fmt.Errorf("npm ci: %w\n%s", err, out))
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", "mentions.js")
	node.Dir, node.Stdin = dir, bytes.NewReader(in)
	out, err := node.Output()
	if errors.Is(err, exec.ErrNotFound) {
		cannot(t, err)
	}
	var names [][]string
	if err != nil || json.Unmarshal(out, &names) != nil || len(names) != len(texts) {
		t.Fatalf("node: %v, %d of %d texts", err, len(names), len(texts))
	}
	return names
}

// cannot ends a test for want of node or npm. Where everything has to be there
// that is a failure.
func cannot(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, t.Name()+" was NOT run:", err)
	t.Skip("not run: ", err)
}

// corpus generates texts: a line around each combination of what stands before
// and after a name, in each kind of line.
func corpus() (texts []string) {
	befores := []string{
		"", " ", "\t", "a ", "(", "((", "*", "**", "_", "~", "~~", `"`, ">", "x>", "x(", "x*", "x_", "x~", "a,", "a.", "-", "+", "/", "=", "@", "a@", "@a ", "@a@",
		"'", "[", "{", "<", `\`, "$", "|", "||", "1", "é", "日", "😀", ":smile:", "`", "`` ", "`a` ", "`a` `", "\\`", "\u200b", "\u00a0", "\u2003", "#a", "# ", "## ", "> ", "- ", "1. ",
	}
	afters := []string{
		"", " x", ",", ", x", ":", ": x", ":x", "::", ":,", ".", ". x", "..", ".x", ".)", "!", "?", ";", ")", "))", "]", "}", ">", `"`, "'s", "/b", "\\", "-", "-beta", "_", "_b", "*", "**", "~",
		"~~", "@", "@x", "x", "X", "2", "é", "日", "٣", "\u0301", "😀", "…", "—x", "+", "=", "$", "#", "#x", "|", "||", "`", "` x", "\u200b", "\u200d", "\u00ad", "\u00a0x", "\u2003x", "\tx", "](https://x.org)",
	}
	lines := []string{"first\n%s", "%s\nlast", "```\n%s\n```", "```js\na\n%s\n```\nx", "```\n%s", "x `c` %s `d`", "> q\n%s", "> q\n> %s"}
	for i, b := range befores {
		for j, a := range afters {
			texts = append(texts, b+"@hermes"+a)
			if l := lines[(i+j)%len(lines)]; i%3 == 0 || j%3 == 0 {
				texts = append(texts, fmt.Sprintf(l, b+"@hermes"+a))
			}
		}
		texts = append(texts, b+"@Hermes", b+"@hermés", b+"@herme")
	}
	return texts
}

// Where our bounded match and the parser differ, and why. The match is used
// only for messages that say nothing of who is mentioned; it keeps to the
// contract, and is narrower where it could wake a bot that nobody resolved.
var differences = []struct {
	why   string
	ours  bool // we see a mention, the parser doesn't
	texts *regexp.Regexp
}{
	{"a full stop ends a sentence; the parser takes it for part of the name", true, regexp.MustCompile(`@hermes\.(\s|$)`)},
	{"a quotation mark may open", true, regexp.MustCompile(`"@hermes`)},
	{"> may open", true, regexp.MustCompile(`\s>@hermes`)},
	{"white space is Unicode's", true, regexp.MustCompile(`[\x{a0}\x{2003}]@hermes`)},
	{"what is quoted was said before", false, regexp.MustCompile(`(?m)^>.*@hermes`)},
	{"a backslash takes the meaning from the @", false, regexp.MustCompile(`\\@hermes`)},
	{"only the openings listed open", false, regexp.MustCompile("([\\]\\[{)'|$`]|:smile:|😀|\\p{So}|#a)@hermes")},
	{"a colon follows only before white space or the end", false, regexp.MustCompile(`@hermes:[^\s]`)},
	{"a second @ makes a federated name, even with nothing after it", false, regexp.MustCompile(`@hermes@`)},
	{"a combining mark makes another letter", false, regexp.MustCompile(`@hermes\p{M}`)},
}

func TestMentionsAgreeWithRocketChatsParser(t *testing.T) {
	texts := corpus()
	met := make([]int, len(differences))
	agreed := 0
	for i, names := range byParser(t, texts) {
		_, _, ours := find(texts[i], "hermes")
		if theirs := slices.Contains(names, "hermes"); ours == theirs {
			agreed++
			continue
		}
		known := false
		for d, difference := range differences {
			if difference.ours == ours && difference.texts.MatchString(texts[i]) {
				known = true
				met[d]++
				break
			}
		}
		if !known {
			t.Errorf("%q: we say %t, the parser %q", texts[i], ours, names)
		}
	}
	for d, n := range met {
		if n == 0 {
			t.Errorf("no text shows the difference %q", differences[d].why)
		}
	}
	t.Logf("%d texts, %d alike, known differences %v", len(texts), agreed, met)
}

package profile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds of a file that people write. They hold before anything is built from
// it, so that a bomb costs a scan of its bytes.
const (
	// MaxFile is the size of any file of ours in a home, in bytes.
	MaxFile = 1 << 20
	// maxDepth is how deep values nest; the deepest of ours is 4.
	maxDepth = 12
	// maxIndicators bounds the number of values: each takes one of the
	// characters that are counted.
	maxIndicators = 100_000
)

const noAliases = "anchors and aliases are not used here"

// ParseDocument reads a file that people write as channel.yaml is written,
// within the same bounds, for another file of ours: as one YAML document
// without anchors, aliases, tags of its own or duplicate keys. The node is nil
// for a file without a value. Errors are [*FileError].
func ParseDocument(file string, data []byte) (*yaml.Node, error) {
	r := &report{file: file}
	root := parseDocument(r, data)
	return root, r.err()
}

// parseDocument reads data as one YAML document without anchors, aliases,
// merge keys, tags of its own or duplicate keys. It returns nil for a file
// without a value. What is wrong goes to r.
//
// The tree is walked by hand instead of being decoded into structs: that gives
// every problem a line, all of them at once, and errors that never quote the
// file, which the YAML package's own do.
func parseDocument(r *report, data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bounded(r, data) {
		return nil
	}
	var doc yaml.Node
	err := yaml.Load(data, &doc, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	switch {
	case err == nil:
	case strings.HasSuffix(err.Error(), "no documents in stream"):
		return nil
	default:
		syntaxProblem(r, data, err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	before := len(r.problems)
	plain(r, root, "")
	if len(r.problems) > before {
		return nil
	}
	if isNull(root) {
		return nil
	}
	return root
}

func bounded(r *report, data []byte) bool {
	switch {
	case len(data) > MaxFile:
		r.add(0, "", "longer than %d bytes", MaxFile)
	case !utf8.Valid(data):
		r.add(invalidLine(data), "", "not UTF-8 text")
	case countAny(data, "\n,:[]{}-?") > maxIndicators:
		r.add(0, "", "too many values: this is no file for people")
	default:
		return true
	}
	return false
}

func countAny(data []byte, chars string) int {
	n := 0
	for i := range len(chars) {
		n += bytes.Count(data, []byte{chars[i]})
	}
	return n
}

func invalidLine(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(data[:i], []byte("\n"))
		}
		i += size
	}
	return 0
}

// plain reports what our files never need and a bomb or a trick does. It
// descends by Content alone: an alias is refused, never followed.
func plain(r *report, n *yaml.Node, path string) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.add(n.Line, path, "%s", noAliases)
		return
	case n.Style&yaml.TaggedStyle != 0:
		r.add(n.Line, path, "tags are not used here: leave out what begins with an exclamation mark")
		return
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			plain(r, c, path)
		}
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			plain(r, k, path)
			r.add(k.Line, path, "a key must be a plain word")
			continue
		}
		if k.Tag == "!!merge" {
			r.add(k.Line, path, "merge keys are not used here")
			continue
		}
		plain(r, k, path)
		p := join(path, printable(k.Value))
		if first, twice := seen[k.Value]; twice {
			r.add(k.Line, p, "stands twice, first on line %d", first)
			continue
		}
		seen[k.Value] = k.Line
		plain(r, v, p)
	}
}

// known holds the scanner's and parser's fixed sentences, in words for people.
// A message that is not among them is replaced: some quote the file.
var known = map[string]string{
	"mapping values are not allowed in this context":               "a value with a colon in it must be quoted, or a line is indented wrongly",
	"block sequence entries are not allowed in this context":       "a list item is out of place",
	"mapping keys are not allowed in this context":                 "a key is out of place",
	"did not find expected key":                                    "a line is indented wrongly, or a key is missing",
	"did not find expected '-' indicator":                          "a list item must begin with a dash",
	"did not find expected node content":                           "a value is missing",
	"did not find expected ',' or ']'":                             "a list in brackets is not closed, or a comma is missing",
	"did not find expected ',' or '}'":                             "braces are not closed, or a comma is missing",
	"could not find expected ':'":                                  "a colon is missing",
	"found unexpected end of stream":                               "a quote is not closed",
	"found character that cannot start any token":                  "a value begins with a character that must be quoted",
	"found unknown escape character":                               "a backslash in double quotes is not a known escape; use single quotes",
	"found unexpected document indicator":                          "a quote is not closed",
	"did not find expected <document start>":                       "more than one document, or text after the end",
	"found a tab character where an indentation space is expected": "indent with spaces, not with tabs",
	"found a tab character that violates indentation":              "indent with spaces, not with tabs",
}

// syntaxProblem tells where the YAML package gave up, in words of our own.
func syntaxProblem(r *report, data []byte, err error) {
	le, ok := errors.AsType[*yaml.LoadError](err)
	switch {
	case ok:
	case strings.HasSuffix(err.Error(), "found multiple"):
		r.add(0, "", "more than one document: leave out the lines of dashes")
		return
	default:
		r.add(0, "", "not valid YAML")
		return
	}
	text, ok := known[le.Message]
	switch {
	case ok:
	case strings.HasPrefix(le.Message, "unknown anchor"):
		text = noAliases
	case strings.HasPrefix(le.Message, "control characters"):
		text = "control characters are not allowed"
	case le.Message == fmt.Sprintf("exceeded max depth of %d", maxDepth):
		text = "nested too deeply"
	default:
		text = "not valid YAML"
	}
	line := le.Mark.Line
	// At the end of the input the mark stands behind the last line.
	if last := 1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")); line > last {
		line = last
	}
	if indentedWithTab(data, line) {
		text = "indent with spaces, not with tabs"
	}
	r.add(line, "", "%s", text)
}

func indentedWithTab(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return false
	}
	l := lines[line-1]
	return bytes.ContainsRune(l[:len(l)-len(bytes.TrimLeft(l, " \t"))], '\t')
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// printable returns a key that is safe to print: a word of letters. Anything
// else may be a value that slipped into a key's place, and is not shown.
func printable(key string) string {
	if key == "" || len(key) > 32 {
		return "…"
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '.' && c != '-' {
			return "…"
		}
	}
	return key
}

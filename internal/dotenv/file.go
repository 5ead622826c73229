package dotenv

import (
	"slices"
	"strings"
)

// A File is a .env file as Hermes reads it. The zero File is an empty one.
type File struct {
	enc   encoding
	lines []line
}

// A line with its end. key is "" for what assigns nothing; raw is what stands
// behind the equals sign, without white space around it.
type line struct {
	text string
	key  string
	raw  string
}

func (l line) value() string { return unquote(withoutComment(l.raw)) }

// Parse reads data. The error is [ErrEncoding]; Hermes then goes on as with an
// empty file, and so does the File that is returned.
func Parse(data []byte) (*File, error) {
	text, enc, err := decode(data)
	if err != nil {
		return &File{}, err
	}
	f := &File{enc: enc}
	for _, t := range lines(text) {
		l := line{text: t}
		l.key, l.raw = assignment(t)
		f.lines = append(f.lines, l)
	}
	return f, nil
}

// assignment reads one line. Hermes' loader takes zero bytes out of the file
// before it reads it.
func assignment(text string) (key, raw string) {
	text = strings.TrimFunc(strings.ReplaceAll(text, "\x00", ""), isSpace)
	if text == "" || text[0] == '#' {
		return "", ""
	}
	if rest, ok := strings.CutPrefix(text, "export "); ok {
		text = strings.TrimLeftFunc(rest, isSpace)
	}
	key, raw, ok := strings.Cut(text, "=")
	if key = strings.TrimFunc(key, isSpace); !ok || key == "" {
		return "", ""
	}
	return key, strings.TrimFunc(raw, isSpace)
}

// withoutComment cuts what follows a value. In quotes a # belongs to the value;
// outside it begins a comment only after white space. A value with anything
// else behind its quote stays as it is.
func withoutComment(v string) string {
	if v == "" {
		return v
	}
	if v[0] == '"' || v[0] == '\'' {
		if end := closing(v); end > 0 && strings.HasPrefix(strings.TrimLeftFunc(v[end+1:], isSpace), "#") {
			return v[:end+1]
		}
		return v
	}
	space := false
	for i, c := range v {
		if c == '#' && space {
			return strings.TrimFunc(v[:i], isSpace)
		}
		space = isSpace(c)
	}
	return v
}

// closing is the index of the quote that closes the one v begins with, -1
// when there is none. A backslash hides what follows it in double quotes.
func closing(v string) int {
	for i := 1; i < len(v); i++ {
		switch {
		case v[i] == '\\' && v[0] == '"':
			i++
		case v[i] == v[0]:
			return i
		}
	}
	return -1
}

// unquote takes off quotes around the whole value. Of escapes there are two,
// and only in double quotes.
func unquote(v string) string {
	if len(v) < 2 || v[0] != v[len(v)-1] || (v[0] != '"' && v[0] != '\'') {
		return v
	}
	inner := v[1 : len(v)-1]
	if v[0] == '\'' {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' && i+1 < len(inner) && (inner[i+1] == '"' || inner[i+1] == '\\') {
			i++
		}
		b.WriteByte(inner[i])
	}
	return b.String()
}

// Get returns the value of key; of several assignments the last wins.
func (f *File) Get(key string) (string, bool) {
	for _, l := range slices.Backward(f.lines) {
		if l.key == key && key != "" {
			return l.value(), true
		}
	}
	return "", false
}

// credentialSuffixes are those of the keys that Hermes' loader cleans.
var credentialSuffixes = []string{"_API_KEY", "_TOKEN", "_SECRET", "_KEY"}

// Credential is Get with what Hermes' loader does to keys that name one:
// characters outside ASCII, which come of pasting and can't be in a header,
// are taken out. altered says that there were any.
func (f *File) Credential(key string) (value string, altered, ok bool) {
	value, ok = f.Get(key)
	if !slices.ContainsFunc(credentialSuffixes, func(s string) bool { return strings.HasSuffix(key, s) }) {
		return value, false, ok
	}
	clean := strings.Map(func(c rune) rune {
		if c > 0x7f {
			return -1
		}
		return c
	}, value)
	return clean, clean != value, ok
}

// Keys returns the names that are assigned, once each, in the file's order.
func (f *File) Keys() []string {
	var keys names
	for _, l := range f.lines {
		keys.add(l.key)
	}
	return keys.list
}

// Names returns every name that one or the other of Hermes' readers finds
// assigned in data, whatever its encoding: besides its own reader the process
// loads the file with python-dotenv, which takes other bytes for Latin-1, and
// also knows quoted names and any white space after export. It is for finding
// out whether something is configured; values are for [Parse].
func Names(data []byte) []string {
	text, _, err := decode(data)
	if err != nil {
		text = latin1(data)
	}
	var found names
	for _, t := range lines(text) {
		name, _ := assignment(t)
		if rest, ok := strings.CutPrefix(name, "export"); ok && strings.TrimLeftFunc(rest, isSpace) != rest {
			name = strings.TrimLeftFunc(rest, isSpace)
		}
		found.add(strings.Trim(name, `'`))
	}
	return found.list
}

// Commented returns the names to which lines that are commented out would give
// a value: no reader sees them, and whoever reads the file does.
func Commented(data []byte) []string {
	text, _, err := decode(data)
	if err != nil {
		text = latin1(data)
	}
	var found names
	for _, t := range lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimFunc(t, isSpace), "#")
		if !ok {
			continue
		}
		if name, value := assignment(strings.TrimLeft(rest, "# \t")); value != "" {
			found.add(name)
		}
	}
	return found.list
}

// names are without "" and each there once.
type names struct {
	list []string
	seen map[string]bool
}

func (n *names) add(name string) {
	if name == "" || n.seen[name] {
		return
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	n.list = append(n.list, name)
}

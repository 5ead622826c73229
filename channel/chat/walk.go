package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// A value is one JSON value as it lies in its frame. Its methods read it
// leniently: what is of another type than asked for is as good as absent,
// since one odd field must not hide what a person wrote.
//
// They walk the bytes once and copy only what is kept. Each event of the
// stream goes through here, most of them to be ignored, and encoding/json
// would scan every nested value again for each type that reads itself. They
// expect valid JSON and stay within bounds on anything else.
type value []byte

// absent holds for null, and for a field that was not there at all.
func (v value) absent() bool { return len(v) == 0 || v[0] == 'n' }

// says holds for a value that says something: not null, false, 0, "", {} or [].
func (v value) says() bool {
	if v.absent() || v[0] == 'f' || string(v) == "0" || string(v) == `""` {
		return false
	}
	if v[0] == '{' || v[0] == '[' {
		return len(bytes.Trim(v, "{[ \t\r\n]}")) > 0
	}
	return true
}

// text returns a string, "" for anything else.
func (v value) text() string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// number returns an integer, 0 for anything else or beyond 2^53.
func (v value) number() int64 {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < -exact || f > exact {
		return 0
	}
	return int64(f)
}

// texts reads a list of strings and skips everything else in it.
func (v value) texts() (ss []string) {
	list := v.elements()
	for {
		e, ok := list.next()
		if !ok {
			return ss
		}
		if e[0] == '"' {
			ss = append(ss, e.text())
		}
	}
}

// truth holds for true alone.
func (v value) truth() bool { return string(v) == "true" }

// stamp reads a time in any of its forms.
func (v value) stamp() (s Stamp) {
	_ = s.UnmarshalJSON(v) // never fails
	return s
}

// fields walks over an object, elements over a list. Both are empty for a
// value of another kind.
func (v value) fields() walker   { return v.walk('{') }
func (v value) elements() walker { return v.walk('[') }

func (v value) walk(open byte) walker {
	if len(v) == 0 || v[0] != open {
		return walker{at: len(v), src: v}
	}
	return walker{at: 1, src: v}
}

// A walker goes over the members of one object or list.
type walker struct {
	src value
	at  int
}

// next returns the next element, false after the last.
func (w *walker) next() (value, bool) {
	w.blank(true)
	if w.at >= len(w.src) || w.src[w.at] == ']' || w.src[w.at] == '}' {
		return nil, false
	}
	from := w.at
	w.at = skip(w.src, from)
	return w.src[from:w.at], true
}

// field returns the next member of an object, false after the last.
func (w *walker) field() (key, val value, ok bool) {
	if key, ok = w.next(); !ok {
		return nil, nil, false
	}
	w.blank(false)
	if w.at >= len(w.src) || w.src[w.at] != ':' {
		return nil, nil, false
	}
	w.at++
	if val, ok = w.next(); !ok || len(key) < 2 || key[0] != '"' {
		return nil, nil, false
	}
	return key[1 : len(key)-1], val, true
}

// blank moves past white space, and past commas where they may stand.
func (w *walker) blank(commas bool) {
	for w.at < len(w.src) {
		switch c := w.src[w.at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' && commas:
			w.at++
		default:
			return
		}
	}
}

// skip returns the end of the value that begins at from. It always moves on by
// at least one byte.
func skip(b value, from int) int {
	switch b[from] {
	case '"':
		return skipString(b, from)
	case '{', '[':
		return skipNested(b, from)
	}
	for i := from + 1; i < len(b); i++ {
		switch b[i] {
		case ',', ':', ']', '}', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(b)
}

func skipString(b value, from int) int {
	for i := from + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func skipNested(b value, from int) int {
	depth := 0
	for i := from; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

package pretend

import (
	"encoding/json"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"
)

// A doc is a JSON object whose keys keep their order, as the server's own
// documents do.
type doc []field

type field struct {
	key   string
	value any
}

// with returns d with one more field.
func (d doc) with(key string, value any) doc { return append(d, field{key, value}) }

// text adds a field unless its value is "".
func (d doc) text(key, value string) doc {
	if value == "" {
		return d
	}
	return append(d, field{key, value})
}

// date adds a field unless its time is zero.
func (d doc) date(key string, t time.Time) doc {
	if t.IsZero() {
		return d
	}
	return append(d, field{key, t})
}

// flag adds a field that is true, unless it isn't.
func (d doc) flag(key string, on bool) doc {
	if !on {
		return d
	}
	return append(d, field{key, true})
}

// A form is how times are written: {"$date": ms} on the socket, ISO 8601 over
// REST.
type form bool

const (
	onSocket form = false
	overREST form = true
)

// encode writes any value made of docs, lists, strings, numbers, booleans,
// times, raw JSON and what decoding JSON gives.
func encode(b []byte, v any, f form) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case doc:
		return encodeDoc(b, v, f)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case time.Time:
		return appendTime(b, v, f)
	case json.RawMessage:
		return append(b, v...)
	case []string:
		return encodeList(b, v, f)
	case []doc:
		return encodeList(b, v, f)
	case []any:
		return encodeList(b, v, f)
	case map[string]any:
		return encodeMap(b, v, f)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

func encodeDoc(b []byte, d doc, f form) []byte {
	b = append(b, '{')
	for i, x := range d {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, x.key), ':')
		b = encode(b, x.value, f)
	}
	return append(b, '}')
}

func encodeList[T any](b []byte, list []T, f form) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode(b, v, f)
	}
	return append(b, ']')
}

func encodeMap(b []byte, m map[string]any, f form) []byte {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	d := make(doc, 0, len(keys))
	for _, k := range keys {
		d = d.with(k, m[k])
	}
	return encodeDoc(b, d, f)
}

func appendTime(b []byte, t time.Time, f form) []byte {
	switch {
	case t.IsZero():
		return append(b, "null"...)
	case f == overREST:
		b = append(b, '"')
		b = t.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
		return append(b, '"')
	}
	b = append(b, `{"$date":`...)
	return append(strconv.AppendInt(b, t.UnixMilli(), 10), '}')
}

const hexDigits = "0123456789abcdef"

// appendString quotes s as JavaScript's JSON.stringify does: no escapes for
// HTML. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

package sealed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	errNewerVersion = errors.New("made by a newer version")
	errNoVersion    = errors.New("v is not 1")
)

// strict reads one JSON object, strictly where encoding/json is lenient: keys
// by their exact spelling, none twice, none unknown, no null, nothing replaced
// in strings, nothing after the end. Its errors name known keys and places,
// never what stands there.
type strict struct {
	dec *json.Decoder
	raw []byte
}

func newStrict(raw []byte) *strict {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return &strict{dec: dec, raw: raw}
}

// document reads the whole input. Every field but the optional must be there.
func (r *strict) document(fields map[string]func() error, optional ...string) error {
	if !utf8.Valid(r.raw) {
		return errors.New("is not UTF-8")
	}
	seen, err := r.object(func(key string) error {
		read, ok := fields[key]
		if !ok {
			return fmt.Errorf("an unknown key at byte %d", r.dec.InputOffset())
		}
		if err := read(); err != nil {
			return fmt.Errorf("%s %w", key, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value, from byte %d on", r.dec.InputOffset())
	}
	var missing []string
	for key := range fields {
		if !seen[key] && !slices.Contains(optional, key) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("%s is missing", strings.Join(missing, ", "))
	}
	return nil
}

// object reads an object, with member called once for each key, to read its
// value.
func (r *strict) object(member func(key string) error) (seen map[string]bool, err error) {
	if err := r.delim('{', "an object"); err != nil {
		return nil, err
	}
	seen = map[string]bool{}
	for r.dec.More() {
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("the same key twice at byte %d", r.dec.InputOffset())
		}
		seen[key] = true
		if err := member(key); err != nil {
			return nil, err
		}
	}
	return seen, r.delim('}', "an object")
}

func (r *strict) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err != nil {
		// The decoder's own error quotes a character.
		return nil, fmt.Errorf("is not JSON from byte %d on", r.dec.InputOffset())
	}
	return t, nil
}

func (r *strict) delim(want json.Delim, what string) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("is not %s", what)
	}
	return nil
}

func (r *strict) string() (string, error) {
	start := r.dec.InputOffset()
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", errors.New("is not a string")
	}
	if replacements(s) != rawReplacements(r.raw[start:r.dec.InputOffset()]) {
		return "", errors.New("holds half of a surrogate pair")
	}
	return s, nil
}

// The decoder puts U+FFFD for halves of surrogate pairs; a secret with one
// would be another secret.
func replacements(s string) int { return strings.Count(s, "\uFFFD") }

func rawReplacements(raw []byte) int {
	n := bytes.Count(raw, []byte("\uFFFD"))
	for i := 0; i+5 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] == 'u' && strings.EqualFold(string(raw[i+2:i+6]), "fffd") {
			n++
		}
		i++ // an escaped backslash is no escape's beginning
	}
	return n
}

func (r *strict) text(into *string) func() error {
	return func() (err error) {
		*into, err = r.string()
		return err
	}
}

func (r *strict) secret(into *Secret) func() error {
	return func() error {
		s, err := r.string()
		*into = NewSecret(s)
		return err
	}
}

func (r *strict) secrets(into *map[string]Secret) func() error {
	return func() error {
		m := map[string]Secret{}
		_, err := r.object(func(key string) error {
			s, err := r.string()
			if err != nil {
				return fmt.Errorf("holds a value that %w", err)
			}
			m[key] = NewSecret(s)
			if len(m) > maxValues {
				return fmt.Errorf("has more than %d members", maxValues)
			}
			return nil
		})
		*into = m
		return err
	}
}

func (r *strict) number(into *uint64) func() error {
	return func() error {
		t, err := r.token()
		if err != nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return errors.New("is not a number")
		}
		// No sign, fraction or exponent: one spelling.
		if *into, err = strconv.ParseUint(n.String(), 10, 64); err != nil {
			return errors.New("is not a whole number")
		}
		return nil
	}
}

func (r *strict) time(into *time.Time) func() error {
	return func() error {
		s, err := r.string()
		if err != nil {
			return err
		}
		if *into, err = time.Parse(time.RFC3339, s); err != nil {
			return errors.New("is not a time of RFC 3339")
		}
		*into = into.UTC()
		return nil
	}
}

// peekVersion returns the number under the top-level key v, before anything
// else is judged: what a newer version added is not damage.
func peekVersion(raw []byte) (uint64, bool) {
	r := newStrict(raw)
	if r.delim('{', "") != nil {
		return 0, false
	}
	for r.dec.More() {
		key, err := r.token()
		if err != nil {
			return 0, false
		}
		if key == "v" {
			var v uint64
			err := r.number(&v)()
			return v, err == nil
		}
		if r.skip() != nil {
			return 0, false
		}
	}
	return 0, false
}

// skip reads one value of any kind, however deep.
func (r *strict) skip() error {
	for depth := 0; ; {
		t, err := r.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

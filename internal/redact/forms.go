package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minLine is from how many bytes on a line of a secret of many lines is looked
// for by itself: logs break them up. Shorter ones are no secrets.
const minLine = 20

// forms returns value as it may stand in text, each of at least [MinLen] bytes
// and none twice.
func forms(value string) []string {
	var out []string
	add := func(forms ...string) {
		for _, f := range forms {
			if len(f) >= MinLen && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	if len(value) < MinLen {
		return nil
	}
	add(value)
	for line := range strings.Lines(value) {
		// Of a PEM file the frame isn't secret, nor is prose.
		line = strings.TrimSpace(line)
		if len(line) >= minLine && line != value && !strings.HasPrefix(line, "-----") && !strings.ContainsAny(line, " \t") {
			add(line)
		}
	}
	add(quoted(value)...)
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		add(escaped, lowerEscapes(escaped))
	}
	add(html.EscapeString(value))
	h := hex.EncodeToString([]byte(value))
	add(h, strings.ToUpper(h))
	add(base64Forms(value)...)
	return out
}

// quoted returns value as JSON and Go write it between quotes.
func quoted(value string) []string {
	var out []string
	for _, q := range []string{strconv.Quote(value), strconv.QuoteToASCII(value)} {
		out = append(out, q[1:len(q)-1])
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for _, escapeHTML := range []bool{true, false} {
		b.Reset()
		enc.SetEscapeHTML(escapeHTML)
		if enc.Encode(value) == nil {
			q := strings.TrimSuffix(b.String(), "\n")
			out = append(out, q[1:len(q)-1])
		}
	}
	return out
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}

// base64Forms returns what value becomes inside a longer text that is encoded,
// as a password does in "Basic" authorization. How the text before it is
// aligned to three bytes gives three possibilities; of each, the characters
// that no neighbour has a part in are taken.
func base64Forms(value string) []string {
	var out []string
	for before := range 3 {
		text := strings.Repeat("\x00", before) + value
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := enc.EncodeToString([]byte(text))
			from := (before*8 + 5) / 6
			to := len(text) * 8 / 6
			out = append(out, encoded[from:to])
		}
	}
	return out
}

package sealed

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"filippo.io/age"
)

// maxKeys is how many keys an identity file may hold: the present one and,
// while the host's identity is being rotated, the one before it.
const maxKeys = 2

// A Kind of age key. age never seals one file for keys of both kinds.
type Kind string

// The kinds.
const (
	Hybrid  Kind = "hybrid"  // MLKEM768-X25519, safe against quantum computers; what Init makes
	Classic Kind = "classic" // X25519
)

// An Identity is what opens envelopes: the host's secret key, and during a
// rotation the one before it. It never prints. The supervisor and the verbs
// that must hold it; a channel never does.
type Identity struct {
	// The keys of age do print, as what they are, so they are kept where no
	// printer looks. See [Secret].
	keys   func() []age.Identity
	public []string // their recipients, in the same order
	source string
	path   string
}

// Recipient returns the public key that belongs to the identity's first key,
// the one envelopes of this host are sealed for.
func (i *Identity) Recipient() string { return i.public[0] }

// Kind returns the kind of the first key.
func (i *Identity) Kind() Kind { return kindOf(i.public[0]) }

// Rotating reports whether the key before the present one is still there.
func (i *Identity) Rotating() bool { return len(i.public) > 1 }

// Source says in words where the identity came from, for status and doctor.
func (i *Identity) Source() string { return i.source }

// Path is the file the identity was read from, "" when it came by descriptor.
func (i *Identity) Path() string { return i.path }

// Format prints the public half, whatever the verb.
func (i Identity) Format(f fmt.State, _ rune) { io.WriteString(f, i.text()) }

// LogValue prints the public half.
func (i Identity) LogValue() slog.Value { return slog.StringValue(i.text()) }

// MarshalText prints the public half.
func (i Identity) MarshalText() ([]byte, error) { return []byte(i.text()), nil }

func (i Identity) text() string {
	if len(i.public) == 0 {
		return "[no identity]"
	}
	return "[identity of " + short(i.public[0]) + "]"
}

// short is a recipient cut to what a person compares; a hybrid one has 1959
// characters.
func short(recipient string) string {
	const n = 24
	if len(recipient) <= 2*n {
		return recipient
	}
	return recipient[:n] + "…" + recipient[len(recipient)-8:]
}

func kindOf(recipient string) Kind {
	if strings.HasPrefix(recipient, "age1pq1") {
		return Hybrid
	}
	return Classic
}

// ParseIdentity reads an identity file that is not protected by a passphrase:
// keys one a line, empty lines and lines that begin with # ignored. source
// names it in errors, which never quote it.
func ParseIdentity(text []byte, source string) (*Identity, error) {
	bad := func(line int, why, try string) error {
		where := source
		if line > 0 {
			where = fmt.Sprintf("%s:%d", source, line)
		}
		return &Error{Kind: ErrIdentity, Text: where + ": " + why, Try: try}
	}
	id := &Identity{source: source}
	var keys []age.Identity
	n := 0
	for raw := range bytes.Lines(text) {
		n++
		line := strings.TrimSpace(string(raw))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, public, why := parseKey(line)
		if why != "" {
			return nil, bad(n, why, "an identity made by rcsupervisor init or age-keygen -pq")
		}
		if slices.Contains(id.public, public) {
			return nil, bad(n, "the same key again", "remove the second line")
		}
		keys, id.public = append(keys, key), append(id.public, public)
	}
	switch {
	case len(keys) == 0:
		return nil, bad(0, "holds no key", "rcsupervisor init, or a copy of the identity that sealed the envelopes")
	case len(keys) > maxKeys:
		return nil, bad(0, "holds more than two keys, the present one and during a rotation the one before", "keep this host's key and remove the others")
	}
	id.keys = func() []age.Identity { return keys }
	return id, nil
}

// parseKey reads one line. The errors of age are not passed on: they hold
// characters of the line.
func parseKey(line string) (key age.Identity, public, why string) {
	switch {
	case strings.HasPrefix(line, "AGE-SECRET-KEY-PQ-1"):
		k, err := age.ParseHybridIdentity(line)
		if err != nil {
			return nil, "", "a hybrid key that is cut short or mistyped"
		}
		return k, k.Recipient().String(), ""
	case strings.HasPrefix(line, "AGE-SECRET-KEY-1"):
		k, err := age.ParseX25519Identity(line)
		if err != nil {
			return nil, "", "a classic key that is cut short or mistyped"
		}
		return k, k.Recipient().String(), ""
	case strings.HasPrefix(line, "AGE-PLUGIN-"):
		return nil, "", "a key that needs a plugin; rcsupervisor reads native keys only"
	case strings.Contains(line, "PRIVATE KEY-----"):
		return nil, "", "an SSH or PEM key; rcsupervisor reads native age keys only"
	case strings.HasPrefix(line, "age1"):
		return nil, "", "a recipient, the public half of a key"
	}
	return nil, "", "not a secret key of age"
}

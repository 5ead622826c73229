package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"
)

// maxRecipients bounds who an envelope is sealed for; each adds 1.6 kB to it.
const maxRecipients = 32

// Recipients are the public keys envelopes are sealed for: the host's own and,
// advised, a recovery key that is kept offline. They are all of one kind.
type Recipients struct {
	keys   []string
	parsed []age.Recipient
}

// ParseRecipients reads recipients.txt: keys one a line, empty lines and lines
// that begin with # ignored. source names it in errors, which quote no line,
// since people mistake the files for each other.
func ParseRecipients(text []byte, source string) (Recipients, error) {
	var r Recipients
	firstLine, n := 0, 0
	bad := func(why, try string) (Recipients, error) {
		return Recipients{}, &Error{Kind: ErrRecipients, Text: fmt.Sprintf("%s:%d: %s", source, n, why), Try: try}
	}
	for raw := range bytes.Lines(text) {
		n++
		line := strings.TrimSpace(string(raw))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, why := parseRecipient(line)
		if why != "" {
			return bad(why, "a line that begins with age1pq1, as in the recipients.txt beside that key")
		}
		if slices.Contains(r.keys, line) {
			continue
		}
		if len(r.keys) > 0 && kindOf(line) != kindOf(r.keys[0]) {
			return bad(fmt.Sprintf("a %s key, but line %d is a %s one; age never seals one file for both, since the classic one would undo the protection of the other",
				kindOf(line), firstLine, kindOf(r.keys[0])), "make both of one kind: a recovery key by age-keygen -pq for hybrid ones")
		}
		if len(r.keys) == 0 {
			firstLine = n
		}
		if len(r.keys) == maxRecipients {
			return bad(fmt.Sprintf("more than %d recipients", maxRecipients), "remove those that are no longer needed")
		}
		r.keys, r.parsed = append(r.keys, line), append(r.parsed, key)
	}
	if len(r.keys) == 0 {
		return Recipients{}, &Error{Kind: ErrNoRecipients, Text: source + " holds no recipient", Try: "rcsupervisor init"}
	}
	return r, nil
}

func parseRecipient(line string) (key age.Recipient, why string) {
	switch {
	case strings.HasPrefix(line, "age1pq1"):
		k, err := age.ParseHybridRecipient(line)
		if err != nil {
			return nil, "a hybrid recipient that is cut short or mistyped"
		}
		return k, ""
	case strings.HasPrefix(strings.ToUpper(line), "AGE-SECRET-KEY-"):
		return nil, "a secret key; it belongs into the identity file, its public half here"
	case strings.HasPrefix(line, "ssh-"):
		return nil, "an SSH key; rcsupervisor seals for native age keys only"
	case strings.HasPrefix(line, "age1"):
		k, err := age.ParseX25519Recipient(line)
		if err != nil {
			return nil, "neither a hybrid nor a classic recipient, or one that is cut short or mistyped"
		}
		return k, ""
	}
	return nil, "not a recipient of age"
}

// Keys returns the recipients as they are written, in the file's order.
func (r Recipients) Keys() []string { return slices.Clone(r.keys) }

// Contains reports whether key is one of them.
func (r Recipients) Contains(key string) bool { return slices.Contains(r.keys, key) }

// Kind returns the kind of all of them, "" for none.
func (r Recipients) Kind() Kind {
	if len(r.keys) == 0 {
		return ""
	}
	return kindOf(r.keys[0])
}

// Digest names the set, whatever its order: the hex form of a SHA-256. An
// envelope holds that of the set it was sealed for.
func (r Recipients) Digest() string {
	if len(r.keys) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(r.keys)), "\n")))
	return hex.EncodeToString(sum[:])
}

// stanza is the type of the header stanzas age makes for a kind of key.
func (k Kind) stanza() string {
	if k == Hybrid {
		return "mlkem768x25519"
	}
	return "X25519"
}

package sealed

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is how a Secret looks in every way Go can print it.
const redacted = "[sealed]"

// A Secret is a value that never prints: not with any verb of fmt, not as
// JSON, YAML or text, not in slog, not inside a struct that is printed with
// %#v. The zero Secret is empty. Secrets are compared with [Secret.Equal].
type Secret struct {
	// A closure: reflection, which %#v and debuggers' printers use, shows a
	// function's address and never what it returns.
	reveal func() string
}

// NewSecret wraps value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return value }}
}

// Reveal returns the value. Each call of it is a place to review.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Equal compares in constant time for values of one length.
func (s Secret) Equal(o Secret) bool { return equal(s.Reveal(), o.Reveal()) }

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) Format(f fmt.State, _ rune)   { io.WriteString(f, redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (Secret) MarshalYAML() (any, error)    { return redacted, nil }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }

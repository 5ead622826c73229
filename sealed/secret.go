package sealed

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// redacted is how a Secret looks in every way Go can print it.
const redacted = "[sealed]"

// ErrWriteOnly is returned when something tries to read a Secret from JSON,
// YAML, text or gob. What those print is "[sealed]", and reading that back
// would quietly put it in a token's place.
var ErrWriteOnly = errors.New("a secret is not read from its printed form")

// A Secret is a value that never prints: not with any verb of fmt, not as
// JSON, YAML, XML, text or gob, not in slog, a template, a wrapped error or a
// panic, and not inside a struct, map or pointer that is printed with %#v. The
// zero Secret is empty. Secrets are compared with [Secret.Equal]; the == of Go
// does not compile for them.
//
// A Secret crosses a process boundary only inside an envelope ([Seal]) or a
// hand-over ([Credentials.MarshalHandover]).
type Secret struct {
	// A closure: reflection, which %#v and the printers of debuggers use, shows
	// a function's address and never what it returns. That holds also where fmt
	// can't call our methods, in another struct's unexported field.
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
func (s Secret) Empty() bool { return s.reveal == nil }

// Equal compares in constant time for values of one length.
func (s Secret) Equal(o Secret) bool { return equal(s.Reveal(), o.Reveal()) }

// String and the methods below are the ways Go has to print a value.
func (Secret) String() string { return redacted }

// GoString is for %#v.
func (Secret) GoString() string { return redacted }

// Format is for every verb of fmt.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue is for slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is for XML, flags and maps' keys.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON is for encoding/json.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML is for the YAML libraries.
func (Secret) MarshalYAML() (any, error) { return redacted, nil }

// MarshalBinary is for whatever asks for bytes.
func (Secret) MarshalBinary() ([]byte, error) { return []byte(redacted), nil }

// GobEncode is for encoding/gob.
func (Secret) GobEncode() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText refuses, as the methods below do.
func (*Secret) UnmarshalText([]byte) error { return ErrWriteOnly }

// UnmarshalJSON refuses.
func (*Secret) UnmarshalJSON([]byte) error { return ErrWriteOnly }

// UnmarshalBinary refuses.
func (*Secret) UnmarshalBinary([]byte) error { return ErrWriteOnly }

// GobDecode refuses.
func (*Secret) GobDecode([]byte) error { return ErrWriteOnly }

package enroll

import (
	"encoding/json"

	"rcsupervisor/sealed"
)

// A Plain is a secret on its way from a verb to the supervisor: over a socket
// that only the two of them hold, it is written as what it is. Everywhere else
// it prints as sealed, as any other.
type Plain struct{ sealed.Secret }

// MarshalJSON writes the value.
func (p Plain) MarshalJSON() ([]byte, error) { return json.Marshal(p.Reveal()) }

// UnmarshalJSON reads the value. Its error does not quote it.
func (p *Plain) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return unlikely("rcsupervisor --help", "a secret is given as text")
	}
	p.Secret = sealed.NewSecret(s)
	return nil
}

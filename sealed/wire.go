package sealed

import (
	"bytes"
	"encoding/json"
	"time"
)

// version is the envelope's, and raised only for a change that an older
// program would misread.
const version = 1

// wireEnvelope is the JSON inside the age file. Its strings are bare: it lives
// no longer than a call of marshal.
type wireEnvelope struct {
	V          int               `json:"v"`
	Profile    string            `json:"profile"`
	Server     string            `json:"server"`
	UserID     string            `json:"user_id"`
	Token      string            `json:"token"`
	Generation uint64            `json:"generation"`
	SealedAt   string            `json:"sealed_at"`
	Keys       map[string]string `json:"keys"`
	Values     map[string]string `json:"values"`
	Recipients string            `json:"recipients,omitempty"`
}

func (e Envelope) marshal() ([]byte, error) {
	return compactJSON(wireEnvelope{
		V: version, Profile: e.Profile, Server: e.Server, UserID: e.UserID, Token: e.Token.Reveal(),
		Generation: e.Generation, SealedAt: e.SealedAt.UTC().Format(time.RFC3339),
		Keys: revealAll(e.Keys), Values: revealAll(e.Values), Recipients: e.Recipients,
	})
}

func revealAll(m map[string]Secret) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}

func compactJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// unmarshalEnvelope reads the JSON of an envelope, strictly: each key once and
// known, each of its type. A newer version is [errNewerVersion], whatever else
// is in it. What the fields mean is for [Envelope.check].
func unmarshalEnvelope(plain []byte) (Envelope, error) {
	if v, ok := peekVersion(plain); ok && v > version {
		return Envelope{}, errNewerVersion
	}
	var e Envelope
	var v uint64
	r := newStrict(plain)
	err := r.document(map[string]func() error{
		"v":          r.number(&v),
		"profile":    r.text(&e.Profile),
		"server":     r.text(&e.Server),
		"user_id":    r.text(&e.UserID),
		"token":      r.secret(&e.Token),
		"generation": r.number(&e.Generation),
		"sealed_at":  r.time(&e.SealedAt),
		"keys":       r.secrets(&e.Keys),
		"values":     r.secrets(&e.Values),
		"recipients": r.text(&e.Recipients),
	}, "recipients", "keys", "values")
	if err != nil {
		return Envelope{}, err
	}
	if v != version {
		return Envelope{}, errNoVersion
	}
	return e, nil
}

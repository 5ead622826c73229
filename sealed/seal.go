package sealed

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// Seal encrypts an envelope for the keyring's recipients. It makes keys.post
// where there is none (32 random bytes, base64url), dates the envelope now
// where SealedAt is zero, and writes down for whom it is sealed. An envelope
// with an empty or oversized value, a server not in its canonical form or a
// generation of zero is refused with [ErrInvalid].
func Seal(e Envelope, k *Keyring) ([]byte, error) {
	e = e.clone()
	if e.Keys == nil {
		e.Keys = map[string]Secret{}
	}
	if e.Keys[PostKey].Empty() {
		e.Keys[PostKey] = newKey()
	}
	if e.SealedAt.IsZero() {
		e.SealedAt = now()
	}
	e.SealedAt = e.SealedAt.UTC().Truncate(time.Second)
	e.Recipients = k.recipients.Digest()
	if why := e.check(); why != "" {
		return nil, &Error{Kind: ErrInvalid, Text: why, Try: "give another value; nothing was changed"}
	}
	plain, err := e.marshal()
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	if len(plain) > maxPlain {
		return nil, &Error{Kind: ErrInvalid, Text: fmt.Sprintf("all values together have more than %d bytes", maxPlain), Try: "seal fewer or shorter values"}
	}
	return encrypt(plain, k.recipients)
}

func newKey() Secret {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return NewSecret(base64.RawURLEncoding.EncodeToString(key))
}

func encrypt(plain []byte, r Recipients) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, r.parsed...)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return out.Bytes(), nil
}

// Unseal opens an envelope for the profile it was sealed for. Its errors are
// of the kinds [ErrDamaged], [ErrWrongIdentity], [ErrNewer] and [ErrForeign].
// An older generation than was seen before opens all the same: who knows the
// highest one compares.
func Unseal(ciphertext []byte, id *Identity, profile string) (Envelope, error) {
	e, err := UnsealAny(ciphertext, id, profile)
	if err != nil {
		return Envelope{}, err
	}
	if e.Profile != profile {
		return Envelope{}, &Error{
			Kind: ErrForeign, Text: fmt.Sprintf("the credentials of %s are sealed for profile %s", profile, e.Profile),
			Try: "rcsupervisor adopt " + profile + " if " + e.Profile + " was renamed, else rcsupervisor add " + profile + " --server URL --force",
		}
	}
	return e, nil
}

// UnsealAny opens an envelope whatever profile it names, for taking over one
// that was renamed. profile is only named in errors.
func UnsealAny(ciphertext []byte, id *Identity, profile string) (Envelope, error) {
	damaged := func(why string) error {
		return &Error{
			Kind: ErrDamaged, Text: fmt.Sprintf("the credentials of %s are damaged: %s", profile, why),
			Try: "put back a copy of secrets.age, or rcsupervisor add " + profile + " --server URL --force",
		}
	}
	switch {
	case id == nil:
		return Envelope{}, &Error{Kind: ErrNoIdentity, Text: "no identity to open the credentials of " + profile + " with", Try: "rcsupervisor init"}
	case len(ciphertext) == 0:
		return Envelope{}, damaged("the file is empty")
	case len(ciphertext) > MaxFile:
		return Envelope{}, damaged(fmt.Sprintf("the file has more than %d bytes", MaxFile))
	case bytes.HasPrefix(ciphertext, []byte(armor.Header)):
		return Envelope{}, damaged("the file is armored, which rcsupervisor never writes")
	}
	plain, err := decrypt(ciphertext, id)
	defer clear(plain)
	if mismatch, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return Envelope{}, wrongIdentity(mismatch, id, profile)
	}
	if err != nil {
		// What age says may hold bytes of the file, which are nobody's secret
		// but no help either.
		return Envelope{}, damaged("age can't read the file, which is cut short or changed")
	}
	if len(plain) > maxPlain {
		return Envelope{}, damaged(fmt.Sprintf("it holds more than %d bytes", maxPlain))
	}
	e, err := unmarshalEnvelope(plain)
	if errors.Is(err, errNewerVersion) {
		return Envelope{}, &Error{Kind: ErrNewer, Text: "the credentials of " + profile + " were sealed by a newer version of rcsupervisor", Try: "update rcsupervisor on this host"}
	}
	if err != nil {
		return Envelope{}, damaged(err.Error())
	}
	if why := e.check(); why != "" {
		return Envelope{}, damaged(why)
	}
	for _, s := range headerStanzas(ciphertext) {
		e.stanzas = append(e.stanzas, s[0])
	}
	return e, nil
}

func decrypt(ciphertext []byte, id *Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(ciphertext), id.keys()...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxPlain+1))
}

// wrongIdentity says what the file is sealed for. The types come from a file
// anybody may have written.
func wrongIdentity(mismatch *age.NoIdentityMatchError, id *Identity, profile string) error {
	text := fmt.Sprintf("the credentials of %s are sealed for other keys than this host's (%s)", profile, short(id.Recipient()))
	types := slices.Compact(slices.Sorted(slices.Values(mismatch.StanzaTypes)))
	switch {
	case slices.Equal(types, []string{"scrypt"}):
		text += "; they are sealed with a passphrase"
	case !slices.Contains(types, id.Kind().stanza()):
		known := slices.DeleteFunc(types, func(s string) bool { return !slices.Contains(stanzaTypes, s) })
		if len(known) > 0 {
			text += "; they are sealed for keys of another kind (" + strings.Join(known, ", ") + ")"
		} else {
			text += "; they are sealed for keys of another kind"
		}
	}
	return &Error{Kind: ErrWrongIdentity, Text: text, Try: "--identity FILE with the identity that sealed them, or rcsupervisor add " + profile + " --server URL --force"}
}

// stanzaTypes are those worth naming to a person.
var stanzaTypes = []string{"mlkem768x25519", "X25519", "ssh-ed25519", "ssh-rsa", "piv-p256", "p256tag", "mlkem768p256tag", "tpm-ecc"}

// Stale reports whether a sealed file is for others than r; see
// [Envelope.Stale].
func Stale(ciphertext []byte, id *Identity, profile string, r Recipients) (bool, error) {
	e, err := Unseal(ciphertext, id, profile)
	if err != nil {
		return false, err
	}
	return e.Stale(r), nil
}

// now is the time of a seal.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

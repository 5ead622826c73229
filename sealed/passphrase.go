package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// workFactor is age's own default: about a second and 256 MiB. A host opens
// its identity once. Tests take less.
var workFactor = 18

const (
	ageIntro = "age-encryption.org/v1"

	// maxWorkFactor bounds what a file can make us spend: 1 GiB.
	maxWorkFactor = 20

	passphraseAttempts = 3
)

// parse reads an identity file, protected by a passphrase or not.
func (o Options) parse(text []byte, source string) (*Identity, error) {
	plain, err := o.plain(text, source)
	if err != nil {
		return nil, err
	}
	return ParseIdentity([]byte(plain.Reveal()), source)
}

// plain returns the text of an identity file without its protection.
func (o Options) plain(text []byte, source string) (Secret, error) {
	ciphertext, protected, err := dearmor(text)
	if err != nil {
		return Secret{}, &Error{Kind: ErrIdentity, Text: source + " is armored, but cut short or damaged", Try: "a copy of the identity"}
	}
	if !protected {
		return NewSecret(string(text)), nil
	}
	if why := unfitProtection(ciphertext); why != "" {
		return Secret{}, &Error{Kind: ErrIdentity, Text: source + why, Try: "protect it again by age -p"}
	}
	if o.Passphrase == nil {
		return Secret{}, &Error{Kind: ErrPassphrase, Text: source + " is protected by a passphrase, and nobody is here to ask", Try: "give the identity by --identity-fd or as a systemd credential"}
	}
	for attempt := 1; attempt <= passphraseAttempts; attempt++ {
		passphrase, err := o.Passphrase(attempt)
		if err != nil {
			return Secret{}, &Error{Kind: ErrPassphrase, Text: source + " is protected by a passphrase", Try: "give it", Err: err}
		}
		plain, err := unprotect(ciphertext, passphrase)
		if errors.Is(err, age.ErrIncorrectIdentity) {
			continue
		}
		if err != nil {
			return Secret{}, &Error{Kind: ErrIdentity, Text: source + " is damaged", Try: "a copy of the identity"}
		}
		defer clear(plain)
		return NewSecret(string(plain)), nil
	}
	return Secret{}, &Error{Kind: ErrPassphrase, Text: "the passphrase of " + source + " is another", Try: "try again"}
}

// dearmor returns the binary form of an age file, and whether text is one.
func dearmor(text []byte) ([]byte, bool, error) {
	if bytes.HasPrefix(text, []byte(ageIntro)) {
		return text, true, nil
	}
	trimmed := bytes.TrimSpace(text)
	if !bytes.HasPrefix(trimmed, []byte(armor.Header)) {
		return nil, false, nil
	}
	binary, err := io.ReadAll(armor.NewReader(bytes.NewReader(trimmed)))
	return binary, true, err
}

// unfitProtection says why a protected identity can't be opened by a
// passphrase within bounds, before anybody is asked for one.
func unfitProtection(ciphertext []byte) string {
	stanzas := headerStanzas(ciphertext)
	if len(stanzas) != 1 || stanzas[0][0] != "scrypt" || len(stanzas[0]) != 3 {
		return " is encrypted, but not by a passphrase"
	}
	if n, err := strconv.Atoi(stanzas[0][2]); err != nil || n > maxWorkFactor {
		return fmt.Sprintf(" is protected with a work factor beyond 2^%d", maxWorkFactor)
	}
	return ""
}

// headerStanzas returns type and arguments of the stanzas in an age file's
// header. It is for words and counts; age itself decides what opens.
func headerStanzas(ciphertext []byte) [][]string {
	var stanzas [][]string
	for line := range bytes.Lines(ciphertext) {
		if bytes.HasPrefix(line, []byte("---")) {
			break
		}
		if rest, ok := bytes.CutPrefix(line, []byte("-> ")); ok {
			if fields := strings.Fields(string(rest)); len(fields) > 0 {
				stanzas = append(stanzas, fields)
			}
		}
	}
	return stanzas
}

func unprotect(ciphertext []byte, passphrase Secret) ([]byte, error) {
	if passphrase.Empty() {
		return nil, age.ErrIncorrectIdentity
	}
	id, err := age.NewScryptIdentity(passphrase.Reveal())
	if err != nil {
		return nil, err
	}
	id.SetMaxWorkFactor(maxWorkFactor)
	r, err := age.Decrypt(bytes.NewReader(ciphertext), id)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxKeyFile))
}

// protect encrypts an identity file's text with a passphrase, armored, as
// age -p -a does.
func protect(text []byte, passphrase Secret, logN int) ([]byte, error) {
	r, err := age.NewScryptRecipient(passphrase.Reveal())
	if err != nil {
		return nil, err
	}
	r.SetWorkFactor(logN)
	var out bytes.Buffer
	a := armor.NewWriter(&out)
	w, err := age.Encrypt(a, r)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

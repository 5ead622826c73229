package sealed

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"rcsupervisor/internal/atomicfile"
)

// The host's identity is changed in three acts, and killed between any two of
// them everything still opens:
//
//  1. [StartRotation] puts a new key before the old one in the identity file,
//     and in its place in recipients.txt;
//  2. [Rekey] seals every envelope for the new recipients;
//  3. [FinishRotation] takes the old key out, once nothing needs it.
//
// Each may be run again. An identity that comes by descriptor or as a
// credential is changed where it comes from, with Rekey between.

// StartRotation makes a new key for the identity that lies in a file and
// returns the keyring that opens with both and seals for the new one. A file
// that is protected by a passphrase stays so.
func StartRotation(o Options) (*Keyring, error) {
	f, err := loadKeyFile(o)
	if err != nil {
		return nil, err
	}
	if !f.id.Rotating() {
		key, err := age.GenerateHybridIdentity()
		if err != nil {
			return nil, err
		}
		// What recipients.txt will hold is known to be right before the first
		// file is touched.
		if _, _, err := f.recipients(f.id.Recipient(), key.Recipient().String()); err != nil {
			return nil, err
		}
		if err := f.rewrite(NewSecret(identityText(key) + f.plain.Reveal())); err != nil {
			return nil, err
		}
	}
	text, set, err := f.recipients(f.id.public[1], f.id.public[0])
	if err != nil {
		return nil, err
	}
	if err := atomicfile.ReplacePath(f.recipientsPath(), text, 0o644, nil); err != nil {
		return nil, err
	}
	return NewKeyring(f.id, set, false)
}

// FinishRotation takes the old key out of the identity file. opens is given
// the new key alone and must open with it whatever this host is to open; an
// error of it leaves the old key where it is.
func FinishRotation(o Options, opens func(*Identity) error) (*Identity, error) {
	f, err := loadKeyFile(o)
	if err != nil || !f.id.Rotating() {
		return f.id, err
	}
	text := onlyFirstKey(f.plain)
	alone, err := ParseIdentity([]byte(text.Reveal()), f.id.source)
	if err != nil {
		return nil, err
	}
	set, err := FindRecipients(f.id, o)
	if err != nil {
		return nil, err
	}
	if _, err := NewKeyring(alone, set, false); err != nil {
		return nil, err
	}
	if err := opens(alone); err != nil {
		return nil, fmt.Errorf("the old key is still needed: %w", err)
	}
	err = f.rewrite(text)
	return f.id, err
}

// A keyFile is an identity file while it is rewritten.
type keyFile struct {
	path       string
	plain      Secret // its text
	passphrase Secret // that it is protected with
	id         *Identity
}

func loadKeyFile(o Options) (keyFile, error) {
	path, t, err := o.locate()
	if err != nil {
		return keyFile{}, err
	}
	if o.FD != nil || t.what == credentialFile.what {
		return keyFile{}, &Error{
			Kind: ErrIdentity, Text: "the identity came by descriptor or as a credential, which is not ours to change",
			Try: "put a new identity where it comes from, then rcsupervisor reseal --all",
		}
	}
	f := keyFile{path: path}
	if ask := o.Passphrase; ask != nil {
		o.Passphrase = func(attempt int) (s Secret, err error) {
			f.passphrase, err = ask(attempt)
			return f.passphrase, err
		}
	}
	text, err := t.read(path)
	if err != nil {
		return f, err
	}
	defer clear(text)
	source := t.what + " " + path
	if f.plain, err = o.plain(text, source); err != nil {
		return f, err
	}
	if f.id, err = ParseIdentity([]byte(f.plain.Reveal()), source); err != nil {
		return f, err
	}
	f.id.path = path
	return f, nil
}

// rewrite puts the text in the file's place, after it was loaded again.
func (f *keyFile) rewrite(plain Secret) error {
	text, err := protectMaybe([]byte(plain.Reveal()), f.passphrase)
	if err != nil {
		return err
	}
	defer clear(text)
	var id *Identity
	err = atomicfile.ReplacePath(f.path, text, 0o600, func(written []byte) (err error) {
		again := Options{Passphrase: func(int) (Secret, error) { return f.passphrase, nil }}
		id, err = again.parse(written, f.id.source)
		return err
	})
	if err != nil {
		return err
	}
	id.path = f.path
	f.plain, f.id = plain, id
	return nil
}

// onlyFirstKey drops all that follows the first key.
func onlyFirstKey(text Secret) Secret {
	var out strings.Builder
	for line := range strings.Lines(text.Reveal()) {
		out.WriteString(line)
		if strings.HasPrefix(strings.TrimSpace(line), "AGE-SECRET-KEY-") {
			break
		}
	}
	return NewSecret(out.String())
}

func (f *keyFile) recipientsPath() string {
	return filepath.Join(filepath.Dir(f.path), recipientsFile)
}

// recipients returns what recipients.txt is to hold: the host's new key in the
// old one's place, and all else as it is. Where the others are of another kind
// no change of one line can be right.
func (f *keyFile) recipients(old, key string) ([]byte, Recipients, error) {
	path := f.recipientsPath()
	text, err := publicFile.read(path)
	if err != nil {
		return nil, Recipients{}, err
	}
	var out strings.Builder
	placed := false
	for line := range strings.Lines(string(text)) {
		if k := strings.TrimSpace(line); k != old && k != key {
			out.WriteString(line)
		} else if !placed {
			out.WriteString(key + "\n")
			placed = true
		}
	}
	if !placed {
		out.WriteString("\n" + key + "\n")
	}
	set, err := ParseRecipients([]byte(out.String()), path)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Text += " (after the host's new key was put there)"
	}
	return []byte(out.String()), set, err
}

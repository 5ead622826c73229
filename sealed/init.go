package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"rcsupervisor/internal/atomicfile"
)

// InitOptions say what [Init] makes.
type InitOptions struct {
	Path       string   // the identity file; "" for Options.DefaultPath
	Recovery   []string // recipients besides the host's own, as they are written
	Passphrase Secret   // protects a new identity; empty for none
	Options    Options  // Getenv, and Passphrase for an identity that is there and protected
}

// InitResult says what is there now. Everything in it may be shown.
type InitResult struct {
	Identity   *Identity
	Path       string // of the identity
	Recipients string // path of recipients.txt
	Created    bool   // the identity is new
	Added      []string
	Keyring    *Keyring
}

// GenerateKey makes a hybrid key that is not this host's: the recovery key
// that is kept offline. text is an identity file, recipient its public half.
func GenerateKey() (text Secret, recipient string, err error) {
	key, err := age.GenerateHybridIdentity()
	if err != nil {
		return Secret{}, "", err
	}
	return NewSecret(identityText(key)), key.Recipient().String(), nil
}

// identityText is an identity file as age-keygen -pq writes it.
func identityText(key *age.HybridIdentity) string {
	return fmt.Sprintf("# created: %s\n# public key: %s\n%s\n", time.Now().UTC().Format(time.RFC3339), key.Recipient(), key)
}

// Init makes the host's identity, a hybrid one in a file of mode 0600, and
// beside it recipients.txt with its public half and the recovery keys. An
// identity that is there stays as it is and nothing is taken out of
// recipients.txt, so Init may be run again: it writes what is missing, also
// after it was killed half-way.
func Init(o InitOptions) (InitResult, error) {
	path := o.Path
	if path == "" {
		var err error
		if path, err = o.Options.DefaultPath(); err != nil {
			return InitResult{}, err
		}
	}
	if looksLikeKey(path) {
		return InitResult{}, &Error{Kind: ErrIdentity, Text: "a key was given instead of a file's name", Try: "rcsupervisor init --identity FILE"}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return InitResult{}, err
	}
	if _, err := ParseRecipients([]byte(strings.Join(o.Recovery, "\n")), "the recovery keys"); err != nil && len(o.Recovery) > 0 {
		return InitResult{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return InitResult{}, err
	}
	created, err := ensureIdentity(path, o.Passphrase)
	if err != nil {
		return InitResult{}, err
	}
	find := o.Options
	find.File, find.FD = path, nil
	if created && !o.Passphrase.Empty() {
		find.Passphrase = func(int) (Secret, error) { return o.Passphrase, nil }
	}
	id, err := FindIdentity(find)
	if err != nil {
		return InitResult{}, err
	}
	res := InitResult{Identity: id, Path: path, Recipients: filepath.Join(filepath.Dir(path), recipientsFile), Created: created}
	var set Recipients
	if set, res.Added, err = ensureRecipients(res.Recipients, append([]string{id.Recipient()}, o.Recovery...)); err != nil {
		return InitResult{}, err
	}
	res.Keyring, err = NewKeyring(id, set, false)
	return res, err
}

// ensureIdentity makes a new identity where path is free. It never replaces
// one: what was sealed for it would be lost.
func ensureIdentity(path string, passphrase Secret) (created bool, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	key, err := age.GenerateHybridIdentity()
	if err != nil {
		return false, err
	}
	text, err := protectMaybe([]byte(identityText(key)), passphrase)
	if err != nil {
		return false, err
	}
	defer clear(text)
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer root.Close()
	err = atomicfile.Create(root, filepath.Base(path), text, 0o600, nil)
	if errors.Is(err, fs.ErrExist) {
		return false, nil // another init was quicker; its key is the host's
	}
	return err == nil, err
}

func protectMaybe(text []byte, passphrase Secret) ([]byte, error) {
	if passphrase.Empty() {
		return text, nil
	}
	defer clear(text)
	return protect(text, passphrase, workFactor)
}

// ensureRecipients adds the wanted recipients that the file doesn't hold yet.
// What it holds, comments too, stays.
func ensureRecipients(path string, wanted []string) (Recipients, []string, error) {
	text, err := publicFile.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte("# Whoever holds a key named here can open what this host seals.\n")
	} else if err != nil {
		return Recipients{}, nil, err
	}
	have, err := ParseRecipients(text, path)
	if err != nil && !errors.Is(err, ErrNoRecipients) {
		return Recipients{}, nil, err
	}
	var added []string
	for _, key := range wanted {
		if key = strings.TrimSpace(key); key == "" || have.Contains(key) {
			continue
		}
		if n := len(text); n > 0 && text[n-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(text, key+"\n"...)
		added = append(added, key)
	}
	set, err := ParseRecipients(text, path)
	if err != nil || len(added) == 0 {
		return set, nil, err
	}
	err = atomicfile.ReplacePath(path, text, 0o644, func(b []byte) error {
		_, err := ParseRecipients(b, path)
		return err
	})
	return set, added, err
}

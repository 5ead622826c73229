package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Names that are public: of the variable, of the systemd credential, and of
// the files below the user's configuration folder.
const (
	IdentityVar    = "RCSUPERVISOR_IDENTITY_FILE"
	CredentialName = "rcsupervisor-identity"
	identityFile   = "identity.txt"
	recipientsFile = "recipients.txt"
)

// fdPatience is how long a descriptor may give nothing before it is given up:
// its writer's end may have leaked into this very process.
var fdPatience = 10 * time.Second // tests have less

// Options say where the identity is. No source is a value: neither arguments
// nor environment ever hold a key.
type Options struct {
	File   string              // --identity
	FD     *int                // --identity-fd; nil for none
	Getenv func(string) string // nil for [os.Getenv]

	// Passphrase is asked when the identity is protected by one, for attempt
	// 1, 2 and 3. nil: nobody can be asked.
	Passphrase func(attempt int) (Secret, error)
}

func (o Options) getenv(name string) string {
	if o.Getenv != nil {
		return o.Getenv(name)
	}
	return os.Getenv(name)
}

// FindIdentity loads the identity from the first source that there is: the
// file of --identity, the descriptor of --identity-fd (read once and closed),
// the file RCSUPERVISOR_IDENTITY_FILE names, rcsupervisor-identity in
// $CREDENTIALS_DIRECTORY, ~/.config/rcsupervisor/identity.txt. A source that
// is there but can't be used is an error: the next one would be another
// identity. With none of them the error is [ErrNoIdentity].
func FindIdentity(o Options) (*Identity, error) {
	if o.File != "" && o.FD != nil {
		return nil, &Error{Kind: ErrIdentity, Text: "both --identity and --identity-fd are given", Try: "give one of them"}
	}
	if o.FD != nil {
		return o.fromDescriptor(*o.FD)
	}
	path, t, err := o.locate()
	if err != nil {
		return nil, err
	}
	text, err := t.read(path)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	id, err := o.parse(text, t.what+" "+path)
	if err != nil {
		return nil, err
	}
	id.path = path
	return id, nil
}

// locate returns the identity's file, and what it must be like.
func (o Options) locate() (string, trust, error) {
	for _, source := range []struct{ path, name string }{
		{o.File, "--identity"}, {o.getenv(IdentityVar), IdentityVar},
	} {
		if source.path == "" {
			continue
		}
		if looksLikeKey(source.path) {
			return "", trust{}, &Error{
				Kind: ErrIdentity, Text: source.name + " holds a key instead of a file's name; whoever can list processes may have read it",
				Try: "put a new key into a file of mode 600 and name that",
			}
		}
		path, err := filepath.Abs(source.path)
		return path, privateFile, err
	}
	if dir := o.getenv("CREDENTIALS_DIRECTORY"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, CredentialName)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, credentialFile, nil
		}
	}
	path, err := o.DefaultPath()
	if err != nil {
		return "", trust{}, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", trust{}, noIdentity(path)
	}
	return path, privateFile, nil
}

// noIdentity is the error of an identity that isn't there. Where its recipients
// are it was there once, and another would open nothing.
func noIdentity(path string) error {
	text, try := "this host has no identity ("+path+" is not there)", "rcsupervisor init"
	if _, err := os.Lstat(filepath.Join(filepath.Dir(path), recipientsFile)); err == nil {
		text = "this host's identity is gone (" + path + " is not there, and its " + recipientsFile + " is)"
		try = "cp BACKUP " + path + ", with a copy of it or the recovery key; rcsupervisor init makes another, which opens nothing sealed before"
	}
	return &Error{Kind: ErrNoIdentity, Text: text, Try: try}
}

// DefaultPath is where the identity lies when nothing says otherwise, and
// where [Init] puts it.
func (o Options) DefaultPath() (string, error) {
	home := o.getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", &Error{Kind: ErrNoIdentity, Text: "this host has no identity, and HOME names no folder to look in", Try: "--identity FILE"}
	}
	return filepath.Join(home, ".config", "rcsupervisor", identityFile), nil
}

// fromDescriptor reads the identity to the end of a descriptor.
func (o Options) fromDescriptor(fd int) (*Identity, error) {
	source := fmt.Sprintf("descriptor %d", fd)
	f := os.NewFile(uintptr(fd), source)
	if f == nil || fd < 0 {
		return nil, &Error{Kind: ErrIdentity, Text: fmt.Sprintf("--identity-fd %d is no descriptor", fd), Try: "--identity-fd 3 3<identity.txt"}
	}
	defer f.Close()
	text, err := readPatiently(fd)
	if err != nil {
		return nil, &Error{Kind: ErrIdentity, Text: source, Try: "--identity-fd 3 3<identity.txt", Err: err}
	}
	defer clear(text)
	return o.parse(text, source)
}

// readPatiently reads fd to its end. It polls instead of setting a deadline:
// that would make the description non-blocking for whoever else shares it.
func readPatiently(fd int) ([]byte, error) {
	var text []byte
	buf := make([]byte, 4096)
	defer clear(buf)
	end := time.Now().Add(fdPatience)
	for len(text) <= maxKeyFile {
		wait := time.Until(end)
		if wait <= 0 {
			return nil, fmt.Errorf("it has not ended after %v: %w", fdPatience, os.ErrDeadlineExceeded)
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait.Milliseconds())+1)
		if err == unix.EINTR || err == nil && ready == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return text, nil
		}
		text = append(text, buf[:n]...)
	}
	return nil, fmt.Errorf("it has more than %d bytes", maxKeyFile)
}

// RecipientsPath returns the recipients.txt that belongs to id: beside the
// identity's file, or where [Options.DefaultPath] is when it came without one.
func (o Options) RecipientsPath(id *Identity) (string, error) {
	path := id.Path()
	if path == "" {
		var err error
		if path, err = o.DefaultPath(); err != nil {
			return "", err
		}
	}
	return filepath.Join(filepath.Dir(path), recipientsFile), nil
}

// FindRecipients loads the recipients that belong to id, with
// [ErrNoRecipients] when there is no recipients.txt. There is no falling back
// to the host's own key: whoever put a recovery key there would lose it.
func FindRecipients(id *Identity, o Options) (Recipients, error) {
	path, err := o.RecipientsPath(id)
	if err != nil {
		return Recipients{}, err
	}
	text, err := publicFile.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Recipients{}, &Error{Kind: ErrNoRecipients, Text: path + " is not there", Try: "rcsupervisor init, which writes it for the identity that there is"}
	}
	if err != nil {
		return Recipients{}, err
	}
	return ParseRecipients(text, path)
}

// FindKeyring loads identity and recipients and joins them, see [NewKeyring].
func FindKeyring(o Options, force bool) (*Keyring, error) {
	id, err := FindIdentity(o)
	if err != nil {
		return nil, err
	}
	r, err := FindRecipients(id, o)
	if err != nil {
		return nil, err
	}
	return NewKeyring(id, r, force)
}

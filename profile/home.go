package profile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"rcsupervisor/internal/ownerfs"
)

// What is ours in a home lies in one folder.
const (
	Folder       = "rocketchat"
	SettingsFile = "channel.yaml"
	AccessFile   = "access.yaml"
	SealedFile   = "secrets.age"
	StateFolder  = "state" // the channel's alone, never watched
)

// A Hash is SHA-256.
type Hash [32]byte

// Hashes tell apart two readings of a home's files: each covers the file's
// name, owner, mode and content, and is zero where there is no such file.
type Hashes struct {
	Settings Hash
	Access   Hash
	Sealed   Hash
}

// A Profile is a home as it was read once. It is never changed afterwards.
type Profile struct {
	Name  string
	Home  string     // absolute
	ID    ownerfs.ID // of the home's folder: the same after a rename
	Owner int        // uid

	Settings Settings
	Lines    map[string]int // where each key of channel.yaml stands that is there
	Access   Access         // the default without an access.yaml
	Sealed   []byte         // secrets.age as it is, nil when there is none
	Hashes   Hashes

	// Hermes lists what of the home would have Hermes speak to Rocket.Chat
	// itself, such as ".env: ROCKETCHAT_TOKEN". With Hermes as the agent that is
	// a fault; with another it is a token in plain text.
	Hermes []string
	// HermesConfig is what the home's config.yaml says of Hermes.
	HermesConfig HermesConfig

	emptied bool // access.yaml is there and has no bytes
}

// A Fault is why a home does not run as it is. Its profile is needs-config,
// and a channel that runs keeps its last good settings.
type Fault struct {
	Home string
	Err  error
	Try  string // the command that mends it, "" when only an editor can
	// Passing is set for what may end by itself (a hanging file system, a full
	// table of open files): such a home is read again at each scan, though
	// nothing in it changed.
	Passing bool
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// What can be wrong with a home besides [FileError] and the errors of
// [rcsupervisor/internal/ownerfs].
var (
	ErrRootOwned = errors.New("belongs to root, and root's homes run only where the host allows it")
	ErrSlow      = errors.New("the file system does not answer")
	ErrBoth      = errors.New("its Hermes is still set up to speak to Rocket.Chat itself")
	errNotPart   = errors.New("has no " + Folder + "/" + SettingsFile)
)

// A Host is what the host says of all homes.
type Host struct {
	// AllowRoot says whether a home that belongs to root may run; nil for none.
	// It is called from several goroutines.
	AllowRoot func(home string) bool
	// Defaults are the host file's, see [ParseDefaults]; nil for the program's.
	Defaults *Settings
}

func (h Host) allows(dir string, owner int) bool {
	return owner != 0 || h.AllowRoot != nil && h.AllowRoot(dir)
}

func (h Host) defaults() Settings {
	if h.Defaults != nil {
		return *h.Defaults
	}
	return DefaultSettings()
}

// Load reads one home as its owner, within 5 seconds. Errors are a [*Fault],
// or ctx's. The profile holds what could be read even when there is one.
func Load(ctx context.Context, name, dir string, host Host) (Profile, error) {
	type loaded struct {
		p   Profile
		err error
	}
	l, err := ask(ctx, newReaders(), dir, func() loaded {
		p, err := readHome(dir, host)
		return loaded{p, err}
	})
	if err == nil {
		err = l.err
	}
	if errors.Is(err, errNotPart) {
		err = &Fault{Home: dir, Err: &ownerfs.Error{Path: dir, Err: errNotPart}, Try: "rcsupervisor add NAME --server URL"}
	}
	r := reading(&sighting{candidate: candidate{dir: dir}, profile: l.p, err: err}, name)
	return r.Profile, r.Err
}

// readHome reads a home as its owner. The profile holds what could be read
// even when the error is not nil, so that a change can be told from the last.
func readHome(dir string, host Host) (Profile, error) {
	p := Profile{Home: dir}
	home, err := ownerfs.Open(dir)
	if err != nil {
		return p, fault(dir, err)
	}
	defer home.Close()
	p.ID, p.Owner = home.Info().ID, home.Owner().UID
	if !host.allows(dir, p.Owner) {
		return p, &Fault{
			Home: dir, Err: &ownerfs.Error{Path: dir, Err: ErrRootOwned},
			Try: "chown -R OWNER " + ownerfs.Quote(dir),
		}
	}
	ours, err := home.Sub(Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return p, errNotPart
	}
	if err != nil {
		return p, fault(dir, err)
	}
	defer ours.Close()
	if err := p.readFiles(ours, host.defaults()); err != nil {
		return p, err
	}
	return p, p.checkHermes(home)
}

// readFiles reads all three files before it tells what is wrong with any.
func (p *Profile) readFiles(ours *ownerfs.Dir, defaults Settings) error {
	settings, err1 := readHashed(ours, SettingsFile, &p.Hashes.Settings)
	access, err2 := readHashed(ours, AccessFile, &p.Hashes.Access)
	sealed, err3 := readHashed(ours, SealedFile, &p.Hashes.Sealed)
	if errors.Is(err1, fs.ErrNotExist) {
		return errNotPart
	}
	p.Sealed = sealed
	for _, err := range []*error{&err2, &err3} {
		if errors.Is(*err, fs.ErrNotExist) {
			*err = nil
		}
	}
	if err1 == nil {
		p.Settings, p.Lines, err1 = parseSettings(filepath.Join(ours.Path(), SettingsFile), settings, defaults)
	}
	p.emptied = err2 == nil && p.Hashes.Access != (Hash{}) && len(access) == 0
	if err2 == nil {
		p.Access, err2 = ParseAccess(filepath.Join(ours.Path(), AccessFile), access)
	}
	return fault(p.Home, errors.Join(err1, err2, err3))
}

// readHashed reads one file and takes its hash, before anything judges it.
func readHashed(ours *ownerfs.Dir, name string, into *Hash) ([]byte, error) {
	data, i, err := ours.ReadFile(name, MaxFile)
	if err != nil {
		if s, serr := ours.Stat(name); serr == nil { // what is refused must not look unchanged
			*into = hashFile(name, s, nil)
		}
		return nil, err
	}
	*into = hashFile(name, i, data)
	return data, nil
}

func hashFile(name string, i ownerfs.Info, data []byte) (sum Hash) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00", name)
	var n [24]byte
	binary.BigEndian.PutUint64(n[0:], uint64(i.Owner))
	binary.BigEndian.PutUint64(n[8:], uint64(i.Mode))
	binary.BigEndian.PutUint64(n[16:], i.Links)
	h.Write(n[:])
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// fault gives an error its mending command.
func fault(dir string, err error) error {
	if err == nil {
		return nil
	}
	f := &Fault{Home: dir, Err: err}
	if e, ok := errors.AsType[*ownerfs.Error](err); ok {
		f.Try = e.Try
		_, bad := errors.AsType[*FileError](err)
		f.Passing = !bad && passing(e.Err)
	}
	return f
}

// passing tells what a person has to mend from what may mend itself.
func passing(err error) bool {
	for _, lasting := range []error{
		ownerfs.ErrForeign, ownerfs.ErrWritable, ownerfs.ErrLink, ownerfs.ErrHardLink, ownerfs.ErrNotRegular,
		ownerfs.ErrNotFolder, ownerfs.ErrTooLarge, ownerfs.ErrTooMany, ownerfs.ErrCredentials,
		fs.ErrPermission, fs.ErrNotExist, ErrRootOwned,
	} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return true
}

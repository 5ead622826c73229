package supervisor

import (
	"context"
	"errors"
	"io/fs"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A Tenant is one home on disk: its name, where it lies, and the identity that
// opens its envelope.
type Tenant struct {
	Name     string
	Path     string
	Identity *sealed.Identity
}

// Folder enters what is ours in the home, as the home's owner.
func (t Tenant) Folder() (*ownerfs.Dir, error) {
	home, err := ownerfs.Open(t.Path)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	return home.Sub(profile.Folder)
}

// Load reads the home and opens its envelope. Errors are [*Unready], with the
// state the profile is in because of them.
func (t Tenant) Load() (channel.Start, error) {
	dir, err := t.Folder()
	if err != nil {
		return channel.Start{}, unready(healthcheck.BadConfig, err)
	}
	defer dir.Close()
	settings, access, err := readFiles(dir)
	if err != nil {
		return channel.Start{}, unready(healthcheck.BadConfig, err)
	}
	ca, err := readCA(context.Background(), profile.Reading{Profile: profile.Profile{Home: t.Path, Owner: dir.Owner().UID}}, settings.CAFile)
	if err != nil {
		return channel.Start{}, unready(healthcheck.BadConfig, err)
	}
	if t.Identity == nil {
		return channel.Start{}, unready(healthcheck.Unsealed, sealed.ErrNoIdentity)
	}
	envelope, err := sealed.Store{Folder: Sealed(dir), Profile: t.Name}.Read(t.Identity)
	if err != nil {
		return channel.Start{}, unready(healthcheck.Unsealed, err)
	}
	return channel.Start{
		Profile: t.Name, Home: t.Path, Settings: settings, Access: access, CA: ca,
		Credentials: envelope.Credentials(settings.Agent.Secrets),
	}, nil
}

func readFiles(dir *ownerfs.Dir) (profile.Settings, profile.Access, error) {
	data, _, err := dir.ReadFile(profile.SettingsFile, profile.MaxFile)
	if err != nil {
		return profile.Settings{}, profile.Access{}, err
	}
	settings, err := profile.ParseSettings(profile.SettingsFile, data)
	if err != nil {
		return profile.Settings{}, profile.Access{}, err
	}
	data, _, err = dir.ReadFile(profile.AccessFile, profile.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return settings, profile.DefaultAccess(), nil // nobody is let in
	}
	if err != nil {
		return profile.Settings{}, profile.Access{}, err
	}
	access, err := profile.ParseAccess(profile.AccessFile, data)
	return settings, access, err
}

// Sealed is a home's folder as sealed wants it.
func Sealed(dir *ownerfs.Dir) sealed.Folder { return sealedFolder{dir} }

type sealedFolder struct{ dir *ownerfs.Dir }

func (f sealedFolder) ReadFile(name string, limit int64) ([]byte, error) {
	data, _, err := f.dir.ReadFile(name, limit)
	return data, err
}

func (f sealedFolder) ReplaceFile(name string, data []byte, perm fs.FileMode, verify func([]byte) error) error {
	return f.dir.ReplaceFile(name, data, perm, verify)
}

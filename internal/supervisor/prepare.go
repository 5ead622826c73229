package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// sealsAtOnce bounds how many envelopes are opened at the same time: it is
// work for the processors alone.
func sealsAtOnce() int { return max(2, runtime.GOMAXPROCS(0)) }

// prepared is what a run needs, or why it can't have it.
type prepared struct {
	start     channel.Start
	facts     facts
	hermes    string // who of Hermes has the bot, "" for nobody
	hermesTry string
	err       *Unready
}

// facts are what was found beside what a run needs.
type facts struct {
	capped  []profile.KeyChange // what the host's ceilings cut
	stale   bool                // sealed for other recipients than the host names
	missing []string            // names of agent.secrets that have no value
}

// readAnew is prepare of the home as it is on the disk now.
func (k *keeper) readAnew(then func(prepared)) {
	k.look++
	number, r := k.look, k.reading
	k.beside(func() func() {
		p, err := profile.Load(k.work, k.name, r.Home, k.config.homes())
		return func() {
			if k.look != number {
				return
			}
			if p.Hashes != (profile.Hashes{}) || err == nil {
				k.read(profile.Reading{Profile: p, Err: err})
			}
			k.prepare(then)
		}
	})
}

// prepare finds out, beside the keeper's goroutine, what a run needs of the
// home as it was last read, and calls then on it. Of several under way the
// last one counts.
func (k *keeper) prepare(then func(prepared)) {
	k.look++
	number, r, grants := k.look, k.reading, k.inUse
	k.beside(func() func() {
		p := k.find(k.work, r, grants)
		return func() {
			if k.look == number {
				then(p)
			}
		}
	})
}

// beside calls f, which may take its time, on a goroutine of its own, and what
// it returns on the keeper's.
func (k *keeper) beside(f func() func()) {
	if k.under++; k.preparing == nil {
		k.preparing = make(chan struct{})
	}
	k.group.Go(func() {
		then := f()
		k.tell(func() {
			then()
			if k.under--; k.under == 0 {
				close(k.preparing)
				k.preparing = nil
			}
		})
	})
}

// find is what prepare does beside the keeper. It runs on any goroutine.
func (s *Supervisor) find(ctx context.Context, r profile.Reading, inUse profile.Grants) (p prepared) {
	if r.Err != nil {
		p.err = unready(healthcheck.BadConfig, r.Err)
		return p
	}
	if s.config.Carrier.Kind() == worker.Shared && r.Owner != os.Geteuid() {
		// Its files would be opened, and its agent run, with our rights.
		p.err = &Unready{
			Reason: healthcheck.BadConfig, Try: "rcsupervisor run --isolation process",
			Err: fmt.Errorf("its home belongs to uid %d, and shared isolation runs homes of uid %d alone", r.Owner, os.Geteuid()),
		}
		return p
	}
	settings := r.Settings
	settings.Agent = inUse.Agent
	settings, p.facts.capped = s.config.Host.Ceilings.Cap(settings)
	if kind := settings.Agent.Kind; !s.config.Host.AllowsKind(kind) {
		p.err = &Unready{Reason: healthcheck.BadConfig, Err: fmt.Errorf("agent.kind is %s, which this host does not allow", kind)}
		return p
	}
	ca, err := readCA(ctx, r, settings.CAFile)
	if err != nil {
		p.err = unready(healthcheck.BadConfig, err)
		return p
	}
	envelope, u := s.unseal(ctx, r)
	if u != nil {
		p.err = u
		return p
	}
	if !s.config.Host.AllowsServer(envelope.Server) {
		p.err = &Unready{Reason: healthcheck.BadConfig, Err: fmt.Errorf("its server is %s, which this host does not allow", envelope.Server)}
		return p
	}
	s.config.Redact.Add(reveal(envelope.Secrets())...)
	p.facts.missing = envelope.Missing(settings.Agent.Secrets)
	if keyring := s.config.Keys.Keyring(); keyring != nil {
		p.facts.stale = envelope.Stale(keyring.Recipients())
	}
	p.start = channel.Start{
		Profile: r.Name, Home: r.Home, Settings: settings, Access: inUse.Access, CA: ca,
		Credentials: envelope.Credentials(settings.Agent.Secrets),
	}
	p.hermes, p.hermesTry = hermesHolder(ctx, r.Owner, p.start.Credentials.Server, p.start.Credentials.UserID)
	return p
}

func reveal(secrets []sealed.Secret) []string {
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.Reveal()
	}
	return values
}

// unseal opens what was read of a home. An envelope of the profile whose name
// the home had before is sealed anew for the present one.
func (s *Supervisor) unseal(ctx context.Context, r profile.Reading) (sealed.Envelope, *Unready) {
	id, err := s.config.Keys.Identity()
	if err != nil {
		return sealed.Envelope{}, unready(healthcheck.Unsealed, err)
	}
	if r.Sealed == nil {
		return sealed.Envelope{}, unready(healthcheck.Unsealed, &sealed.Error{
			Kind: sealed.ErrMissing, Text: r.Name + " has no sealed credentials", Try: "rcsupervisor add " + r.Name + " --server URL",
		})
	}
	select {
	case s.seals <- struct{}{}:
	case <-ctx.Done():
		return sealed.Envelope{}, unready(healthcheck.Unsealed, ctx.Err())
	}
	defer func() { <-s.seals }()
	envelope, err := sealed.Unseal(r.Sealed, id, r.Name)
	if err != nil {
		return sealed.Envelope{}, unready(healthcheck.Unsealed, err)
	}
	return envelope, nil
}

// caBytes bounds tls.ca_file, and caTimeout how long its file system may take.
const (
	caBytes   = 1 << 20
	caTimeout = 5 * time.Second
)

// readCA reads the owner's file of additional roots, with the owner's rights.
func readCA(ctx context.Context, r profile.Reading, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Home, path)
	}
	type file struct {
		data []byte
		err  error
	}
	read := make(chan file, 1) // a file system that hangs keeps the goroutine, and nobody else
	go func() {
		data, err := readOwned(path, r.Owner)
		if err != nil {
			err = &caError{path: path, home: r.Home, err: err}
		}
		read <- file{data, err}
	}()
	timeout := time.NewTimer(caTimeout)
	defer timeout.Stop()
	select {
	case f := <-read:
		return f.data, f.err
	case <-timeout.C:
		return nil, fmt.Errorf("tls.ca_file: the file system of %s does not answer", path)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readOwned reads a file of one owner, in a folder of his: root reads nothing
// for a tenant that the tenant could not read himself.
func readOwned(path string, owner int) ([]byte, error) {
	dir, err := ownerfs.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if dir.Owner().UID != owner {
		return nil, ownerfs.ErrForeign
	}
	data, _, err := dir.ReadFile(filepath.Base(path), caBytes)
	return data, err
}

// A caError is a tls.ca_file that can't be used.
type caError struct {
	path, home string
	err        error
}

func (e *caError) Error() string {
	why := e.err
	for _, known := range []error{ownerfs.ErrForeign, fs.ErrNotExist, ownerfs.ErrTooLarge, ownerfs.ErrLink} {
		if errors.Is(why, known) {
			why = known
		}
	}
	return fmt.Sprintf("tls.ca_file: %s must be a file of the home's owner, in a folder of his: %v", ownerfs.Quote(e.path), why)
}

func (e *caError) Unwrap() error { return e.err }

// Hint returns the command that mends it.
func (e *caError) Hint() string {
	own := filepath.Join(e.home, profile.Folder, "ca.pem")
	return fmt.Sprintf("cp %s %s, and tls: {ca_file: %s/ca.pem}", ownerfs.Quote(e.path), ownerfs.Quote(own), profile.Folder)
}

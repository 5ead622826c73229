package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/channel/pretend/page"
	"rcsupervisor/internal/supervisor"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A bot of the demo.
type bot struct {
	name     string
	settings string // what its channel.yaml says beside the agent
}

// A stage is a demo that is set up: a server with people and rooms, three
// homes, and a supervisor that is yet to run.
type stage struct {
	dir      string
	url      string
	server   *pretend.Server
	identity *sealed.Identity
	keyring  *sealed.Keyring

	owner   pretend.User
	bots    map[string]pretend.User
	lounge  pretend.Room
	direct  map[string]pretend.Room // of the owner and each bot
	tenants []supervisor.Tenant

	watch *watch
}

// setUp makes a stage in a temporary folder.
func setUp(addr string, bots []bot) (*stage, error) {
	dir, err := os.MkdirTemp("", "rcsupervisor-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{
		dir: dir, bots: make(map[string]pretend.User), direct: make(map[string]pretend.Room), watch: newWatch(),
		server: pretend.New(pretend.Options{Home: page.Handler(), NoLimits: true}),
	}
	if err := s.build(addr, bots); err != nil {
		return nil, errors.Join(err, s.strike())
	}
	return s, nil
}

// strike leaves nothing behind.
func (s *stage) strike() error { return errors.Join(s.server.Close(), os.RemoveAll(s.dir)) }

func (s *stage) build(addr string, bots []bot) (err error) {
	if s.url, err = s.server.Listen(addr); err != nil {
		return err
	}
	if err := s.makeIdentity(); err != nil {
		return err
	}
	s.owner = s.server.AddUser("olivia", pretend.UserOptions{Name: "Olivia Owner"})
	guest := s.server.AddUser("gustav", pretend.UserOptions{Name: "Gustav Guest"})
	everybody := []pretend.User{s.owner, guest}
	for _, b := range bots {
		user := s.server.AddUser(b.name, pretend.UserOptions{Bot: true})
		s.bots[b.name] = user
		s.direct[b.name] = s.server.AddDirect(s.owner, user)
		everybody = append(everybody, user)
	}
	s.lounge = s.server.AddChannel("lounge", everybody...)
	for _, b := range bots {
		if err := s.makeHome(b, guest); err != nil {
			return fmt.Errorf("make the home of %s: %w", b.name, err)
		}
	}
	return nil
}

// makeIdentity makes what opens the seals, and reads it back as any other.
func (s *stage) makeIdentity() error {
	path := filepath.Join(s.dir, "identity.txt")
	options := sealed.Options{File: path, Getenv: func(string) string { return "" }}
	if _, err := sealed.Init(sealed.InitOptions{Path: path}); err != nil {
		return err
	}
	var err error
	if s.identity, err = sealed.FindIdentity(options); err != nil {
		return err
	}
	recipients, err := sealed.FindRecipients(s.identity, options)
	if err != nil {
		return err
	}
	s.keyring, err = sealed.NewKeyring(s.identity, recipients, false)
	return err
}

// makeHome makes one tenant's home: settings, access, sealed credentials.
func (s *stage) makeHome(b bot, guest pretend.User) error {
	t := supervisor.Tenant{Name: b.name, Path: filepath.Join(s.dir, "profiles", b.name)}
	folder := filepath.Join(t.Path, "rocketchat")
	if err := os.MkdirAll(filepath.Join(folder, "state"), 0o700); err != nil {
		return err
	}
	settings := "agent:\n  kind: echo\n" + b.settings
	access := fmt.Sprintf(`people:
  - {id: %q, name: "olivia", role: owner}
  - {id: %q, name: "gustav", role: member}
rooms:
  - {id: %q, name: "lounge", mention: true}
`, s.owner.ID, guest.ID, s.lounge.ID)
	for name, text := range map[string]string{"channel.yaml": settings, "access.yaml": access} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	s.tenants = append(s.tenants, t)
	return s.seal(t, s.bots[b.name].Token)
}

// seal puts a token into a home's envelope, in the place of any before it.
func (s *stage) seal(t supervisor.Tenant, token string) error {
	dir, err := t.Folder()
	if err != nil {
		return err
	}
	defer dir.Close()
	server, err := sealed.Server(s.url)
	if err != nil {
		return err
	}
	_, err = sealed.Store{Folder: supervisor.Sealed(dir), Profile: t.Name}.Write(sealed.Envelope{
		Server: server, UserID: s.bots[t.Name].ID, Token: sealed.NewSecret(token),
	}, s.keyring, sealed.WriteOptions{})
	return err
}

// supervise returns the supervisor of the stage's homes.
func (s *stage) supervise(observe func(supervisor.Event)) (*supervisor.Supervisor, error) {
	return supervisor.New(supervisor.Config{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: s.dir}}},
		Root:    true, // whoever plays is whom the bots belong to
		Keys: supervisor.NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) {
			return s.identity, s.keyring, nil
		}),
		Drain: time.Second,
		Observe: func(e supervisor.Event) {
			s.watch.see(e)
			observe(e)
		},
	})
}

func (s *stage) tenant(name string) supervisor.Tenant {
	for _, t := range s.tenants {
		if t.Name == name {
			return t
		}
	}
	panic("no bot " + name)
}

// A watch keeps the latest event of each profile, and the reasons it has had.
type watch struct {
	mu      sync.Mutex
	latest  map[string]supervisor.Event
	seen    map[string][]string // "state reason", as they came
	changed chan struct{}
}

func newWatch() *watch {
	return &watch{latest: make(map[string]supervisor.Event), seen: make(map[string][]string), changed: make(chan struct{})}
}

func (w *watch) see(e supervisor.Event) {
	if e.Record != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest[e.Profile] = e
	now := strings.TrimSpace(string(e.History.State) + " " + string(e.History.Reason))
	if seen := w.seen[e.Profile]; len(seen) == 0 || seen[len(seen)-1] != now {
		w.seen[e.Profile] = append(seen, now)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// await waits until cond holds of a profile's latest event.
func (w *watch) await(ctx context.Context, name string, cond func(e supervisor.Event, seen []string) bool) error {
	for {
		w.mu.Lock()
		e, ok := w.latest[name]
		seen, changed := w.seen[name], w.changed
		w.mu.Unlock()
		if ok && cond(e, seen) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// mark returns how many states a profile has been through so far.
func (w *watch) mark(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen[name])
}

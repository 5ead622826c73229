package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/worker"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A house is a host for a test: a pretend server, homes on a real disk with
// real seals, and a supervisor over them.
type house struct {
	*testing.T
	kind   worker.Kind
	dir    string
	server *pretend.Server
	url    string
	keys   *sealed.Keyring
	keyset *Keys
	owner  pretend.User
	lounge pretend.Room
	bots   map[string]pretend.User
	config Config

	super *Supervisor
	stop  func() error
	hurry chan struct{} // closed: end at once

	events atomic.Int64 // that were told

	mu   sync.Mutex
	seen map[string][]string // "state reason" of each profile, as they came
	errs map[string][]string // and what was said of it
}

// both runs a test under both carriers.
func both(t *testing.T, test func(*house)) {
	for _, kind := range []worker.Kind{worker.Shared, worker.Process} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(newHouse(t, kind))
		})
	}
}

func newHouse(t *testing.T, kind worker.Kind) *house {
	t.Helper()
	return newHouseIn(t, kind, func(string) {})
}

// newHouseIn also makes a folder for Hermes' locks.
func newHouseIn(t *testing.T, kind worker.Kind, locks func(dir string)) *house {
	t.Helper()
	h := &house{T: t, kind: kind, dir: tempDir(t), bots: make(map[string]pretend.User), seen: make(map[string][]string), errs: make(map[string][]string)}
	h.server = pretend.New(pretend.Options{NoLimits: true})
	t.Cleanup(func() { h.server.Close() })
	h.must(os.Mkdir(filepath.Join(h.dir, "locks"), 0o755))
	locks(filepath.Join(h.dir, "locks"))
	var err error
	h.url, err = h.server.Listen("127.0.0.1:0")
	h.must(err)
	h.owner = h.server.AddUser("olivia", pretend.UserOptions{})
	h.lounge = h.server.AddChannel("lounge", h.owner)
	h.identity()
	return h
}

// tempDir is a folder that nobody else may write to, whatever the umask.
func tempDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *house) identity() {
	h.Helper()
	path := filepath.Join(h.dir, "identity.txt")
	_, err := sealed.Init(sealed.InitOptions{Path: path})
	h.must(err)
	o := sealed.Options{File: path, Getenv: func(string) string { return "" }}
	id, err := sealed.FindIdentity(o)
	h.must(err)
	r, err := sealed.FindRecipients(id, o)
	h.must(err)
	h.keys, err = sealed.NewKeyring(id, r, false)
	h.must(err)
	h.keyset = NewKeys(func() (*sealed.Identity, *sealed.Keyring, error) { return id, h.keys, nil })
}

// quick are settings with which a dead socket is found within a second or two.
const quick = "agent: {kind: echo}\nhealth: {silence: 3s, ping: 1s, check: 5s}\n"

// add makes a bot and its home.
func (h *house) add(name, settings string) {
	h.Helper()
	user := h.server.AddUser(name, pretend.UserOptions{Bot: true})
	h.bots[name] = user
	h.server.Join(h.lounge, user)
	h.home(name, settings)
	h.seal(name, user, user.Token)
}

// home makes a home without credentials.
func (h *house) home(name, settings string) {
	h.Helper()
	h.must(os.MkdirAll(h.path(name, profile.StateFolder), 0o700))
	h.write(name, profile.AccessFile, fmt.Sprintf("people:\n  - {id: %q, name: \"olivia\", role: owner}\n", h.owner.ID))
	h.write(name, profile.SettingsFile, settings)
}

func (h *house) homeDir(name string) string { return filepath.Join(h.dir, "root", "profiles", name) }

// path is where a file of ours lies in a home.
func (h *house) path(name, file string) string {
	return filepath.Join(h.homeDir(name), profile.Folder, file)
}

// write puts a file into a home, as an editor does.
func (h *house) write(name, file, text string) {
	h.Helper()
	temp := h.path(name, "."+file+".tmp")
	h.must(os.WriteFile(temp, []byte(text), 0o600))
	h.must(os.Rename(temp, h.path(name, file)))
}

// seal puts a bot's token into a home's envelope.
func (h *house) seal(name string, user pretend.User, token string) {
	h.Helper()
	h.sealTo(name, sealed.Envelope{Server: h.url, UserID: user.ID, Token: sealed.NewSecret(token)})
}

func (h *house) sealTo(name string, e sealed.Envelope) {
	h.Helper()
	dir, err := Tenant{Name: name, Path: h.homeDir(name)}.Folder()
	h.must(err)
	defer dir.Close()
	_, err = sealed.Store{Folder: Sealed(dir), Profile: name}.Write(e, h.keys, sealed.WriteOptions{Force: true})
	h.must(err)
}

// carrier is a new carrier of the house's kind.
func (h *house) carrier() worker.Carrier {
	if h.kind == worker.Shared {
		return worker.NewShared(channel.Env{Agent: testAgent})
	}
	return worker.NewProcesses(nil)
}

// start starts the supervisor, and has it end with the test.
func (h *house) start() {
	h.Helper()
	state := filepath.Join(h.dir, "state")
	h.must(os.MkdirAll(state, 0o700))
	root, err := os.OpenRoot(state)
	h.must(err)
	c := h.config
	c.Sources.Roots = append([]profile.Root{{Dir: filepath.Join(h.dir, "root")}}, c.Sources.Roots...)
	c.Root, c.State, c.Keys, c.Drain = true, root, h.keyset, max(c.Drain, time.Second)
	if c.Carrier == nil {
		c.Carrier = h.carrier()
	}
	c.Observe = h.observe
	if testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(h.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	h.super, err = New(c)
	h.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	h.hurry = make(chan struct{})
	go func() { done <- h.super.Run(ctx, h.hurry) }()
	var once sync.Once
	h.stop = func() (err error) {
		once.Do(func() {
			cancel()
			err = <-done
			root.Close()
		})
		return err
	}
	h.Cleanup(func() { _ = h.stop() })
	select {
	case <-h.super.Ready():
	case <-time.After(patience):
		h.Fatal("the homes were not looked at")
	}
}

// patience bounds waiting for what must come.
const patience = 40 * time.Second

func (h *house) observe(e Event) {
	if e.Record != nil {
		return
	}
	h.events.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := strings.TrimSpace(string(e.History.State) + " " + string(e.History.Reason))
	if s := h.seen[e.Profile]; len(s) == 0 || s[len(s)-1] != now {
		h.seen[e.Profile] = append(s, now)
	}
	if e.History.Error != "" && !slices.Contains(h.errs[e.Profile], e.History.Error) {
		h.errs[e.Profile] = append(h.errs[e.Profile], e.History.Error)
	}
}

// said is what was said of a profile's troubles.
func (h *house) said(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.errs[name], "; ")
}

// states are those that a profile has been in, as "state reason".
func (h *house) states(name string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen[name])
}

// await waits until a profile is in a state, for a reason; "" stands for any.
func (h *house) await(name string, state healthcheck.State, reason healthcheck.Reason) ProfileStatus {
	h.Helper()
	return h.awaitThat(name, fmt.Sprintf("%s %s", state, reason), func(p ProfileStatus) bool {
		return p.State == state && (reason == "" || p.Reason != nil && *p.Reason == string(reason))
	})
}

func (h *house) awaitThat(name, what string, ok func(ProfileStatus) bool) ProfileStatus {
	h.Helper()
	h.until(name+" is there", func() bool { return h.super.keeper(name) != nil })
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	var last ProfileStatus
	err := h.super.Await(ctx, name, func(p ProfileStatus) bool {
		last = p
		return ok(p)
	})
	if err != nil {
		h.Fatalf("%s is not %s: %v; it is %s %v %v, and was %q", name, what, err, last.State, deref(last.Reason), deref(last.Error), h.states(name))
	}
	return last
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// awaitGone waits until a profile has left the list.
func (h *house) awaitGone(name string) {
	h.Helper()
	h.until(name+" has left the list", func() bool { _, ok := h.super.Profile(Everybody, name); return !ok })
}

// until waits for what nothing tells of.
func (h *house) until(what string, ok func() bool) {
	h.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			h.Fatalf("not seen: %s", what)
		}
	}
}

// pause lets real time pass, for what is measured against a server's clock.
func (h *house) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.Context().Done():
	}
}

// was waits until a profile has been in a state.
func (h *house) was(name, state string) {
	h.Helper()
	h.until(name+" "+state, func() bool { return slices.Contains(h.states(name), state) })
}

// online waits until all named are online.
func (h *house) online(names ...string) {
	h.Helper()
	for _, name := range names {
		h.await(name, healthcheck.Online, "")
	}
}

// socket is the number of a bot's only connection.
func (h *house) socket(name string) uint64 {
	h.Helper()
	c := h.server.Connections(h.bots[name])
	if len(c) != 1 {
		h.Fatalf("%s has %d sockets", name, len(c))
	}
	return c[0].Number
}

// undisturbed has a test fail at its end if a profile's socket is another than
// now.
func (h *house) undisturbed(name string) func() {
	h.Helper()
	before := h.socket(name)
	return func() {
		h.Helper()
		if now := h.socket(name); now != before {
			h.Errorf("%s lost its socket: %d is now %d", name, before, now)
		}
	}
}

// asks has the owner ask a bot something, and waits for the answer.
func (h *house) asks(name, text string) {
	h.Helper()
	room := h.server.AddDirect(h.owner, h.bots[name])
	before := len(h.server.Messages(room))
	h.server.Say(h.owner, room, text)
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	err := h.server.Await(ctx, func() bool {
		return slices.ContainsFunc(h.server.Messages(room)[before:], func(m pretend.Message) bool {
			return m.User.Username == name && m.Text == "echo: "+text
		})
	})
	if err != nil {
		h.Fatalf("%s did not answer %q: %v", name, text, err)
	}
}

// pid is the process of a profile's worker.
func (h *house) pid(name string) int {
	h.Helper()
	pid := h.super.keeper(name).view.Load().pid
	if pid == 0 {
		h.Fatalf("%s has no worker", name)
	}
	return pid
}

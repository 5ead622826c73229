package enroll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"go.uber.org/goleak"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/hostfile"
	"rcsupervisor/internal/ownerfs/ownertest"
	"rcsupervisor/internal/people"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A house is a desk with a root of homes, an identity and a server.
type house struct {
	*Desk
	t      *testing.T
	dir    string
	server *pretend.Server
	url    string
	ada    pretend.User
	bob    pretend.User
	owner  pretend.User
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), server: pretend.New(pretend.Options{NoLimits: true})}
	var err error
	h.url, err = h.server.Listen("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { h.server.Close() })
	h.ada, h.bob = h.server.AddUser("ada", pretend.UserOptions{Bot: true}), h.server.AddUser("bob", pretend.UserOptions{Bot: true})
	h.owner = h.server.AddUser("olivia", pretend.UserOptions{})
	identity := sealed.Options{File: filepath.Join(h.dir, "identity.txt"), Getenv: func(string) string { return "" }}
	// Classic keys seal as others do, and in a hundredth of the time.
	key, err := age.GenerateX25519Identity()
	must(t, err)
	must(t, os.WriteFile(identity.File, []byte(key.String()+"\n"), 0o600))
	made, err := sealed.Init(sealed.InitOptions{Path: identity.File, Options: identity})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(h.dir, "root"), 0o755))
	must(t, os.MkdirAll(filepath.Join(h.dir, "state"), 0o700))
	state, err := os.OpenRoot(filepath.Join(h.dir, "state"))
	must(t, err)
	t.Cleanup(func() { state.Close() })
	host, err := hostfile.Parse("host", []byte("allow_root: ["+h.dir+"/*, "+h.dir+"/*/*, "+h.dir+"/*/*/*]\n"))
	must(t, err)
	h.Desk = &Desk{
		Sources: profile.Sources{Roots: []profile.Root{{Dir: filepath.Join(h.dir, "root")}}}, Host: host,
		State: state, Book: &people.Book{Dir: state.Name()}, Names: LedgerIn(state), Identity: identity,
		Keys: func() (*sealed.Keyring, error) { return made.Keyring, nil },
		Lock: func(home string) (io.Closer, error) { return os.Open(home) },
	}
	return h
}

func (h *house) home(name string) string { return filepath.Join(h.dir, "root", "profiles", name) }
func (h *house) file(name, file string) string {
	return filepath.Join(h.home(name), profile.Folder, file)
}

func (h *house) addition(u pretend.User) Addition {
	return Addition{Server: h.url, UserID: u.ID, Token: plain(u.Token)}
}

func plain(s string) Plain { return Plain{sealed.NewSecret(s)} }

func (h *house) add(name string, u pretend.User) Added {
	h.t.Helper()
	a, err := h.Add(h.t.Context(), Operator, name, h.addition(u))
	must(h.t, err)
	return a
}

// write puts a file into a home, and the folders above it.
func (h *house) write(path, text string) {
	h.t.Helper()
	must(h.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(h.t, os.WriteFile(path, []byte(text), 0o600))
}

func (h *house) entry(name string) profile.Entry {
	h.t.Helper()
	e, _, err := h.Names.Entry(name)
	must(h.t, err)
	return e
}

// prove has the ledger take what a profile is now for proven by a login.
func (h *house) prove(name string, u pretend.User, generation uint64) {
	h.t.Helper()
	r, err := h.find(h.t.Context(), name)
	must(h.t, err)
	c := profile.Claim{Path: r.Home, Owner: r.Owner, Server: h.url, Bot: u.ID, Generation: generation}
	e := profile.NewEntry(c).Proven(c)
	grants := profile.GrantsOf(r.Profile)
	e.Accepted = &grants
	must(h.t, h.Names.Change(name, &e))
}

// hintOf fails for an error that is not said in a clause with what mends it.
func (h *house) hintOf(err error) string {
	h.t.Helper()
	if err == nil {
		h.t.Fatal("no error")
	}
	try := Hint(err)
	if try == "" {
		h.t.Errorf("nothing mends %v", err)
	}
	for _, s := range []string{h.ada.Token, h.bob.Token} {
		if strings.Contains(err.Error()+try, s) {
			h.t.Errorf("an error holds a token: %v", err)
		}
	}
	return try
}

// Nobody but an operator and its owner may know of a profile.
func TestWhoMayKnowOfAProfile(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	stranger := Caller{UID: os.Geteuid() + 4242}
	ctx := t.Context()
	for what, err := range map[string]error{
		"people": second(h.People(ctx, stranger, "alice", PersonWish{})),
		"rooms":  second(h.Rooms(ctx, stranger, "alice", RoomWish{})),
		"secret": second(h.Secret(ctx, stranger, "alice", SecretWish{Do: "list"})),
		"check":  second(h.Check(ctx, stranger, "alice", func(Finding) {})),
		"adopt":  second(h.Adopt(ctx, stranger, "alice")),
		"accept": second(h.Accept(ctx, stranger, "alice")),
		"remove": second(h.Remove(ctx, stranger, "alice", RemoveWish{})),
		"reseal": second(h.Reseal(ctx, stranger, ResealWish{Names: []string{"alice"}})),
		"asker":  second(h.VerifyAsker(ctx, stranger, "alice", AskerWish{})),
	} {
		if !errors.Is(err, ErrNoProfile) {
			t.Errorf("%s: %v", what, err)
		}
		h.hintOf(err)
	}
	// What is another's and what is nobody's are the same to him.
	for what, err := range map[string]error{
		"add":    second(h.Add(ctx, stranger, "alice", h.addition(h.ada))),
		"import": second(h.Import(ctx, stranger, "alice", ImportWish{})),
		"new":    second(h.Add(ctx, stranger, "eveee", h.addition(h.ada))),
	} {
		if !errors.Is(err, ErrNoProfile) {
			t.Errorf("%s: %v", what, err)
		}
		try := h.hintOf(err)
		if got, want := strings.ReplaceAll(err.Error()+try, "eveee", "alice"), "no such profile: alice, and no folder here that could hold one is yourssudo rcsupervisor add alice --server URL"; got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	if _, err := h.Reseal(ctx, stranger, ResealWish{All: true, NewIdentity: true}); !errors.Is(err, ErrNotYours) {
		t.Error(err)
	}
	if r, err := h.Reseal(ctx, stranger, ResealWish{All: true}); err != nil || len(r.Resealed) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := h.People(ctx, Caller{UID: os.Geteuid()}, "alice", PersonWish{}); err != nil {
		t.Error("the owner himself may not:", err)
	}
}

func second[T any](_ T, err error) error { return err }

// A home whose lock another process has is left alone.
func TestAHomeInUseIsLeftAlone(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	busy := errors.New("in use")
	h.Lock = func(string) (io.Closer, error) { return nil, busy }
	before := h.tree("alice")
	ctx := t.Context()
	for what, err := range map[string]error{
		"add":    second(h.Add(ctx, Operator, "alice", h.addition(h.ada))),
		"people": second(h.People(ctx, Operator, "alice", PersonWish{Do: "block", ID: h.owner.ID})),
		"rooms":  second(h.Rooms(ctx, Operator, "alice", RoomWish{Do: "on", ID: "R"})),
		"secret": second(h.Secret(ctx, Operator, "alice", SecretWish{Do: "set", Key: "K", Value: plain("v")})),
		"reseal": second(h.Reseal(ctx, Operator, ResealWish{All: true})),
		"remove": second(h.Remove(ctx, Operator, "alice", RemoveWish{Purge: true})),
		"adopt":  second(h.Adopt(ctx, Operator, "alice")),
	} {
		if !errors.Is(err, busy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := h.tree("alice"); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// tree is everything in a home, as text.
func (h *house) tree(name string) string {
	h.t.Helper()
	var b strings.Builder
	must(h.t, filepath.WalkDir(h.home(name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(data) + "\n")
		return err
	}))
	return b.String()
}

// Every error of a name that no home has says what mends it.
func TestNoSuchProfile(t *testing.T) {
	h := newHouse(t)
	h.write(filepath.Join(h.dir, "root/profiles/gateway/rocketchat/channel.yaml"), "agent: {kind: echo}\n")
	for name, want := range map[string]string{"nobody": "rcsupervisor add nobody --server URL", "../x": "rcsupervisor status"} {
		_, err := h.People(t.Context(), Operator, name, PersonWish{})
		if !errors.Is(err, ErrNoProfile) || h.hintOf(err) != want {
			t.Errorf("%s: %v, %s", name, err, Hint(err))
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.People(canceled, Operator, "alice", PersonWish{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An owner brings bots into homes of his own, and makes such homes, as himself;
// of others' names he learns nothing.
func TestAnOwnerAddsToHisOwn(t *testing.T) {
	ownertest.NeedRoot(t)
	h := newHouse(t)
	must(t, os.Chmod(h.dir, 0o755))
	must(t, os.Chmod(filepath.Dir(h.dir), 0o755))
	for name, uid := range map[string]int{"a": ownertest.Alice, "b": ownertest.Bob} {
		must(t, os.Mkdir(filepath.Join(h.dir, name), 0o755))
		must(t, os.Chown(filepath.Join(h.dir, name), uid, uid))
	}
	h.Sources.Roots = []profile.Root{{Dir: h.dir + "/a", Prefix: "ann"}, {Dir: h.dir + "/b", Prefix: "ben"}}
	alice := Caller{UID: ownertest.Alice}
	for _, name := range []string{"ann", "ann-x"} {
		added, err := h.Add(t.Context(), alice, name, h.addition(h.ada))
		if err != nil || !added.MadeFile {
			t.Errorf("%s: %+v, %v", name, added, err)
		}
	}
	must(t, filepath.WalkDir(h.dir+"/a", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			info, _ := d.Info()
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != ownertest.Alice {
				t.Errorf("%s belongs to %d", path, uid)
			}
		}
		return err
	}))
	_, err := h.Add(t.Context(), Operator, "ben", h.addition(h.bob))
	must(t, err)
	want := ""
	for _, name := range []string{"ben", "ben-y", "nobody", "ann-"} {
		for what, err := range map[string]error{
			"add":    second(h.Add(t.Context(), alice, name, h.addition(h.ada))),
			"import": second(h.Import(t.Context(), alice, name, ImportWish{})),
		} {
			got := strings.ReplaceAll(err.Error(), name+",", "NAME,") + " try: " + h.hintOf(err)
			if want == "" {
				want = got
			}
			if !errors.Is(err, ErrNoProfile) || got != want || !strings.HasSuffix(got, "try: rcsupervisor add ann-NAME --server URL") {
				t.Errorf("%s %s: %s", what, name, got)
			}
		}
	}
}

// Whoever comes to own a home does not come to own what is remembered of its
// name: that is for an operator to give him.
func TestANamesPastIsNotItsNewOwners(t *testing.T) {
	h := newHouse(t)
	h.add("alice", h.ada)
	h.prove("alice", h.ada, 1)
	e := h.entry("alice")
	e.Owner, e.Suspended = os.Geteuid()+1, true
	must(t, h.Names.Change("alice", &e))
	me := Caller{UID: os.Geteuid()}
	for what, err := range map[string]error{
		"add":    second(h.Add(t.Context(), me, "alice", h.addition(h.ada))),
		"import": second(h.Import(t.Context(), me, "alice", ImportWish{})),
		"remove": second(h.Remove(t.Context(), me, "alice", RemoveWish{})),
	} {
		if !errors.Is(err, ErrNotYours) || h.hintOf(err) != "sudo rcsupervisor adopt alice" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := h.entry("alice"); !got.Suspended || got.Owner != e.Owner {
		t.Errorf("%+v", got)
	}
	if _, err := h.Adopt(t.Context(), Operator, "alice"); err != nil {
		t.Error(err)
	}
	if _, err := h.Add(t.Context(), me, "alice", h.addition(h.ada)); err != nil {
		t.Error("after it was adopted:", err)
	}
}

// Who else has a bot is told by name only to whom that profile is known.
func TestHoldersOfOthersHaveNoName(t *testing.T) {
	h := newHouse(t)
	for _, name := range []string{"mine", "his", "alice"} {
		h.add(name, h.ada)
		h.prove(name, h.ada, 1)
	}
	e := h.entry("his")
	e.Owner = os.Geteuid() + 1
	must(t, h.Names.Change("his", &e))
	for _, c := range []struct {
		by   Caller
		want string
	}{{Operator, "his, mine"}, {Caller{UID: os.Geteuid()}, "another user's, mine"}} {
		got, err := h.Add(t.Context(), c.by, "alice", h.addition(h.ada))
		must(t, err)
		var said []string
		_, err = h.Check(t.Context(), c.by, "alice", func(f Finding) {
			if strings.Contains(f.Text, "another profile has this bot") {
				said = append(said, f.Text)
			}
		})
		must(t, err)
		if strings.Join(got.Holders, ", ") != c.want || len(said) != 1 || said[0] != "another profile has this bot: "+c.want {
			t.Errorf("%q, %q; want %s", got.Holders, said, c.want)
		}
	}
}

// An error that says nothing itself is mended by what the system said of it.
func TestHintOfTheSystem(t *testing.T) {
	for want, err := range map[string]error{
		"chmod u+rwx /a":                               &fs.PathError{Op: "mkdir", Path: "/a/b", Err: syscall.EACCES},
		"df -h /a, and free some of it":                fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "/a/b", Err: syscall.ENOSPC}),
		"findmnt -T /a, and mount it to be written to": &fs.PathError{Op: "open", Path: "/a/b", Err: syscall.EROFS},
		"": &fs.PathError{Op: "open", Path: "/a/b", Err: syscall.EACCES},
	} {
		if got := Hint(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

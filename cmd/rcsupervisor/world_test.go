package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// A world is a host of its own in a folder: an identity, a state directory, a
// root of homes, and a server. Verbs run in it within the test's process.
type world struct {
	t      *testing.T
	dir    string
	server *pretend.Server
	url    string
	ada    pretend.User
	owner  pretend.User
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "w"), server: pretend.New(pretend.Options{NoLimits: true})}
	var err error
	w.url, err = w.server.Listen("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { w.server.Close() })
	w.ada, w.owner = w.server.AddUser("ada", pretend.UserOptions{Bot: true}), w.server.AddUser("olivia", pretend.UserOptions{})
	must(t, os.MkdirAll(w.at("home"), 0o700))
	for name, value := range map[string]string{
		"HOME": w.at("home"), "RCSUPERVISOR_STATE_DIR": w.at("state"), "RCSUPERVISOR_SOCKET": w.at("c.sock"), "RCSUPERVISOR_ROOT": w.at("root"),
		"RCSUPERVISOR_CONFIG": w.at("host.yaml"), "HERMES_HOME": "", "RCSUPERVISOR_HOME": "", "RCSUPERVISOR_IDENTITY_FILE": "", "STATE_DIRECTORY": "",
		"RUNTIME_DIRECTORY": "", "CREDENTIALS_DIRECTORY": "",
	} {
		t.Setenv(name, value)
	}
	must(t, os.WriteFile(w.at("host.yaml"), []byte("allow_root: ["+w.at("root")+", "+w.at("root/profiles/*")+"]\n"), 0o600))
	w.works("", "init")
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) at(name string) string { return filepath.Join(w.dir, name) }

// run runs a verb and returns its exit code and all it printed.
func (w *world) run(stdin string, args ...string) (code int, printed string) {
	w.t.Helper()
	var out words
	code = run(w.t.Context(), append([]string{"rcsupervisor"}, args...), streams{strings.NewReader(stdin), &out, &out})
	return code, out.b.String()
}

// words are what is printed on both streams.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *world) works(stdin string, args ...string) string {
	w.t.Helper()
	code, out := w.run(stdin, args...)
	if code != 0 {
		w.t.Fatalf("%v: exit %d\n%s", args, code, out)
	}
	return out
}

func (w *world) add(name string) {
	w.t.Helper()
	w.works(w.ada.Token, "add", name, "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID)
}

// home is where a profile's home is.
func (w *world) home(name string) string { return w.at("root/profiles/" + name) }

// envelope opens a profile's envelope with the host's identity.
func (w *world) envelope(name string) (sealed.Envelope, error) {
	w.t.Helper()
	id, err := sealed.FindIdentity(sealed.Options{})
	must(w.t, err)
	data, err := os.ReadFile(filepath.Join(w.home(name), profile.Folder, profile.SealedFile))
	if err != nil {
		return sealed.Envelope{}, err
	}
	return sealed.Unseal(data, id, name)
}

// copyTree copies a folder with its modes.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), info.Mode().Perm())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, info.Mode().Perm())
	}))
}

// restore puts a copy in the world's place.
func (w *world) restore(from string) {
	w.t.Helper()
	must(w.t, os.RemoveAll(w.dir))
	copyTree(w.t, from, w.dir)
}

// secretRun is how many bytes of a secret make it known.
const secretRun = 8

// holdsRun reports whether text holds any run of a secret's bytes.
func holdsRun(text []byte, secrets ...string) bool {
	for _, s := range secrets {
		for i := 0; i+secretRun <= len(s); i++ {
			if bytes.Contains(text, []byte(s[i:i+secretRun])) {
				return true
			}
		}
	}
	return false
}

// files are the regular files of the world.
func (w *world) files() (paths []string) {
	w.t.Helper()
	must(w.t, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// noPlain fails for every file of the world, but those that may, that holds
// some of a secret.
func (w *world) noPlain(secrets []string, may ...string) {
	w.t.Helper()
	for _, path := range w.files() {
		if slices.Contains(may, path) {
			continue
		}
		data, err := os.ReadFile(path)
		must(w.t, err)
		if holdsRun(data, secrets...) {
			w.t.Errorf("%s holds a secret in plain text", path)
		}
	}
}

// whole fails unless everything in the world is whole: what is sealed opens,
// what is written down can be read.
func (w *world) whole() {
	w.t.Helper()
	root, err := os.OpenRoot(w.at("state"))
	must(w.t, err)
	defer root.Close()
	if _, err := profile.OpenLedger(root); err != nil {
		w.t.Error(err)
	}
	homes, err := filepath.Glob(w.at("root/profiles/*"))
	must(w.t, err)
	for _, home := range homes {
		name := filepath.Base(home)
		if _, err := w.envelope(name); err != nil && !os.IsNotExist(err) {
			w.t.Errorf("%s: %v", name, err)
		}
		folder := filepath.Join(home, profile.Folder)
		if data, err := os.ReadFile(filepath.Join(folder, profile.SettingsFile)); err == nil {
			if _, err := profile.ParseSettings("channel.yaml", data); err != nil {
				w.t.Error(err)
			}
		}
		if data, err := os.ReadFile(filepath.Join(folder, profile.AccessFile)); err == nil {
			if _, err := profile.ParseAccess("access.yaml", data); err != nil {
				w.t.Error(err)
			}
		}
	}
}

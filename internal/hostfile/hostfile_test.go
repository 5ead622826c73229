package hostfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rcsupervisor/profile"
)

const whole = `# A host of many.
roots:
  - {dir: "/home/*/.hermes", prefix: owner}
  - dir: /srv/hermes/
  - /opt/data
isolation: process
defaults:
  agent: {idle_stop: 1h}
  limits: {queue: 7}
servers: [https://Chat.Example.org:443/, http://127.0.0.1:3000]
allow_root: [/opt/data, /opt/data/profiles/*]
agents: {max: 12, starting: 3, kinds: [acp, echo]}
max:
  limits: {queue: 50, age: 1h}
`

func TestParse(t *testing.T) {
	f, err := Parse("host.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	defaults := profile.DefaultSettings()
	defaults.Agent.IdleStop, defaults.Limits.Queue = time.Hour, 7
	want := File{
		Roots:     []profile.Root{{Dir: "/home/*/.hermes", Prefix: "owner"}, {Dir: "/srv/hermes"}, {Dir: "/opt/data"}},
		Isolation: "process", Defaults: &defaults,
		Servers:   []string{"https://chat.example.org", "http://127.0.0.1:3000"},
		AllowRoot: []string{"/opt/data", "/opt/data/profiles/*"},
		Agents:    Agents{Max: 12, Starting: 3, Kinds: []string{"acp", "echo"}},
	}
	if d := cmp.Diff(want, f, cmpopts.IgnoreFields(File{}, "Ceilings")); d != "" {
		t.Error(d)
	}
	s := profile.DefaultSettings()
	s.Limits.Queue = 60
	if got, cut := f.Ceilings.Cap(s); got.Limits.Queue != 50 || len(cut) != 1 {
		t.Error(got.Limits, cut)
	}
	for home, want := range map[string]bool{
		"/opt/data": true, "/opt/data/profiles/x": true, "/opt/data/profiles/x/y": false, "/opt": false, "/home/a/.hermes": false,
	} {
		if got := f.Host().AllowRoot(home); got != want {
			t.Errorf("AllowRoot(%s) = %v", home, got)
		}
	}
	if !f.AllowsServer("https://chat.example.org") || f.AllowsServer("https://evil.example") || f.AllowsKind("exec") || !f.AllowsKind("echo") {
		t.Error("what the file permits is something else")
	}
}

func TestAFileThatSaysNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "~\n", "defaults:\nmax:\nagents:\n"} {
		f, err := Parse("f", []byte(text))
		if err != nil {
			t.Error(err)
		}
		if f.Roots != nil || !f.AllowsServer("https://x.example") || !f.AllowsKind("acp") || f.Host().AllowRoot("/x") {
			t.Errorf("%q: %+v", text, f)
		}
	}
	// An empty list is not a missing one: it permits nothing.
	f, err := Parse("f", []byte("servers: []\nagents: {kinds: []}\n"))
	if err != nil || f.AllowsServer("https://x.example") || f.AllowsKind("echo") {
		t.Error(f, err)
	}
}

func TestEveryMistakeHasItsLine(t *testing.T) {
	for in, want := range map[string]string{
		"root: [/x]\n":                                "f:1: unknown key; did you mean roots?",
		"x: 1\n":                                      "f:1: unknown key; here may stand agents, allow_root, defaults, isolation, max, roots, servers",
		"isolation: thread\n":                         "f:1: isolation: must be process or shared",
		"roots: /x\n":                                 "f:1: roots: must be a list",
		"roots:\n- x\n":                               "f:2: roots: must be an absolute path",
		"roots:\n- {dir: x}\n":                        "f:2: roots.dir: must be an absolute path",
		"roots:\n- {prefix: a}\n":                     "f:2: roots: an entry has no dir",
		"roots:\n- {dir: /x, prefix: A!}\n":           "f:2: roots.prefix: can't begin",
		"roots:\n- {dir: '/x[', prefix: a}\n":         "f:2: roots.dir: must be an absolute path",
		"roots:\n- [x]\n":                             "f:2: roots: must be a map",
		"agents: {max: 0}\n":                          "f:1: agents.max: must be a whole number",
		"agents: {max: '3'}\n":                        "f:1: agents.max: must be a whole number",
		"agents: {kinds: [runs]}\n":                   "f:1: agents.kinds: must be acp or exec or echo",
		"agents: 3\n":                                 "f:1: agents: must be a map",
		"servers: [http://chat.example.org]\n":        "f:1: servers: ",
		"servers: [3]\n":                              "f:1: servers: must be text",
		"allow_root: true\n":                          "f:1: allow_root: must be a list",
		"allow_root: [x]\n":                           "f:1: allow_root: must be an absolute path",
		"\ndefaults: {limits: {queue: 0}}\n":          "f:2: defaults.limits.queue: must be a whole number",
		"max: {reply: same}\n":                        "f:1: max.reply: has no ceiling",
		"isolation: a\nisolation: b\n":                "f:2: isolation: stands twice",
		"a: &x 1\n":                                   "anchors and aliases",
		"[]\n":                                        "f:1: must be a map",
		"agents: {max: 0}\nisolation: x\nrotos: []\n": "f:1: agents.max: must be a whole number from 1 to 100000\nf:2: isolation: must be process or shared\nf:3: unknown key; did you mean roots?",
	} {
		if _, err := Parse("f", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", in, err, want)
		}
	}
}

func TestReadTrustsNobodyElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "host.yaml")
	if _, err := Read(path); !os.IsNotExist(unwrapAll(err)) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(path + ".link"); err != nil || f.Isolation != "process" {
		t.Error(f, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "may be written by others") {
		t.Error(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65533, 65533); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "belongs to uid 65533") {
			t.Error(err)
		}
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

// Whatever stands in the file, it is refused or read, within bounds, and no
// error quotes it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("servers: [hunter2hunter2]\nagents: {kinds: hunter2hunter2}\n"))
	f.Add([]byte("roots: [{dir: hunter2hunter2, prefix: hunter2hunter2}]\nmax: {limits: {queue: hunter2hunter2}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("f", data)
		if err != nil && strings.Contains(string(data), "hunter2hunter2") && strings.Contains(err.Error(), "hunter2hunter2") {
			t.Errorf("%q is quoted: %v", data, err)
		}
	})
}

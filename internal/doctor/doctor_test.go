package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/internal/enroll"
	"rcsupervisor/internal/hostfile"
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

// A ward is a host to look over.
type ward struct {
	Host
	t        *testing.T
	dir      string
	recovery string
}

func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{t: t, dir: t.TempDir()}
	for _, dir := range []string{"root/profiles", "state", "proc/sys/fs/inotify"} {
		must(t, os.MkdirAll(w.at(dir), 0o700))
	}
	w.number("max_user_watches", 500_000)
	w.number("max_user_instances", 128)
	state, err := os.OpenRoot(w.at("state"))
	must(t, err)
	t.Cleanup(func() { state.Close() })
	var key sealed.Secret
	key, w.recovery, err = sealed.GenerateKey()
	must(t, err)
	if key.Empty() {
		t.Fatal("no key")
	}
	host, err := hostfile.Parse("host", fmt.Appendf(nil, "allow_root: [%q, %q]\n", w.at("root"), w.at("root/profiles/*")))
	must(t, err)
	identity := sealed.Options{File: w.at("identity.txt"), Getenv: func(string) string { return "" }}
	w.Host = Host{
		StateDir: w.at("state"), Socket: w.at("c.sock"), Proc: w.at("proc"),
		Desk: &enroll.Desk{
			Sources: profile.Sources{Roots: []profile.Root{{Dir: w.at("root")}}}, Host: host, State: state, Book: &people.Book{Dir: w.at("state")},
			Names: enroll.LedgerIn(state), Identity: identity,
			Keys: func() (*sealed.Keyring, error) { return sealed.FindKeyring(identity, false) },
		},
	}
	return w
}

func (w *ward) at(name string) string { return filepath.Join(w.dir, name) }

func (w *ward) number(name string, n int) {
	must(w.t, os.WriteFile(w.at("proc/sys/fs/inotify/"+name), fmt.Appendln(nil, n), 0o600))
}

func (w *ward) write(name, text string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	must(w.t, os.WriteFile(w.at(name), []byte(text), 0o600))
}

// settle makes an identity, with a recovery key.
func (w *ward) settle() {
	w.t.Helper()
	_, err := sealed.Init(sealed.InitOptions{Path: w.at("identity.txt"), Recovery: []string{w.recovery}, Options: w.Desk.Identity})
	must(w.t, err)
}

// add seals a bot of its own for each name, unchecked.
func (w *ward) add(name, bot string) {
	w.t.Helper()
	_, err := w.Desk.Add(w.t.Context(), enroll.Operator, name, enroll.Addition{
		Server: "https://chat.example.org", UserID: bot, Token: enroll.Plain{Secret: sealed.NewSecret("a-token-of-" + name)}, Unchecked: true,
	})
	must(w.t, err)
}

// examine returns the findings as lines.
func (w *ward) examine() (good bool, text string) {
	w.t.Helper()
	var b strings.Builder
	good, err := Examine(w.t.Context(), w.Host, func(f enroll.Finding) {
		mark := "FAIL"
		switch {
		case f.OK:
			mark = "ok"
		case f.Warn:
			mark = "warn"
		}
		if mark != "ok" && f.Try == "" {
			w.t.Errorf("nothing mends %+v", f)
		}
		fmt.Fprintf(&b, "%s %s: %s [%s]\n", mark, f.What, f.Text, f.Try)
	})
	must(w.t, err)
	return good, b.String()
}

func TestAHealthyHost(t *testing.T) {
	w := newWard(t)
	w.settle()
	w.add("alice", "bot1")
	w.add("bob", "bot2")
	l, err := net.Listen("unix", w.Socket)
	must(t, err)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 100))
			_, _ = c.Write([]byte("HTTP/1.0 200 OK\r\n\r\n"))
			c.Close()
		}
	}()
	good, text := w.examine()
	if !good {
		t.Error("something is wrong:", text)
	}
	for _, want := range []string{"ok identity: ", "(hybrid)", "ok recipients: 2", "ok state: ", "ok supervisor: answers", "ok homes: 2", "ok inotify: ", "ok files: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "FAIL") || strings.Contains(text, "a-token") {
		t.Error(text)
	}
}

// findings are the things that can be wrong with a host.
var findings = []struct {
	what string
	do   func(w *ward)
	good bool
	want string
}{
	{"no identity", func(w *ward) { must(w.t, os.Remove(w.at("identity.txt"))) }, false, "FAIL identity: "},
	{"an identity others may read", func(w *ward) { must(w.t, os.Chmod(w.at("identity.txt"), 0o644)) }, false, "FAIL identity: "},
	{"no recovery key", func(w *ward) {
		must(w.t, os.Remove(w.at("recipients.txt")))
		_, err := sealed.Init(sealed.InitOptions{Path: w.at("identity.txt"), Options: w.Desk.Identity})
		must(w.t, err)
	}, true, "warn recipients: only this host"},
	{"no recipients", func(w *ward) { must(w.t, os.Remove(w.at("recipients.txt"))) }, false, "FAIL recipients: "},
	{"recipients without us", func(w *ward) { w.write("recipients.txt", w.recovery+"\n") }, false, "FAIL recipients: "},
	{"a change of identity that was not ended", func(w *ward) {
		_, err := sealed.StartRotation(w.Desk.Identity)
		must(w.t, err)
	}, true, "a change of the identity was begun and not ended [rcsupervisor reseal --all --new-identity]"},
	{"a state directory others may write to", func(w *ward) { must(w.t, os.Chmod(w.at("state"), 0o777)) }, false, "others may write to"},
	{"no state directory", func(w *ward) { w.StateDir = w.at("nowhere") }, false, "FAIL state: "},
	{"an interrupted reseal", func(w *ward) { w.write("state/reseal.journal", "x") }, false, "a reseal was interrupted"},
	{"a lost ledger", func(w *ward) {
		w.write("state/ledger.json", "x")
		w.write("state/ledger.previous.json", "x")
	}, false, "FAIL ledger: "},
	{"a damaged ledger", func(w *ward) {
		for range 2 {
			for _, name := range []string{"alice", "bob"} {
				e := profile.NewEntry(profile.Claim{Path: w.at(name), Server: "s"})
				must(w.t, w.Desk.Names.Change(name, &e))
			}
		}
		w.write("state/ledger.json", "x")
	}, true, "warn ledger: "},
	{"a leftover", func(w *ward) {
		w.write("state/.rcsupervisor-1.tmp", "")
		must(w.t, os.Chtimes(w.at("state/.rcsupervisor-1.tmp"), time.Time{}, time.Now().Add(-time.Hour)))
	}, true, "warn stale: "},
	{"a socket nobody answers on", func(w *ward) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.Socket})
		must(w.t, err)
		l.SetUnlinkOnClose(false)
		l.Close()
	}, true, "one that was killed left"},
	{"a supervisor that hangs", func(w *ward) {
		l, err := net.Listen("unix", w.Socket) // the kernel takes connections in; nobody else does
		must(w.t, err)
		patience := answerWithin
		answerWithin = 50 * time.Millisecond
		w.t.Cleanup(func() {
			l.Close()
			answerWithin = patience
		})
	}, false, fmt.Sprintf("and does not answer [kill -KILL %d, then rcsupervisor run]", os.Getpid())},
	{"something else in its place", func(w *ward) { w.write("c.sock", "") }, false, "FAIL supervisor: something that is no socket lies at"},
	{"nobody", func(*ward) {}, true, "warn supervisor: none runs"},
	{"a broken home", func(w *ward) { w.write("root/profiles/x/rocketchat/channel.yaml", "agent: 3\n") }, false, "FAIL home: x: "},
	{"a name that is taken", func(w *ward) { w.write("root/profiles/test/rocketchat/channel.yaml", "agent: {kind: echo}\n") }, true, "warn unnamed: "},
	{"a home without an envelope", func(w *ward) { w.write("root/profiles/x/rocketchat/channel.yaml", "agent: {kind: echo}\n") }, false, "x has no sealed credentials [rcsupervisor add x --server URL]"},
	{"a damaged envelope", func(w *ward) { w.write("root/profiles/alice/rocketchat/secrets.age", "x") }, false, "FAIL seal: "},
	{"another's envelope", func(w *ward) {
		data, err := os.ReadFile(w.at("root/profiles/alice/rocketchat/secrets.age"))
		must(w.t, err)
		w.write("root/profiles/x/rocketchat/channel.yaml", "agent: {kind: echo}\n")
		w.write("root/profiles/x/rocketchat/secrets.age", string(data))
	}, false, "FAIL seal: "},
	{"one bot twice", func(w *ward) { w.add("twin", "bot1") }, true, "one bot (bot1 on https://chat.example.org) is sealed for several: alice, twin [rcsupervisor remove twin]"},
	{"sealed for others", func(w *ward) {
		_, more, err := sealed.GenerateKey()
		must(w.t, err)
		_, err = sealed.Init(sealed.InitOptions{Path: w.at("identity.txt"), Recovery: []string{more}, Options: w.Desk.Identity})
		must(w.t, err)
	}, true, "names now: alice [rcsupervisor reseal --all]"},
	{"a token in .env", func(w *ward) { w.write("root/profiles/alice/.env", "ROCKETCHAT_TOKEN=x\n") }, false, "[rcsupervisor import alice --scrub]"},
	{"a token in a copy", func(w *ward) { w.write("root/profiles/alice/.env.bak", "ROCKETCHAT_TOKEN=x\n") }, false, "[shred -u "},
	{"two agents of one user", func(w *ward) {
		for _, name := range []string{"a", "b"} {
			w.add(name, "bot-"+name)
			w.write("root/profiles/"+name+"/rocketchat/channel.yaml", "agent: {kind: exec, command: [x]}\n")
		}
	}, true, "can read each other's homes: a, b"},
	{"few watches", func(w *ward) { w.number("max_user_watches", 20) }, true, "[sysctl fs.inotify.max_user_watches=524288]"},
	{"few instances", func(w *ward) { w.number("max_user_instances", 2) }, true, "[sysctl fs.inotify.max_user_instances=128]"},
	{"no inotify", func(w *ward) { must(w.t, os.RemoveAll(w.at("proc"))) }, true, "ok files: "},
}

// Each of them is found, with what mends it.
func TestFindings(t *testing.T) {
	for _, c := range findings {
		t.Run(c.what, func(t *testing.T) {
			w := newWard(t)
			w.settle()
			w.add("alice", "bot1")
			c.do(w)
			good, text := w.examine()
			if good != c.good || !strings.Contains(text, c.want) {
				t.Errorf("good %v, want %v and %q:\n%s", good, c.good, c.want, text)
			}
			if strings.Contains(text, "a-token-of") {
				t.Error("a finding holds a token")
			}
		})
	}
}

// It looks, and changes nothing.
func TestNothingIsChanged(t *testing.T) {
	w := newWard(t)
	w.settle()
	w.add("alice", "bot1")
	tree := func() string {
		var b strings.Builder
		must(t, filepath.Walk(w.dir, func(path string, info os.FileInfo, err error) error {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
			return err
		}))
		return b.String()
	}
	before := tree()
	w.examine()
	if after := tree(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestSome(t *testing.T) {
	names := strings.Split("a b c d e f g h i j k", " ")
	if got := some(names[:8]); got != "a, b, c, d, e, f, g, h" {
		t.Error(got)
	}
	if got := some(names); got != "a, b, c, d, e, f, g, h and 3 more" {
		t.Error(got)
	}
}

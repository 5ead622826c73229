package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rcsupervisor/internal/ownerfs/ownertest"
	"rcsupervisor/profile"
)

const alice, bob = ownertest.Alice, ownertest.Bob

// tenant makes a root of homes that belongs to a user, in a world that others
// may pass through.
func (w *world) tenant(name string, uid int) string {
	w.t.Helper()
	for dir := w.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(w.t, os.Chmod(dir, 0o755))
	}
	root := w.at(name)
	must(w.t, os.MkdirAll(root, 0o755))
	must(w.t, os.Chown(root, uid, uid))
	return root
}

// ownedBy fails for what below dir belongs to somebody else, or may be written
// by others.
func ownedBy(t *testing.T, dir string, uid int) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != uid || info.Mode().Perm()&0o022 != 0 && info.Mode().Type() == 0 {
			t.Errorf("%s belongs to %d, mode %v", path, st.Uid, info.Mode())
		}
		return nil
	}))
}

// As root every verb reads and writes a tenant's home as its owner.
func TestRootWorksAsTheOwner(t *testing.T) {
	ownertest.NeedRoot(t)
	w := newWorld(t)
	t.Setenv("RCSUPERVISOR_ROOT", "ann="+w.tenant("alice", alice)+":ben="+w.tenant("bob", bob))
	w.add("ann-x")
	w.works(w.ada.Token, "add", "ben", "--server", w.url, "--user-id", w.ada.ID, "--unchecked")
	w.works("sk-0123456789", "secret", "ann-x", "set", "KEY")
	w.works("", "people", "ann-x", "block", w.owner.ID)
	w.works("", "rooms", "ann-x", "on", "SOMEROOM")
	w.works("", "reseal", "--all")
	w.works("", "check", "ann-x")
	ownedBy(t, w.at("alice"), alice)
	ownedBy(t, w.at("bob"), bob)
	info, err := os.Stat(w.at("alice/profiles/x/rocketchat/secrets.age"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	env := w.at("alice/profiles/x/.env")
	must(t, os.WriteFile(env, []byte("A=1\nROCKETCHAT_TOKEN=\nROCKETCHAT_TEAM_ASKER_KEY=abcdefgh\n"), 0o600))
	must(t, os.Chown(env, alice, alice))
	w.works("", "import", "ann-x", "--scrub")
	w.works("", "remove", "ann-x", "--purge")
	ownedBy(t, w.at("alice"), alice)
	if _, err := os.Stat(w.at("alice/profiles/x/rocketchat")); err == nil {
		t.Error("it is still there")
	}
}

// An owner under a supervisor of root's brings bots into homes of his own, which
// the supervisor makes and seals for him; of others he learns nothing, and what
// he is told to try works.
func TestAnOwnerAddsOverTheSocket(t *testing.T) {
	ownertest.NeedRoot(t)
	w := newWorld(t)
	t.Setenv("RCSUPERVISOR_ROOT", "ann="+w.tenant("alice", alice)+":ben="+w.tenant("bob", bob))
	program := w.shared()
	daemon := w.command("", "run")
	var log words
	daemon.Stdout, daemon.Stderr = &log, &log
	must(t, daemon.Start())
	defer func() { _ = daemon.Process.Signal(syscall.SIGTERM); _ = daemon.Wait() }()
	awaitSocket(t, w.at("c.sock"))
	as := func(uid uint32, args ...string) (code int, out string) {
		cmd := exec.Command(program, args...)
		cmd.Args[0], cmd.Dir = "rcsupervisor", "/"
		// He has a home and a state directory of his own, and no identity.
		cmd.Env = []string{"HOME=/nonexistent", "RCSUPERVISOR_SOCKET=" + w.at("c.sock")}
		cmd.Stdin = strings.NewReader(w.ada.Token)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		said, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(said)
	}
	add := func(name string, more ...string) []string {
		return append([]string{"add", name, "--server", w.url, "--user-id", w.ada.ID, "--owner-id", w.owner.ID}, more...)
	}
	for _, name := range []string{"ann", "ann-new"} {
		if code, out := as(alice, add(name)...); code != 0 {
			t.Errorf("add %s: exit %d\n%s", name, code, out)
		}
		if code, out := as(alice, "check", name); code != 0 {
			t.Errorf("check %s: exit %d\n%s", name, code, out)
		}
	}
	ownedBy(t, w.at("alice"), alice)
	for _, name := range []string{"ben", "ben-new", "nobody", "default"} {
		code, out := as(alice, add(name)...)
		if want := "rcsupervisor: no such profile: " + name + ", and no folder of yours can hold it\ntry: rcsupervisor add ann-NAME --server URL\n"; code != exitNoProfile || out != want {
			t.Errorf("add %s: exit %d\n%s", name, code, out)
		}
	}
	code, out := as(65531, add("carl")...)
	if want := "rcsupervisor: no such profile: carl, and no folder here that could hold one is yours\ntry: sudo rcsupervisor add carl --server URL\n"; code != exitNoProfile || out != want {
		t.Errorf("exit %d\n%s", code, out)
	}
	// What he has is his to take out again, and nobody else's.
	if code, out := as(bob, "remove", "ann-new"); code != exitNoProfile {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out := as(alice, "remove", "ann-new"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	audit, err := os.ReadFile(w.at("state/audit.jsonl"))
	must(t, err)
	if n := strings.Count(string(audit), `"verb":"add"`); n != 7 || strings.Contains(string(audit), w.ada.Token) {
		t.Errorf("%d additions were noted:\n%s", n, audit)
	}
}

const rootsSecret = "only root may read this: 5f2b1c"

// Alice offers a file that only root may read, under every name that a verb
// reads or writes and by every means she has. It is never shown and never
// changed, and nothing hangs on a FIFO.
func TestRootsFileIsNeverReadForATenant(t *testing.T) {
	ownertest.NeedRoot(t)
	if unraced(t) {
		return
	}
	w := newWorld(t)
	t.Setenv("RCSUPERVISOR_ROOT", "ann="+w.tenant("alice", alice))
	w.add("ann")
	secret := w.at("secret")
	write := func(path, text string, mode fs.FileMode, uid int) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), mode))
		must(t, os.Chown(path, uid, uid))
	}
	write(secret, rootsSecret+"\n", 0o600, 0)
	home := w.at("alice")
	folder := filepath.Join(home, profile.Folder)
	means := map[string]func(path string){
		"link":        func(path string) { must(t, os.Symlink(secret, path)); must(t, os.Lchown(path, alice, alice)) },
		"hard link":   func(path string) { must(t, os.Link(secret, path)) },
		"fifo":        func(path string) { must(t, syscall.Mkfifo(path, 0o600)); must(t, os.Chown(path, alice, alice)) },
		"roots file":  func(path string) { write(path, rootsSecret, 0o600, 0) },
		"second name": func(path string) { must(t, os.Link(w.at("hers"), path)) },
	}
	write(w.at("hers"), "x", 0o600, alice)
	verbs := [][]string{
		{"import", "ann", "--scrub"},
		{"import", "ann", "--unchecked"},
		{"people", "ann", "let-in", w.owner.ID},
		{"rooms", "ann", "on", "ROOM"},
		{"secret", "ann", "set", "KEY"},
		{"secret", "ann"},
		{"check", "ann"},
		{"reseal", "ann"},
		{"adopt", "ann"},
		{"accept", "ann"},
		{"doctor"},
		{"add", "ann", "--server", w.url, "--user-id", w.ada.ID, "--unchecked", "--owner-id", w.owner.ID},
		{"remove", "ann"},
	}
	kept := filepath.Join(t.TempDir(), "kept")
	for _, name := range []string{".env", ".env.bak", "config.yaml", "rocketchat/channel.yaml", "rocketchat/access.yaml", "rocketchat/secrets.age", "rocketchat/state/lock", "rocketchat", "ca.pem"} {
		for how, offer := range means {
			for _, verb := range verbs {
				must(t, os.RemoveAll(kept))
				must(t, os.Rename(home, kept))
				copyOwned(t, kept, home)
				if name == "ca.pem" {
					write(filepath.Join(folder, "channel.yaml"), "agent: {kind: echo}\ntls: {ca_file: ca.pem}\n", 0o600, alice)
				}
				path := filepath.Join(home, name)
				must(t, os.RemoveAll(path))
				offer(path)
				began := time.Now()
				_, out := w.run(w.ada.Token, verb...)
				if strings.Contains(out, rootsSecret[:12]) {
					t.Errorf("%v shows root's file, offered as %s by %s:\n%s", verb, name, how, out)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("%v took %v with %s as %s", verb, took, name, how)
				}
				if data, err := os.ReadFile(secret); err != nil || string(data) != rootsSecret+"\n" {
					t.Fatalf("%v changed root's file, offered as %s by %s: %q, %v", verb, name, how, data, err)
				}
				info, err := os.Stat(secret)
				must(t, err)
				if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 || info.Mode().Perm() != 0o600 {
					t.Fatalf("%v gave root's file away: %d, %v", verb, st.Uid, info.Mode())
				}
				must(t, os.RemoveAll(home))
				must(t, os.Rename(kept, home))
			}
		}
	}
}

// copyOwned copies a tenant's folder with owners and modes.
func copyOwned(t *testing.T, from, to string) {
	t.Helper()
	copyTree(t, from, to)
	must(t, filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, alice, alice)
	}))
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/channel/prompt/asker"
)

func TestMain(m *testing.M) {
	dieWhenTold()
	lookWhenTold()
	testscript.Main(cleaned{m}, map[string]func(){"rcsupervisor": main})
}

// cleaned are tests with a program to start, which they leave nothing of.
type cleaned struct{ *testing.M }

func (c cleaned) Run() int {
	defer func() { os.RemoveAll(plainDir) }()
	if err := buildPlain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return c.M.Run()
}

// plainDir is where the program to start lies, "" for the test binary itself,
// which is the program when it is called so. With the race detector in it that
// takes half a second to start, so a test binary without it is built beside.
var plainDir string

func buildPlain() (err error) {
	if !raced {
		return nil
	}
	if plainDir, err = os.MkdirTemp("", "rcsupervisor-test-"); err != nil {
		return err
	}
	if out, err := exec.Command("go", "test", "-c", "-o", filepath.Join(plainDir, "rcsupervisor"), ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// unraced runs the calling test in the binary without the race detector, and
// reports that it did. For what kills many processes and opens many seals, and
// has nothing in it that could race.
func unraced(t *testing.T) bool {
	t.Helper()
	if !raced {
		return false
	}
	limit := 10 * time.Minute
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end)
	}
	cmd := exec.Command(binary(t), "-test.run=^"+t.Name()+"$", "-test.timeout="+limit.String())
	cmd.Args[0] = "tests" // called so it is no program
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") || strings.Contains(string(out), "no tests") {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// The verbs are tested by scripts, each with the real program, a home of its
// own and a pretend server of its own: $SERVER, with the bots ada and bob, the
// people olivia and gustav, and #lounge. What is secret there is in files, for
// a shell would show it; no script may print any of it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(4 * time.Minute),
		Setup: func(env *testscript.Env) error {
			if plainDir != "" {
				env.Setenv("PATH", plainDir+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			return setUpScript(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails":    scriptFails,
			"works":    scriptWorks,
			"tries":    scriptTries,
			"break":    scriptBreak,
			"revoke":   scriptRevoke,
			"roles":    scriptRoles,
			"columns":  scriptColumns,
			"awaits":   scriptAwaits,
			"makeenv":  scriptMakeEnv,
			"recovery": scriptRecovery,
			"signed":   scriptSigned,
			"old":      scriptOld,
			"roots":    scriptRoots,
			"holds":    scriptHolds,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
	})
}

// A scene is what a script plays in.
type scene struct {
	server  *pretend.Server
	secrets []string
	locks   map[string]*os.File
}

type sceneKey struct{}

func setUpScript(env *testscript.Env) error {
	server := pretend.New(pretend.Options{NoLimits: true})
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	env.Defer(func() { server.Close() })
	ada, bob := server.AddUser("ada", pretend.UserOptions{Bot: true}), server.AddUser("bob", pretend.UserOptions{Bot: true})
	olivia := server.AddUser("olivia", pretend.UserOptions{Name: "Olivia Owner"})
	gustav := server.AddUser("gustav", pretend.UserOptions{})
	lounge := server.AddChannel("lounge", ada, olivia, gustav)
	aside := server.AddGroup("aside", olivia)
	server.AddDirect(olivia, ada)
	env.Values[sceneKey{}] = &scene{server: server, locks: map[string]*os.File{}, secrets: []string{ada.Token, bob.Token, "sk-test-0123456789abcdef", "asker-key-0123456789"}}

	work := env.WorkDir
	home := filepath.Join(work, "home")
	for name, value := range map[string]string{
		"HOME": home, "RCSUPERVISOR_STATE_DIR": filepath.Join(work, "state"), "RCSUPERVISOR_SOCKET": filepath.Join(work, "control.sock"),
		"RCSUPERVISOR_CONFIG": filepath.Join(work, "host.yaml"), "SERVER": url, "ADA": ada.ID, "BOB": bob.ID, "OLIVIA": olivia.ID,
		"GUSTAV": gustav.ID, "LOUNGE": lounge.ID, "ASIDE": aside.ID, "PROFILES": filepath.Join(home, ".hermes", "profiles"),
	} {
		env.Setenv(name, value)
	}
	files := map[string]string{
		// Tests may run as root, whose homes run only where the host says so.
		"host.yaml": fmt.Sprintf("allow_root: [%q, %q]\n", filepath.Join(home, ".hermes"), filepath.Join(home, ".hermes", "profiles", "*")),
		"ada.token": ada.Token + "\n", "bob.token": bob.Token + "\n", "value.txt": "sk-test-0123456789abcdef\n", "asker.key": "asker-key-0123456789\n",
		"ada.paste":  fmt.Sprintf("Token: %s\nYour user Id: %s\n", ada.Token, ada.ID),
		"ada.dialog": fmt.Sprintf("Please save your token carefully as you will no longer be able to view it afterwards.\nToken: %s\nYour user Id: %s\n", ada.Token, ada.ID),
		"ada.lines":  fmt.Sprintf("%s\n%s\n", ada.ID, ada.Token), "swapped": fmt.Sprintf("%s\n%s\n", bob.Token, bob.ID),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.MkdirAll(home, 0o700)
}

// scriptFails runs the program, which has to fail as every error does: with
// this exit code, nothing on stdout, lines that begin with the program's name,
// a last line that begins with "try: ", and no secret.
func scriptFails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: fails CODE ARG...")
	}
	err := ts.Exec("rcsupervisor", args[1:]...)
	var code int
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s (%v)", code, args[0], err)
	}
	out, words := ts.ReadFile("stdout"), strings.TrimSuffix(ts.ReadFile("stderr"), "\n")
	if out != "" {
		ts.Fatalf("stdout is not empty")
	}
	lines := strings.Split(words, "\n")
	last := lines[len(lines)-1]
	if try, ok := strings.CutPrefix(last, "try: "); !ok || try == "" {
		ts.Fatalf("the last line is %q, not a try: line", last)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "rcsupervisor: ") {
			ts.Fatalf("a line is %q", line)
		}
	}
	if len(lines) < 2 {
		ts.Fatalf("nothing says what is wrong")
	}
	noSecret(ts)
}

// scriptWorks runs the program, which has to succeed without showing a secret.
func scriptWorks(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use fails")
	}
	ts.Check(ts.Exec("rcsupervisor", args...))
	noSecret(ts)
}

// scriptTries does what the last error said to try, which has to work as it
// stands there.
func scriptTries(ts *testscript.TestScript, _ bool, _ []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stderr"), "\n"), "\n")
	command, ok := strings.CutPrefix(lines[len(lines)-1], "try: ")
	if !ok {
		ts.Fatalf("nothing was said to try")
	}
	ts.Check(ts.Exec("sh", "-c", command))
	noSecret(ts)
}

func noSecret(ts *testscript.TestScript) {
	for _, file := range []string{"stdout", "stderr"} {
		for _, secret := range ts.Value(sceneKey{}).(*scene).secrets {
			if strings.Contains(ts.ReadFile(file), secret) {
				ts.Fatalf("%s shows a secret", file)
			}
		}
	}
}

// scriptBreak makes the server do something wrong: break KIND [ROUTE].
func scriptBreak(ts *testscript.TestScript, neg bool, args []string) {
	server := ts.Value(sceneKey{}).(*scene).server
	if neg {
		server.MendAll()
		return
	}
	f := pretend.Fault{Kind: pretend.Kind(args[0])}
	if len(args) > 1 {
		f.Route = args[1]
	}
	server.Break(f)
}

// scriptRevoke takes a bot's token back.
func scriptRevoke(ts *testscript.TestScript, _ bool, args []string) {
	server := ts.Value(sceneKey{}).(*scene).server
	u, ok := server.FindUser(args[0])
	if !ok {
		ts.Fatalf("no user %s", args[0])
	}
	server.RevokeTokens(u)
}

// scriptRoles gives a user other roles.
func scriptRoles(ts *testscript.TestScript, _ bool, args []string) {
	server := ts.Value(sceneKey{}).(*scene).server
	u, ok := server.FindUser(args[0])
	if !ok {
		ts.Fatalf("no user %s", args[0])
	}
	server.SetRoles(u, args[1:]...)
}

// scriptColumns fails when a line of what was printed has more than 80 columns.
func scriptColumns(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range []string{"stdout", "stderr"} {
		for line := range strings.Lines(strings.ReplaceAll(ts.ReadFile(file), ts.Getenv("WORK"), "/work")) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				ts.Fatalf("%s has a line of %d columns: %s", file, n, line)
			}
		}
	}
}

// scriptAwaits waits until something is on disk: awaits FILE.
func scriptAwaits(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 1000 {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s did not come", args[0])
}

// scriptMakeEnv writes a .env as a Rocket.Chat plugin for Hermes has it:
// makeenv FILE [BOT].
func scriptMakeEnv(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		return
	}
	name := "ada"
	if len(args) > 1 {
		name = args[1]
	}
	bot, _ := ts.Value(sceneKey{}).(*scene).server.FindUser(name)
	token := strings.TrimSpace(ts.ReadFile(name + ".token"))
	text := fmt.Sprintf(`# mine
OPENAI_API_KEY=other
ROCKETCHAT_URL=%s/
export ROCKETCHAT_USER_ID="%s"
ROCKETCHAT_TOKEN = '%s' # the bot's
ROCKETCHAT_ALLOWED_USERS=someone
ROCKETCHAT_TEAM_ASKER_KEY=asker-key-0123456789
`, ts.Getenv("SERVER"), bot.ID, token)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(text), 0o600))
}

// scriptRecovery adds the keys of another recipients.txt to the host's.
func scriptRecovery(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.Getenv("HOME"), ".config", "rcsupervisor", "recipients.txt")
	ts.Check(os.WriteFile(path, []byte(ts.ReadFile(path)+ts.ReadFile(args[0])), 0o644))
}

// scriptSigned puts an asker token of olivia's into $TOKEN: signed good, or
// signed expired.
func scriptSigned(ts *testscript.TestScript, _ bool, args []string) {
	when := time.Now()
	if args[0] == "expired" {
		when = when.Add(-time.Hour)
	}
	key := strings.TrimSpace(ts.ReadFile("asker.key"))
	ts.Setenv("TOKEN", asker.Sign([]byte(key), ts.Getenv("OLIVIA"), ts.Getenv("LOUNGE"), when))
}

// scriptOld makes a file that was left an hour ago.
func scriptOld(ts *testscript.TestScript, _ bool, args []string) {
	path, then := ts.MkAbs(args[0]), time.Now().Add(-time.Hour)
	ts.Check(os.WriteFile(path, nil, 0o600))
	ts.Check(os.Chtimes(path, then, then))
}

// scriptRoots writes a host file with a root of its own.
func scriptRoots(ts *testscript.TestScript, _ bool, args []string) {
	root := filepath.Join(ts.Getenv("WORK"), "elsewhere")
	text := fmt.Sprintf("roots: [%q]\nallow_root: [%q]\n", root, filepath.Join(root, "profiles", "*"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// scriptHolds locks a file as a process that uses it would, or lets go of it.
func scriptHolds(ts *testscript.TestScript, neg bool, args []string) {
	s, path := ts.Value(sceneKey{}).(*scene), ts.MkAbs(args[0])
	if neg {
		ts.Check(s.locks[path].Close())
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	ts.Check(err)
	ts.Check(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	s.locks[path] = f
}

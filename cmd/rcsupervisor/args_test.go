package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

func testApp() *cli.App { return newApp(streams{os.Stdin, os.Stdout, os.Stderr}) }

// Flags may stand before and after the verb and its arguments.
func TestOrder(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"check alice":                   "check -- alice",
		"check alice --json":            "check --json -- alice",
		"--json check alice":            "check --json -- alice",
		"check --json alice":            "check --json -- alice",
		"--root /r check alice":         "--root /r check -- alice",
		"check --root /r alice":         "--root /r check -- alice",
		"check alice --root=/r":         "--root=/r check -- alice",
		"check alice --root /r --json":  "--root /r check --json -- alice",
		"-json check alice":             "check -json -- alice",
		"add a --server URL":            "add --server URL -- a",
		"add a --server=URL --force":    "add --server=URL --force -- a",
		"add a --server U -- cmd -x":    "add --server U -- a cmd -x",
		"add a -- cmd --server U":       "add -- a cmd --server U",
		"add -- a --force":              "add -- a --force",
		"add a --token-file - ":         "add --token-file - -- a",
		"secret a set K":                "secret -- a set K",
		"start a b c --wait":            "start --wait -- a b c",
		"start --spread 10m a --all":    "start --spread 10m --all -- a",
		"check --help alice --json":     "check --help",
		"check alice -h":                "check --help",
		"--help check":                  "check --help",
		"--help":                        "--help",
		"--version":                     "--version",
		"help":                          "--help",
		"help check":                    "check --help",
		"help check alice --json":       "check --help",
		"--root help help check":        "check --help",
		"check help":                    "check -- help",
		"check - alice":                 "check -- - alice",
		"--identity-fd 3 check alice":   "--identity-fd 3 check -- alice",
		"check alice --identity-fd 3":   "--identity-fd 3 check -- alice",
		"--root check check alice":      "--root check check -- alice",
		"rooms a on R --no-mention":     "rooms --no-mention -- a on R",
		"people a owner -- -id-of-dash": "people -- a owner -id-of-dash",
	} {
		out, err := order(testApp(), append([]string{"rcsupervisor"}, strings.Fields(in)...))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if d := cmp.Diff(strings.Fields("rcsupervisor "+want), out); d != "" {
			t.Errorf("%q:\n%s", in, d)
		}
	}
	for in, want := range map[string]string{
		"chek alice":            `no such verb "chek": did you mean "check"?`,
		"--root /r stauts":      `no such verb "stauts": did you mean "status"?`,
		"xyzzy":                 `no such verb "xyzzy"`,
		"check alice --root":    "flag --root needs a value",
		"add a --server":        "flag --server needs a value",
		"--root":                "flag --root needs a value",
		"add a --token-file":    "flag --token-file needs a value",
		"check --identity-fd":   "flag --identity-fd needs a value",
		"channle --root /r a b": `no such verb "channle"`,
		"hepl":                  `no such verb "hepl": did you mean "help"?`,
		"help chek":             `no such verb "chek": did you mean "check"?`,
		"--no-such check alice": "no such flag --no-such of check",
		"check --jsn alice":     "no such flag --jsn of check: did you mean --json?",
		"check --rot=/r alice":  "no such flag --rot of check: did you mean --root?",
		"status --watc":         "no such flag --watc of status: did you mean --watch?",
		"--jsn":                 "no such flag --jsn",
		"check -x":              "no such flag -x of check",
		"check --token=secret":  "no such flag --token of check",
		"wait a --timeout 5":    `flag --timeout: "5" is no time, such as 30s or 10m`,
		"wait a --timeout=-1s":  `flag --timeout: "-1s" is no time, such as 30s or 10m`,
		"--identity-fd x check": `flag --identity-fd: "x" is no number`,
		"check a --json=no":     "flag --json: it takes no value",
		"add a --Zq3vT8mK1xW9pL5nR2sY7uB4cD6fG0hJkEoAaIiUuVw": "there is no such flag",
	} {
		if _, err := order(testApp(), append([]string{"rcsupervisor"}, strings.Fields(in)...)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// What order returns, the flag parser understands as it was meant: nothing is
// lost, and everything after -- is an argument.
func FuzzOrder(f *testing.F) {
	f.Add("check alice --json")
	f.Add("--root=/x add a --server U -- cmd -x --force")
	f.Add("- -- --- =")
	f.Fuzz(func(t *testing.T, line string) {
		argv := append([]string{"rcsupervisor"}, strings.Fields(line)...)
		out, err := order(testApp(), argv)
		if err != nil {
			return
		}
		if len(out) > len(argv)+1 {
			t.Errorf("%q became longer: %q", argv, out)
		}
		help := strings.Contains(line, "-h")
		if _, word := verbIn(testApp(), argv[1:]); word != "" && !help && len(out) < len(strings.Fields(strings.ReplaceAll(" "+line+" ", " -- ", " "))) {
			t.Errorf("%q lost something: %q", argv, out)
		}
	})
}

// Every verb explains itself with an example, within 80 columns, and says how
// it is called.
func TestEveryVerbExplainsItself(t *testing.T) {
	for _, c := range testApp().Commands {
		if c.Hidden {
			continue
		}
		var out strings.Builder
		if code := run(t.Context(), []string{"rcsupervisor", c.Name, "--help"}, streams{os.Stdin, &out, &out}); code != 0 {
			t.Errorf("%s --help: exit %d", c.Name, code)
		}
		text := out.String()
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("%s --help has a line of %d columns: %s", c.Name, n, line)
			}
		}
		if !strings.Contains(text, "usage: rcsupervisor "+c.Name) || !strings.Contains(text, "   rcsupervisor ") {
			t.Errorf("%s --help has no usage or no example:\n%s", c.Name, text)
		}
	}
}

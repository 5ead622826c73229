package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rcsupervisor/internal/hostfile"
	"rcsupervisor/profile"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	return string(text)
}

// blocks are the README's blocks in a language, "" for those in none.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	const fence = "```"
	var all []string
	text, open := "", false
	for line := range strings.Lines(readme(t)) {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), fence)
		switch {
		case isFence && open:
			all, open, text = append(all, text), false, ""
		case isFence:
			open, text = true, mark+"\n"
		case open:
			text += line
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, language+"\n") })
	if len(all) == 0 {
		t.Fatalf("the README has no block of %q", language)
	}
	return all
}

// The README's reference of keys is made from the table that validation uses.
func TestReadmeHoldsTheKeyReference(t *testing.T) {
	if !strings.Contains(readme(t), profile.Reference()) {
		t.Errorf("README.md does not hold the reference as it is now:\n%s", profile.Reference())
	}
}

// Every call of the program in a block of the README is one that is understood:
// the verb and its flags are there.
func TestReadmeCallsWhatThereIs(t *testing.T) {
	calls := 0
	for _, b := range blocks(t, "") {
		for line := range strings.Lines(b) {
			call, _, _ := strings.Cut(line, " #")
			_, call, ok := strings.Cut(call, "rcsupervisor ")
			if !ok || strings.HasPrefix(line, "go ") && !strings.Contains(line, "cmd/rcsupervisor") {
				continue
			}
			calls++
			if _, err := order(testApp(), append([]string{"rcsupervisor"}, strings.Fields(call)...)); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
			}
		}
	}
	if calls < 15 {
		t.Errorf("only %d calls were found", calls)
	}
}

// Its host file is one.
func TestReadmeHostFile(t *testing.T) {
	f, err := hostfile.Parse("host.yaml", []byte(strings.TrimPrefix(blocks(t, "yaml")[0], "yaml")))
	must(t, err)
	if len(f.Roots) != 1 || f.Roots[0].Prefix != profile.OwnerPrefix || f.Agents.Max == 0 || f.Defaults == nil {
		t.Errorf("%+v", f)
	}
}

// Its unit is one that systemd understands, and that starts this program with
// flags it has.
func TestReadmeUnit(t *testing.T) {
	unit := strings.TrimPrefix(blocks(t, "ini")[0], "ini")
	start := regexp.MustCompile(`(?m)^ExecStart=\S*/rcsupervisor (.*)$`).FindStringSubmatch(unit)
	if start == nil {
		t.Fatal("it starts nothing")
	}
	if _, err := order(testApp(), append([]string{"rcsupervisor"}, strings.Fields(start[1])...)); err != nil {
		t.Error(err)
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not here, so that systemd was not asked")
		return
	}
	self, err := os.Executable()
	must(t, err)
	path := filepath.Join(t.TempDir(), "rcsupervisor.service")
	unit = strings.Replace(unit, "/usr/local/bin/rcsupervisor ", self+" ", 1)
	must(t, os.WriteFile(path, []byte(unit+"\n"), 0o644))
	if out, err := exec.Command(verify, "verify", path).CombinedOutput(); err != nil || strings.Contains(string(out), path) {
		t.Errorf("%v: %s", err, out)
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// Homes may have any name that a file system allows: it works, nothing in it is
// taken for a command, and a terminal is not made to obey it.
func TestOddHomes(t *testing.T) {
	if unraced(t) {
		return
	}
	w := newWorld(t)
	long := strings.Repeat("/"+strings.Repeat("d", 250), 14)
	for _, odd := range []string{"with space", "with\nnewline", "quote'\"$(touch PWNED)`touch PWNED`", "-dash", "\xff\xfe", "red\x1b[31m", "=", "*", long} {
		dir := w.at("odd/" + odd)
		must(t, os.MkdirAll(dir, 0o755))
		args := []string{"--home", "odd=" + dir}
		code, out := w.run(w.ada.Token, append(args, "add", "odd", "--server", w.url, "--user-id", w.ada.ID)...)
		if code != 0 || strings.Contains(out, "\x1b") {
			t.Errorf("%.40q: exit %d\n%.400q", odd, code, out)
		}
		if code, out := w.run("", append(args, "check", "odd")...); os.Geteuid() != 0 && code != 0 || strings.Contains(out, "\x1b") {
			t.Errorf("%.40q: exit %d\n%.400q", odd, code, out)
		}
		if code, out := w.run("", append(args, "remove", "odd", "--purge")...); code != 0 || strings.Contains(out, "\x1b") {
			t.Errorf("%.40q: exit %d\n%.400q", odd, code, out)
		}
	}
	for _, path := range w.files() {
		if strings.HasSuffix(path, "PWNED") {
			t.Error(path)
		}
	}
}

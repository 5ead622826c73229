package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/internal/ownerfs"
	"rcsupervisor/profile"
)

// tls.ca_file is read only where the home's owner could read it himself.
func TestOnlyTheOwnersRootsAreRead(t *testing.T) {
	home := t.TempDir()
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "ca.pem")
	if err := os.WriteFile(file, []byte("PEM"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := profile.Reading{Profile: profile.Profile{Home: home, Owner: os.Geteuid()}}
	for _, path := range []string{file, "ca.pem"} {
		if data, err := readCA(t.Context(), r, path); err != nil || string(data) != "PEM" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if _, err := readCA(t.Context(), r, "absent.pem"); err == nil || strings.Contains(hintOf(err), "chown") {
		t.Errorf("absent: %v, try %q", err, hintOf(err))
	}
	r.Owner++
	_, err := readCA(t.Context(), r, file)
	if !errors.Is(err, ownerfs.ErrForeign) || !strings.HasPrefix(hintOf(err), "cp ") {
		t.Errorf("another's file: %v, try %q", err, hintOf(err))
	}
	if data, err := readCA(t.Context(), r, ""); data != nil || err != nil {
		t.Errorf("none: %q, %v", data, err)
	}
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

package ownertest

import (
	"os"
	"testing"
)

// Two tenants. The host need not know them.
const (
	Alice = 65533
	Bob   = 65532
)

// NeedRoot is for what only root can set up. Where a skip would hide that a
// rule was never tried, in CI, it fails.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("this test must run as root")
	}
	t.Skip("this test must run as root: what holds between two users was not tried")
}

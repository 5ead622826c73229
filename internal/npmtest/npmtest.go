package npmtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Install has npm install what package-lock.json in the folder from locks, and
// returns where it lies. It is kept in the user's cache under the folder's name:
// npm is asked again only when the lock is another. Several processes may ask at
// one time.
func Install(from string) (dir string, err error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "rcsupervisor-tests", filepath.Base(from))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	one, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer one.Close()
	if err := syscall.Flock(int(one.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return "", err
	}
	marker := filepath.Join(dir, "installed.json")
	if have, err := os.ReadFile(marker); err == nil && bytes.Equal(have, lock) {
		return dir, nil
	}
	if err := install(from, dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(marker, lock, 0o600)
}

// install has npm put exactly what the lock says into dir. A download that
// fails is tried twice.
func install(from, dir string) (err error) {
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	var out []byte
	for range 2 {
		npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
		npm.Dir = dir
		if out, err = npm.CombinedOutput(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("npm ci: %w\n%s", err, out)
}

// Modules is the folder of the modules that Install installs. Without node, npm
// or a registry it says so and returns "", and with CI=true the test fails.
func Modules(t testing.TB, from string) string {
	t.Helper()
	dir, err := Install(from)
	switch {
	case err == nil:
		return filepath.Join(dir, "node_modules")
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Logf("NOT TESTED against programs that others wrote: %v", err)
	return ""
}

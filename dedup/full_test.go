package dedup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	children["full"] = inSmallDisk(fullDisk)
	children["full from the start"] = inSmallDisk(fullFromTheStart)
	children["read-only"] = inSmallDisk(readOnly)
	children["limit"] = fileLimit
}

// inNamespace runs a child in a mount namespace of its own, where it may mount
// and nobody sees it.
func inNamespace(t *testing.T, name string) {
	t.Helper()
	child := exec.Command(os.Args[0], t.TempDir())
	child.Env = append(os.Environ(), childEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if err == nil {
		return
	}
	if strings.Contains(string(out), errCantMount.Error()) || errors.Is(err, os.ErrPermission) ||
		errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) { // no namespaces to be had
		if os.Getenv("CI") == "true" {
			t.Fatalf("this host can't mount a small disk: %v %s", err, out)
		}
		t.Skipf("NOT RUN: this host can't mount a small disk in a namespace: %v %s", err, out)
	}
	t.Fatalf("%v\n%s", err, out)
}

var errCantMount = errors.New("can't mount a small disk")

func inSmallDisk(test func(folder string) error) func([]string) error {
	return func(args []string) error {
		if err := unix.Mount("tmpfs", args[0], "tmpfs", 0, "size=384k"); err != nil {
			return fmt.Errorf("%w: %w", errCantMount, err)
		}
		return test(args[0])
	}
}

func TestDiskFull(t *testing.T)             { t.Parallel(); inNamespace(t, "full") }
func TestDiskFullFromTheStart(t *testing.T) { t.Parallel(); inNamespace(t, "full from the start") }
func TestReadOnlyFolder(t *testing.T)       { t.Parallel(); inNamespace(t, "read-only") }

// fillUp writes a file until there is no room, and returns how to make room.
func fillUp(folder string) (free func() error, err error) {
	name := filepath.Join(folder, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return func() error { return os.Remove(name) }, nil
		}
	}
}

// untilFull claims until it can't, and checks what then still works.
func untilFull(db *DB) (claimed int, err error) {
	ctx := context.Background()
	for {
		fresh, err := db.Claim(ctx, question(claimed))
		if err != nil {
			if fresh || !errors.Is(err, ErrReadOnly) {
				return 0, fmt.Errorf("claim %d = %v, %w", claimed, fresh, err)
			}
			break
		}
		if claimed++; claimed > 100_000 {
			return 0, errors.New("it never got full")
		}
	}
	for range 3 {
		if fresh, err := db.Claim(ctx, question(claimed)); fresh || !errors.Is(err, ErrReadOnly) {
			return 0, fmt.Errorf("a claim on a full disk = %v, %w", fresh, err)
		}
	}
	return claimed, checkClaimed(db, claimed)
}

// checkClaimed checks that exactly the first n questions are known, and open.
func checkClaimed(db *DB, n int) error {
	for i := range n + 1 {
		if state, known := db.Known(id(i)); known != (i < n) || known && state != Claimed {
			return fmt.Errorf("question %d of %d is %s", i, n, state)
		}
	}
	if n > 0 {
		if fresh, err := db.Claim(context.Background(), question(n-1)); fresh || err != nil {
			return fmt.Errorf("claim of a known one = %v, %w", fresh, err)
		}
	}
	open := 0
	for _, err := range db.Open(context.Background()) {
		if err != nil {
			return err
		}
		open++
	}
	if open != n {
		return fmt.Errorf("%d open, want %d", open, n)
	}
	return nil
}

func openIn(folder string) (*DB, error) {
	return Open(filepath.Join(folder, "dedup.db"), Options{Bot: bot})
}

// goesOn checks that a store works again, now and after a restart.
func goesOn(db *DB, folder string, claimed int) error {
	if fresh, err := db.Claim(context.Background(), question(claimed)); !fresh || err != nil {
		return fmt.Errorf("claim once there is room = %v, %w", fresh, err)
	}
	if err := db.Trouble(); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	again, err := openIn(folder)
	if err != nil {
		return err
	}
	if at := again.Quarantined(); at != "" {
		return fmt.Errorf("a full disk damaged the file: %s", at)
	}
	return errors.Join(checkClaimed(again, claimed+1), again.Close())
}

func fullDisk(folder string) error {
	if err := os.WriteFile(filepath.Join(folder, "room"), make([]byte, 128<<10), 0o600); err != nil {
		return err
	}
	db, err := openIn(folder)
	if err != nil {
		return err
	}
	claimed, err := untilFull(db)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(folder, "room")); err != nil {
		return err
	}
	return goesOn(db, folder, claimed)
}

func fullFromTheStart(folder string) error {
	free, err := fillUp(folder)
	if err != nil {
		return err
	}
	db, err := openIn(folder)
	if err != nil {
		return err
	}
	if !errors.Is(db.Trouble(), ErrReadOnly) {
		return fmt.Errorf("trouble on a full disk: %w", db.Trouble())
	}
	if claimed, err := untilFull0(db); err != nil || claimed != 0 {
		return fmt.Errorf("%d claimed on a full disk: %w", claimed, err)
	}
	if err := free(); err != nil {
		return err
	}
	return goesOn(db, folder, 0)
}

// untilFull0 is untilFull for a store that holds nothing to give.
func untilFull0(db *DB) (int, error) {
	if fresh, err := db.Claim(context.Background(), question(0)); fresh || !errors.Is(err, ErrReadOnly) {
		return 1, fmt.Errorf("claim = %v, %w", fresh, err)
	}
	return 0, checkClaimed(db, 0)
}

func readOnly(folder string) error {
	remount := func(flags uintptr) error { return unix.Mount("", folder, "", unix.MS_REMOUNT|flags, "") }
	if err := remount(unix.MS_RDONLY); err != nil {
		return err
	}
	db, err := openIn(folder)
	if err != nil {
		return err
	}
	if _, err := untilFull0(db); err != nil {
		return err
	}
	if err := remount(0); err != nil {
		return err
	}
	if err := goesOn(db, folder, 0); err != nil {
		return err
	}
	if err := remount(unix.MS_RDONLY); err != nil {
		return err
	}
	if db, err = openIn(folder); err != nil {
		return err
	}
	if fresh, err := db.Claim(context.Background(), question(1)); fresh || !errors.Is(err, ErrReadOnly) {
		return fmt.Errorf("claim on a read-only disk = %v, %w", fresh, err)
	}
	if err := checkClaimed(db, 1); err != nil {
		return err
	}
	if err := remount(0); err != nil {
		return err
	}
	return goesOn(db, folder, 1)
}

// A limit on the size of files works where nothing may be mounted.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0], t.TempDir())
	child.Env = append(os.Environ(), childEnv+"=limit", "GORACE=atexit_sleep_ms=0")
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fileLimit(args []string) error {
	signal.Ignore(unix.SIGXFSZ)
	db, err := openIn(args[0])
	if err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100 << 10, Max: old.Max}); err != nil {
		return err
	}
	claimed, err := untilFull(db)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	return goesOn(db, args[0], claimed)
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	path := quickPath(t)
	open := func() *DB {
		db, err := Open(path, Options{Bot: bot, MaxBytes: 256 << 10})
		must(t, err)
		return db
	}
	db := open()
	claimed, err := untilFull(db)
	must(t, err)
	if err := db.Trouble(); !errors.Is(err, ErrFull) || !errors.Is(err, ErrReadOnly) {
		t.Errorf("Trouble() = %v", err)
	}
	if info, _ := os.Stat(path); info.Size() > 256<<10 {
		t.Errorf("%d bytes", info.Size())
	}
	must(t, db.Close())
	db = open()
	must(t, checkClaimed(db, claimed))
	must(t, db.Close())
	db = openAt(t, path)
	mustClaim(t, db, question(claimed), true)
}

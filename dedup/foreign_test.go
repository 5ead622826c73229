package dedup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func TestOnlyTheNewestDamagedFilesAreKept(t *testing.T) {
	path := statePath(t)
	bystander := path + ".corrupt-but-a-folder"
	must(t, os.Mkdir(bystander, 0o700))
	for n := range 5 {
		must(t, os.WriteFile(path, []byte(fmt.Sprint("garbage ", n)), 0o600))
		db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return at(time.Duration(n/2) * time.Second) }})
		must(t, err)
		must(t, db.Close())
		aside := db.Quarantined()
		if got, _ := os.ReadFile(aside); string(got) != fmt.Sprint("garbage ", n) {
			t.Errorf("%s holds %q", aside, got)
		}
	}
	var kept []string
	for _, name := range beside(path, corruptInfix) {
		content, _ := os.ReadFile(name)
		kept = append(kept, string(content))
	}
	if want := []string{"garbage 2", "garbage 3", "garbage 4"}; !cmp.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if _, err := os.Stat(bystander); err != nil {
		t.Error(err)
	}
}

func TestNewerFileIsLeftAlone(t *testing.T) {
	path := statePath(t)
	db := openAt(t, path)
	inState(t, db, 1, Given)
	must(t, db.Close())
	b, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, b.Update(func(tx *bolt.Tx) error {
		newer := []byte{recordVersion + 1, 1, 2, 3}
		return tx.Bucket([]byte(formatBucket)).Put([]byte(tallyKey), formatSealer.seal(shelfTally, []byte(formatBucket), newer))
	}))
	must(t, b.Close())
	before, err := os.ReadFile(path)
	must(t, err)
	if _, err := Open(path, Options{Bot: bot}); !errors.Is(err, ErrNewer) {
		t.Fatalf("Open: %v", err)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) || len(beside(path, ".")) > 0 {
		t.Error("it was touched")
	}
}

func TestWhatIsNoStateFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "dedup.db")
	refused := map[string]func() error{
		"a folder":  func() error { return os.Mkdir(path, 0o700) },
		"a link":    func() error { return os.Symlink("elsewhere", path) },
		"a pipe":    func() error { return unix.Mkfifo(path, 0o600) },
		"no folder": func() error { path = filepath.Join(folder, "gone", "dedup.db"); return nil },
	}
	for _, name := range []string{"a folder", "a link", "a pipe", "no folder"} {
		must(t, refused[name]())
		if db, err := Open(path, Options{Bot: bot}); err == nil {
			t.Errorf("%s: opened, trouble %v", name, db.Trouble())
			db.Close()
		}
		os.Remove(path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder that vanished was made again")
	}
	if _, err := Open(statePath(t), Options{}); err == nil {
		t.Error("opened for no bot")
	}
	for name, content := range map[string]string{"empty": "", "text": "hello", "zeros": string(make([]byte, 40_000))} {
		path := statePath(t)
		must(t, os.WriteFile(path, []byte(content), 0o644))
		db := openAt(t, path)
		if db.Quarantined() == "" {
			t.Errorf("%s: not moved aside", name)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
	foreign := statePath(t)
	b, err := bolt.Open(foreign, 0o644, nil)
	must(t, err)
	must(t, b.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }))
	must(t, b.Close())
	if db := openAt(t, foreign); db.Quarantined() == "" {
		t.Error("another program's file was taken for ours")
	}
}

package dedup

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// resting is a store with a question in it that has come to rest.
func resting(t *testing.T) *DB {
	t.Helper()
	db := openNew(t)
	mustClaim(t, db, question(1), true)
	sleep(restAfter)
	if !atRest(db) {
		t.Fatal("bbolt still has the file")
	}
	return db
}

// sleep lets time pass, and what is due by then be done.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func atRest(db *DB) bool {
	db.disk.mu.Lock()
	defer db.disk.mu.Unlock()
	return db.disk.file != nil && db.disk.file.bolt == nil
}

// A store at rest is as it was: what it knows is known, its file is nobody
// else's, and the next step is on disk.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := resting(t)
		if _, err := Open(db.path, Options{Bot: bot, Timeout: time.Millisecond}); !errors.Is(err, ErrLocked) {
			t.Errorf("another opened it: %v", err)
		}
		mustClaim(t, db, question(1), false)
		if !atRest(db) {
			t.Error("a question that is known woke it")
		}
		must(t, db.Give(t.Context(), id(1)))
		mustClaim(t, db, question(2), true)
		if atRest(db) {
			t.Error("at rest after a step")
		}
		sleep(restAfter)
		if !atRest(db) {
			t.Error("awake for ever")
		}
		must(t, db.Close())
		again := openAt(t, db.path)
		if s, _ := again.Known(id(1)); s != Given {
			t.Errorf("question 1 is %v", s)
		}
		mustClaim(t, again, question(2), false)
	})
}

// A store that steps are taken on does not rest, and neither does one whose file
// is large.
func TestNoRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		for n := range 5 {
			mustClaim(t, db, question(n), true)
			sleep(restAfter - time.Millisecond)
			if atRest(db) {
				t.Fatal("at rest between steps")
			}
		}
		db.disk.mu.Lock()
		db.disk.file.left.size = restBytes + 1
		db.disk.mu.Unlock()
		sleep(restAfter)
		if atRest(db) {
			t.Error("at rest with a large file")
		}
	})
}

// Cursors that wait are written first, and a store that closes at rest writes
// them too.
func TestRestAndCursors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := resting(t)
		db.Advance("room", noon)
		sleep(flushAfter)
		if atRest(db) {
			t.Error("at rest although it wrote")
		}
		sleep(restAfter)
		db.Advance("room", noon.Add(time.Hour))
		must(t, db.Close())
		if ts, _ := openAt(t, db.path).Cursor("room"); !ts.Equal(noon.Add(time.Hour)) {
			t.Errorf("the cursor is %v", ts)
		}
	})
}

// What happens to a file at rest is found before it is written to, and mended
// with all that is known.
func TestDamagedAtRest(t *testing.T) {
	for name, hurt := range map[string]func(*testing.T, *DB){
		"removed":  func(t *testing.T, db *DB) { must(t, os.Remove(db.path)) },
		"moved":    func(t *testing.T, db *DB) { must(t, os.Rename(db.path, db.path+".x")) },
		"cut":      func(t *testing.T, db *DB) { must(t, os.Truncate(db.path, 8<<10)) },
		"replaced": func(t *testing.T, db *DB) { must(t, os.Remove(db.path)); must(t, os.WriteFile(db.path, nil, 0o600)) },
		"list of free pages, unnoticed": func(t *testing.T, db *DB) {
			info, err := os.Stat(db.path)
			must(t, err)
			m, _, err := readMeta(db.disk.file.f, info.Size())
			must(t, err)
			f, err := os.OpenFile(db.path, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt([]byte{0xFF, 0xFF}, int64(m.freelist)*int64(m.pageSize)+10)
			must(t, errors.Join(err, f.Close(), db.disk.file.look()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := resting(t)
				hurt(t, db)
				if _, err := db.Claim(t.Context(), question(2)); !errors.Is(err, ErrDamaged) {
					t.Fatalf("Claim = %v", err)
				}
				must(t, db.Repair(t.Context()))
				mustClaim(t, db, question(1), false)
				mustClaim(t, db, question(2), true)
				must(t, db.Close())
				mustClaim(t, openAt(t, db.path), question(1), false)
			})
		})
	}
}

// Whoever takes the lock in the moment in which bbolt has let go of it has it:
// steps fail until he is done, and what he wrote is not built on.
func TestRobbedAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		mustClaim(t, db, question(1), true)
		must(t, db.disk.file.bolt.Close())
		other, err := os.OpenFile(db.path, os.O_RDWR, 0)
		must(t, err)
		must(t, unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB))
		sleep(restAfter)
		if _, err := db.Claim(t.Context(), question(2)); !errors.Is(err, ErrLocked) {
			t.Fatalf("Claim = %v", err)
		}
		must(t, other.Close())
		mustClaim(t, db, question(2), true)
		mustClaim(t, db, question(1), false)
	})
}

// BenchmarkRest is a step on a store that is awake, and one that has to be woken
// for it.
func BenchmarkRest(b *testing.B) {
	for name, rest := range map[string]bool{"awake": false, "at rest": true} {
		b.Run(name, func(b *testing.B) {
			db := openAt(b, quickPath(b))
			for n := 0; b.Loop(); n++ {
				mustClaim(b, db, question(n%100_000), n < 100_000)
				if rest {
					b.StopTimer()
					db.disk.mu.Lock()
					must(b, db.disk.file.rest())
					db.disk.mu.Unlock()
					b.StartTimer()
				}
			}
		})
	}
}

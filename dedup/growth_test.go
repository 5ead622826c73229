package dedup

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// hear claims n messages of a day, many at a time, and settles them at once.
func hear(t *testing.T, db *DB, day, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < n; i += 32 {
				id := ID{Message: fmt.Sprint(day, " ", i), At: noon.AddDate(0, 0, day)}
				if fresh, err := db.Claim(context.Background(), Question{ID: id}); err != nil || !fresh {
					t.Errorf("claim = %v, %v", fresh, err)
				}
				if err := db.Answer(context.Background(), id, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func TestFileStopsGrowing(t *testing.T) {
	t.Parallel()
	path, now := quickPath(t), noon
	db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return now }})
	must(t, err)
	defer db.Close()
	var sizes []int64
	for day := range 16 {
		now = noon.AddDate(0, 0, day)
		hear(t, db, day, 500)
		sizes = append(sizes, size(t, path))
	}
	if sizes[15] > sizes[5] {
		t.Errorf("it grows from day to day: %d", sizes)
	}
	if n := known(db.book); n > 2500 {
		t.Errorf("%d are known of 500 a day", n)
	}
}

func TestMostlyEmptyFileIsMadeAnew(t *testing.T) {
	t.Parallel()
	path, now := quickPath(t), noon
	open := func() *DB {
		db, err := Open(path, Options{Bot: bot, Now: func() time.Time { return now }})
		must(t, err)
		return db
	}
	db := open()
	inState(t, db, 3, Given)
	must(t, db.Answer(t.Context(), id(3), []Part{{Text: strings.Repeat("a long answer ", 150_000)}}))
	must(t, db.Close())
	full := size(t, path)
	db = open()
	if size(t, path) != full {
		t.Error("a file that is full was made anew")
	}
	now = noon.AddDate(0, 0, 9)
	hear(t, db, 9, 10)
	must(t, db.Settle(t.Context(), id(3), 0, Outcome{}))
	db.Advance("room", now)
	inState(t, db, 1, Answered)
	must(t, db.Close())
	if size(t, path) < full {
		t.Fatal("bbolt gives space back: this test, and more, is not needed")
	}
	db = open()
	if got := size(t, path); got > full/10 {
		t.Errorf("%d bytes of once %d", got, full)
	}
	if _, ok := db.Cursor("room"); !ok || known(db.book) != 11 || len(openQuestions(t, db)[0].Parts) != 3 || db.Quarantined() != "" {
		t.Errorf("not all of it came along: %d known", known(db.book))
	}
	mustClaim(t, db, question(2), true)
	must(t, db.Close())
	if n := len(beside(path, "")); n != 1 {
		t.Errorf("%d files", n)
	}
}

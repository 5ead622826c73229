package dedup

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write testdata/v1.db anew; only with a new format")

const goldenFile = "testdata/v1.db"

// goldenBook is what testdata/v1.db holds, beside another bot's one record.
func goldenBook() *book {
	b := newBook()
	for i, id := range sampleIDs() {
		if i%5 == 0 {
			b.know(markOf(id.Message), dayOf(id.At)+day(i%3))
		}
	}
	add := func(n int, state State, total int, parts ...Part) {
		q := question(n)
		q.State, q.Parts = state, parts
		for i := range q.Parts {
			q.Parts[i].Question = q.ID
		}
		b.open[markOf(q.ID.Message)] = &entry{q, total}
		b.know(markOf(q.ID.Message), dayOf(q.ID.At))
	}
	add(1, Claimed, 0)
	add(2, Given, 0)
	add(3, Answered, 4, Part{Index: 1, Step: "answer", Room: "room", Text: strings.Repeat("long ", 2000), Owed: noon},
		Part{Index: 3, Step: "note", Room: "room", Thread: "t", File: "/home/f", Upload: "u", Owed: noon})
	b.rooms[""] = at(time.Minute)
	b.rooms["room"] = at(time.Hour)
	return b
}

// A file of the first format is still read, to the letter.
func TestGoldenFile(t *testing.T) {
	if *update {
		must(t, os.RemoveAll(goldenFile))
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, create(goldenFile, bot, everything(goldenBook()), false))
		other, err := Open(goldenFile, Options{Bot: "another bot"})
		must(t, err)
		mustClaim(t, other, question(1), true)
		must(t, other.Close())
	}
	path := statePath(t)
	content, err := os.ReadFile(goldenFile)
	must(t, err)
	must(t, os.WriteFile(path, content, 0o600))
	db := openAt(t, path)
	if at := db.Quarantined(); at != "" {
		t.Fatalf("moved aside to %s", at)
	}
	if diff := cmp.Diff(goldenBook(), db.book, cmp.AllowUnexported(book{}, entry{}), cmpopts.IgnoreFields(book{}, "moved", "left")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	mustClaim(t, db, question(9), true)
}

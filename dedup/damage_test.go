package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample writes a file with something of everything: four slots, questions in
// all states, parts small and large, cursors, another bot's records. It
// returns the file's bytes.
func sample(t testing.TB) []byte {
	t.Helper()
	path := quickPath(t)
	other, err := Open(path, Options{Bot: "another bot", Now: func() time.Time { return noon }})
	must(t, err)
	mustClaim(t, other, question(1), true)
	other.Advance("room", noon)
	must(t, other.Close())
	db := openAt(t, path)
	batch := sampleIDs()
	for i, id := range batch {
		s := newStep(claim, Question{ID: id, Room: "room", Asker: "asker"})
		db.lane.Put(s)
		if i%10 > 0 {
			db.lane.Put(newStep(answer, Question{ID: id}))
		}
		db.Advance(fmt.Sprint("room", i%40), noon)
	}
	mustClaim(t, db, Question{ID: batch[0]}, false) // after all before it
	must(t, db.Give(t.Context(), batch[0]))
	big := strings.Repeat("a long answer ", 1000)
	must(t, db.Answer(t.Context(), batch[0], []Part{{Text: "one"}, {Text: big}, {Text: "three"}}))
	must(t, db.Settle(t.Context(), batch[0], 0, Outcome{}))
	must(t, db.Close())
	content, err := os.ReadFile(path)
	must(t, err)
	m, _, err := readMeta(bytes.NewReader(content), int64(len(content)))
	must(t, err)
	return content[:int(m.pages)*m.pageSize] // bbolt keeps more; nothing is in it
}

func sampleIDs() []ID {
	var all []ID
	for n := range 500 {
		all = append(all, ID{Message: fmt.Sprint("sample", n), At: at(time.Duration(n%5) * -18 * time.Hour)})
	}
	return all
}

func TestEveryBitMatters(t *testing.T) {
	t.Parallel()
	content := sample(t)
	whole, err := load(bytes.NewReader(content), int64(len(content)), bot)
	must(t, err)
	if whole.doubtful || len(whole.book.slots) != 4 || len(whole.book.open) != 50 || len(whole.others) != 1 {
		t.Fatalf("the sample isn't as it should be: %d slots, %d open, %d others", len(whole.book.slots), len(whole.book.open), len(whole.others))
	}
	const tries = 2_000
	random := rand.New(rand.NewPCG(1, 2))
	noticed, doubtful, harmless := 0, 0, 0
	for range tries {
		at, bit := random.IntN(len(content)), byte(1)<<random.IntN(8)
		content[at] ^= bit
		l, err := load(bytes.NewReader(content), int64(len(content)), bot)
		content[at] ^= bit
		switch {
		case errors.Is(err, ErrDamaged):
			noticed++
		case err != nil:
			t.Fatalf("byte %d of %d: %v", at, len(content), err)
		case l.doubtful:
			doubtful++
		default:
			harmless++
			// Counting is enough: each record has proven itself.
			if len(l.book.open) != 50 || known(l.book) != 500 || len(l.book.rooms) != len(whole.book.rooms) {
				t.Fatalf("byte %d changed what is known, and nobody noticed", at)
			}
		}
	}
	t.Logf("%d pages, %d bits flipped: %d noticed, %d in one of two beginnings, %d in empty space", len(content)/4096, tries, noticed, doubtful, harmless)
	if noticed < tries/10 {
		t.Error("hardly anything was noticed: the sample is mostly empty")
	}
}

func known(b *book) int {
	n := 0
	for _, marks := range b.slots {
		n += len(marks)
	}
	return n
}

// Each way to hurt a page, for each page, while no process runs.
func TestEveryPageDamagedAtRest(t *testing.T) {
	t.Parallel()
	content := sample(t)
	ways := map[string]func(page []byte){
		"64 bytes flipped at its start": func(p []byte) {
			for i := range 64 {
				p[i] ^= 0xFF
			}
		},
		"zeroed":                  func(p []byte) { clear(p) },
		"its second half missing": func(p []byte) { clear(p[2048:]) },
		"one element fewer":       func(p []byte) { p[10]-- },
		"another page's content":  func(p []byte) { copy(p, content[3*4096:4*4096]) },
	}
	counts := make(map[string]int)
	for name, hurt := range ways {
		for page := range len(content) / 4096 {
			bad := bytes.Clone(content)
			hurt(bad[page*4096 : (page+1)*4096])
			counts[openDamaged(t, fmt.Sprintf("page %d %s", page, name), bad)]++
		}
	}
	for size := 1; size < len(content); size += 2501 {
		counts[openDamaged(t, fmt.Sprintf("cut to %d bytes", size), content[:size:size])]++
	}
	t.Log(counts)
	if counts["moved aside"] == 0 || counts["as before"] == 0 {
		t.Error("one of the outcomes never came: the test shows little")
	}
}

// openDamaged opens a file and checks that what it no longer knows it reports.
func openDamaged(t *testing.T, what string, content []byte) (outcome string) {
	t.Helper()
	path := quickPath(t)
	must(t, os.WriteFile(path, content, 0o600))
	db := openAt(t, path)
	missing := 0
	for _, id := range sampleIDs() {
		if _, known := db.Known(id); !known {
			missing++
		}
	}
	open := len(openQuestions(t, db))
	aside := db.Quarantined()
	outcome = "as before"
	if aside != "" {
		outcome = "moved aside"
		if got, err := os.ReadFile(aside); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: what was moved aside isn't what was found: %v", what, err)
		}
		if len(content)%4096 == 0 && missing > 150 {
			t.Errorf("%s: %d of 500 were not taken over", what, missing)
		}
	} else if missing > 0 || open != 50 {
		t.Errorf("%s: %d of 500 forgotten, %d of 50 open, and nothing reported", what, missing, open)
	}
	must(t, db.Trouble())
	mustClaim(t, db, question(1), true)
	must(t, db.Close())
	again := openAt(t, path)
	if again.Quarantined() != "" {
		t.Errorf("%s: the file begun after it is damaged too", what)
	}
	mustClaim(t, again, question(1), false)
	must(t, again.Close())
	return outcome
}

// A slot's page that is lost costs what was on it, not everything.
func TestSalvage(t *testing.T) {
	t.Parallel()
	content := sample(t)
	best := 0
	for page := 2; page < len(content)/4096; page++ {
		bad := bytes.Clone(content)
		clear(bad[page*4096 : (page+1)*4096])
		b := salvage(bytes.NewReader(bad), int64(len(bad)), bot)
		if n := known(b); n < 350 {
			t.Errorf("without page %d only %d of 500 are known", page, n)
		} else {
			best = max(best, n)
		}
		if len(b.open) > 0 {
			t.Error("an open question was brought back")
		}
	}
	if best != 500 {
		t.Errorf("at best %d of 500 were known", best)
	}
	if n := known(salvage(bytes.NewReader(content), int64(len(content)), "yet another bot")); n != 0 {
		t.Errorf("%d of another bot's", n)
	}
}

// hurtings are what can happen to a file while it is in use.
var hurtings = map[string]func(t *testing.T, path string){
	"truncated to nothing": func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
	"truncated to a page":  func(t *testing.T, path string) { must(t, os.Truncate(path, 4096)) },
	"removed":              func(t *testing.T, path string) { must(t, os.Remove(path)) },
	"moved":                func(t *testing.T, path string) { must(t, os.Rename(path, path+".moved")) },
	"replaced": func(t *testing.T, path string) {
		must(t, os.Remove(path))
		must(t, os.WriteFile(path, []byte("?"), 0o644))
	},
	"overwritten in place": func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		must(t, err)
		for i := range content {
			content[i] ^= 0x55
		}
		must(t, os.WriteFile(path, content, 0o600))
	},
	"an older copy put back in place": func(t *testing.T, path string) {
		content, err := os.ReadFile(path + ".old")
		must(t, err)
		must(t, os.WriteFile(path, content, 0o600))
	},
}

func TestDamageWhileRunning(t *testing.T) {
	for name, hurt := range hurtings {
		t.Run(name, func(t *testing.T) {
			path, ctx := statePath(t), t.Context()
			db := openAt(t, path)
			inState(t, db, 1, Done)
			content, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path+".old", content, 0o600))
			inState(t, db, 2, Given)
			inState(t, db, 3, Answered)
			db.Advance("room", noon)
			hurt(t, path)
			db.disk.write = func(*file, string, *draft, []string) error {
				t.Error("it was written to")
				return errDisk
			}

			fresh, err := db.Claim(ctx, question(4))
			if fresh || !errors.Is(err, ErrDamaged) {
				t.Fatalf("Claim = %v, %v; want ErrDamaged", fresh, err)
			}
			if err := db.Give(ctx, id(2)); !errors.Is(err, ErrDamaged) {
				t.Errorf("Give: %v", err)
			}
			if !errors.Is(db.Trouble(), ErrDamaged) {
				t.Errorf("Trouble() = %v", db.Trouble())
			}
			mustClaim(t, db, question(1), false)
			if n := len(openQuestions(t, db)); n != 2 {
				t.Errorf("%d open", n)
			}
			db.goOn()
			must(t, db.Repair(ctx))
			must(t, db.Trouble())
			mustClaim(t, db, question(4), true)
			must(t, db.Answer(ctx, id(2), parts3[:1]))
			must(t, db.Close())

			again := openAt(t, path)
			want := map[int]State{1: Done, 2: Answered, 3: Answered, 4: Claimed}
			for n, state := range want {
				if got, _ := again.Known(id(n)); got != state {
					t.Errorf("question %d is %s, want %s", n, got, state)
				}
			}
			if _, ok := again.Cursor("room"); !ok || again.Quarantined() != "" {
				t.Errorf("cursor %v, moved aside %q", ok, again.Quarantined())
			}
		})
	}
}

// Rot that leaves no trace in the file's times reaches bbolt; whatever it does
// then is an error of the step.
func TestRotUnderBolt(t *testing.T) {
	t.Parallel()
	content := sample(t)
	ctx, counts := t.Context(), make(map[string]int)
	for page := 2; page < len(content)/4096; page++ {
		for _, hurt := range []func([]byte){
			func(p []byte) {
				for i := range 64 {
					p[i] ^= 0xFF
				}
			},
			func(p []byte) { clear(p) },
		} {
			path := quickPath(t)
			must(t, os.WriteFile(path, content, 0o600))
			db := openAt(t, path)
			bad := bytes.Clone(content)
			hurt(bad[page*4096 : (page+1)*4096])
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(bad, 0)
			must(t, errors.Join(err, f.Close()))
			must(t, db.disk.file.look())

			taken := 0
			for n := range 20 {
				fresh, err := db.Claim(ctx, question(n))
				if err != nil && !errors.Is(err, ErrDamaged) {
					t.Fatalf("page %d: %v", page, err)
				}
				if fresh {
					taken++
				}
			}
			counts[fmt.Sprint("taken before it was noticed: ", taken)]++
			if taken < 20 {
				must(t, db.Repair(ctx))
			}
			for _, id := range sampleIDs() {
				mustClaim(t, db, Question{ID: id}, false)
			}
			for n := range 20 {
				mustClaim(t, db, question(n), n >= taken)
			}
			must(t, db.Close())
			if again := openAt(t, path); again.Quarantined() == "" && len(openQuestions(t, again)) != 70 {
				t.Errorf("page %d: %d open, and nothing reported", page, len(openQuestions(t, again)))
			} else {
				must(t, again.Close())
			}
		}
	}
	t.Log(counts)
	if len(counts) < 2 {
		t.Error("nothing was noticed, or all of it: the test shows little")
	}
}

func TestFaultInMappedPages(t *testing.T) {
	path := statePath(t)
	db := openAt(t, path)
	inState(t, db, 1, Given)
	// Between the check and the commit, so that bbolt meets it.
	db.disk.write = func(f *file, bot string, d *draft, gone []string) error {
		must(t, os.Truncate(path, 0))
		return f.commit(bot, d, gone)
	}
	if err := db.Answer(t.Context(), id(1), parts3); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a fault is told as %v", err)
	}
	db.disk.write = (*file).commit
	must(t, db.Repair(t.Context()))
	must(t, db.Answer(t.Context(), id(1), parts3))
}

func TestTouchIsNoDamage(t *testing.T) {
	path := statePath(t)
	db := openAt(t, path)
	for n := range 3 {
		mustClaim(t, db, question(n), true)
		must(t, os.Chtimes(path, noon, noon.Add(time.Duration(n)*time.Hour)))
	}
	mustClaim(t, db, question(9), true)
	must(t, db.Close())
	if n := len(openQuestions(t, openAt(t, path))); n != 4 {
		t.Errorf("%d questions", n)
	}
}

func TestRepairWhatIsWell(t *testing.T) {
	db := openNew(t)
	inState(t, db, 1, Claimed)
	must(t, db.Repair(t.Context()))
	mustClaim(t, db, question(1), false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Repair(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, db.Close())
	if err := db.Repair(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestRepairWithoutAFolder(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(home, 0o700))
	db := openAt(t, filepath.Join(home, "dedup.db"))
	inState(t, db, 1, Given)
	must(t, os.Rename(home, home+"2"))
	if _, err := db.Claim(t.Context(), question(2)); !errors.Is(err, ErrDamaged) {
		t.Errorf("Claim: %v", err)
	}
	if err := db.Repair(t.Context()); err == nil {
		t.Error("repaired in a folder that is gone")
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("the folder was made again")
	}
	must(t, os.Mkdir(home, 0o700))
	must(t, db.Repair(t.Context()))
	must(t, db.Answer(t.Context(), id(1), nil))
}

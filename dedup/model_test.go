package dedup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A modelQuestion is what the documentation of Store says of one question.
type modelQuestion struct {
	state State
	parts []string // what is owed, as text and upload, by index; "" is settled
}

func (q modelQuestion) String() string { return fmt.Sprint(q.state, " ", strings.Join(q.parts, ",")) }

func (q modelQuestion) clone() modelQuestion {
	q.parts = slices.Clone(q.parts)
	return q
}

// A modelStep is a call, what it should come to, and what it makes of the
// question.
type modelStep struct {
	name  string
	call  func(Store) error
	want  error
	after modelQuestion
}

// errStale is what a claim that isn't fresh comes to, here.
var errStale = errors.New("not fresh")

// draw makes up a call on question n, which is in state q.
func drawStep(t *rapid.T, n int, q modelQuestion) modelStep {
	ctx := t.Context()
	after := q.clone()
	switch rapid.SampledFrom([]string{"claim", "give", "answer", "settle", "settle", "upload"}).Draw(t, "step") {
	case "claim":
		want := errStale
		if q.state == 0 {
			after.state, want = Claimed, nil
		}
		return modelStep{"claim", func(s Store) error {
			fresh, err := s.Claim(ctx, question(n))
			if err == nil && !fresh {
				err = errStale
			}
			return err
		}, want, after}
	case "give":
		want := ErrOrder
		switch q.state {
		case 0:
			want = ErrUnknown
		case Claimed:
			after.state, want = Given, nil
		}
		return modelStep{"give", func(s Store) error { return s.Give(ctx, id(n)) }, want, after}
	case "answer":
		parts := make([]Part, rapid.IntRange(0, 3).Draw(t, "parts"))
		want := ErrOrder
		switch q.state {
		case 0:
			want = ErrUnknown
		case Claimed, Given:
			after.state, want = Answered, nil
			if len(parts) == 0 {
				after.state = Done
			}
		}
		for i := range parts {
			parts[i].Text = fmt.Sprint("text", i)
			if want == nil {
				after.parts = append(after.parts, parts[i].Text+"/")
			}
		}
		return modelStep{"answer", func(s Store) error { return s.Answer(ctx, id(n), parts) }, want, after}
	case "upload":
		i, want := rapid.IntRange(0, 3).Draw(t, "part"), ErrOrder
		switch {
		case q.state == 0, q.state == Answered && i >= len(q.parts):
			want = ErrUnknown
		case q.state == Answered && q.parts[i] != "":
			after.parts[i], want = fmt.Sprintf("text%d/file", i), nil
		}
		return modelStep{"upload", func(s Store) error { return s.Upload(ctx, id(n), i, "file") }, want, after}
	}
	i, want := rapid.IntRange(0, 3).Draw(t, "part"), error(nil)
	switch {
	case q.state == 0, q.state == Answered && i >= len(q.parts):
		want = ErrUnknown
	case q.state == Claimed, q.state == Given:
		want = ErrOrder
	case q.state == Answered:
		if after.parts[i] = ""; !slices.ContainsFunc(after.parts, func(s string) bool { return s != "" }) {
			after = modelQuestion{state: Done}
		}
	}
	return modelStep{"settle", func(s Store) error { return s.Settle(ctx, id(n), i, Outcome{}) }, want, after}
}

// seenIn reads from a store what the model says of a question.
func seenIn(t *rapid.T, s Store, n int) modelQuestion {
	q := modelQuestion{}
	q.state, _ = s.Known(id(n))
	for open, err := range s.Open(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if open.ID != id(n) {
			continue
		}
		if open.State != q.state || open.Room != "room" || open.Asker != "asker" || open.Thread != "thread" {
			t.Fatalf("question %d is open as %+v", n, open)
		}
		for _, p := range open.Parts {
			for len(q.parts) < p.Index {
				q.parts = append(q.parts, "")
			}
			q.parts = append(q.parts, p.Text+"/"+p.Upload)
		}
	}
	return q
}

// trim leaves out what a store doesn't tell: settled parts behind the last.
func (q modelQuestion) trim() modelQuestion {
	for len(q.parts) > 0 && q.parts[len(q.parts)-1] == "" {
		q.parts = q.parts[:len(q.parts)-1]
	}
	if q.state == Done {
		q.parts = nil
	}
	return q
}

// Any steps in any order, on a file whose commits fail in between, before or
// after they happened, that is closed, killed and damaged: each comes to what
// the documentation says, and what it says is there is there.
func TestStoreAgainstItsModel(t *testing.T) {
	t.Parallel()
	folder, files := filepath.Dir(quickPath(t)), 0
	rapid.Check(t, func(t *rapid.T) {
		const questions = 4
		files++
		path := filepath.Join(folder, fmt.Sprint(files))
		var db *DB
		open := func() {
			var err error
			if db, err = Open(path, Options{Bot: bot, Now: func() time.Time { return noon }}); err != nil {
				t.Fatal(err)
			}
			if db.Quarantined() != "" {
				t.Fatal("damaged")
			}
		}
		open()
		defer func() { db.abandon() }()
		memory := NewMemory()
		model := make([]modelQuestion, questions)
		check := func() {
			for n := range model {
				for _, s := range []Store{db, memory} {
					if got, want := seenIn(t, s, n).String(), model[n].clone().trim().String(); got != want {
						t.Fatalf("%T: question %d is %q, want %q", s, n, got, want)
					}
				}
			}
		}
		step := func(t *rapid.T, outcome error) {
			n := rapid.IntRange(0, questions-1).Draw(t, "question")
			s := drawStep(t, n, model[n])
			db.failOnce(outcome)
			err := s.call(db)
			if errors.Is(err, errDisk) && rapid.Bool().Draw(t, "killed") {
				db.abandon()
				open()
				got := seenIn(t, db, n).String()
				if want := s.after.clone().trim().String(); got != want && got != model[n].clone().trim().String() {
					t.Fatalf("after a %s that failed, question %d is %q", s.name, n, got)
				} else if got == want {
					err = s.want
				} else {
					err = s.call(db)
				}
			} else if errors.Is(err, errDisk) {
				err = s.call(db)
			}
			for store, err := range map[string]error{"file": err, "memory": s.call(memory)} {
				if !errors.Is(err, s.want) {
					t.Fatalf("%s: %s of question %d in %q: %v, want %v", store, s.name, n, model[n], err, s.want)
				}
			}
			model[n] = s.after
		}
		t.Repeat(map[string]func(*rapid.T){
			"step":                 func(t *rapid.T) { step(t, nil) },
			"step again":           func(t *rapid.T) { step(t, nil) },
			"step that fails":      func(t *rapid.T) { step(t, errDisk) },
			"step that fails late": func(t *rapid.T) { step(t, errAfter) },
			"close": func(t *rapid.T) {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				open()
				memory = memory.Reopen()
			},
			"kill": func(*rapid.T) { db.abandon(); open() },
			"lose the file": func(t *rapid.T) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if _, err := db.Claim(t.Context(), question(99)); !errors.Is(err, ErrDamaged) {
					t.Fatalf("claim without a file: %v", err)
				}
				if err := db.Repair(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			"": func(*rapid.T) { check() },
		})
	})
}

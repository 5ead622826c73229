package dedup

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// askOnce takes a question through its four durable steps.
func askOnce(ctx context.Context, s Store, n int) error {
	if fresh, err := s.Claim(ctx, question(n)); err != nil || !fresh {
		return fmt.Errorf("question %d: %v, %w", n, fresh, err)
	}
	if err := s.Give(ctx, id(n)); err != nil {
		return err
	}
	if err := s.Answer(ctx, id(n), parts3[:1]); err != nil {
		return err
	}
	return s.Settle(ctx, id(n), 0, Outcome{})
}

// A plain is what one would write first: a transaction for each step, one
// record that goes through the same four contents.
type plain func(fn func(*bolt.Tx) error) error

func (do plain) ask(n int) error {
	key := []byte(id(n).Message)
	part := encodePart(parts3[0])
	e := entry{Question: question(n)}
	for _, value := range [][]byte{e.encode(), e.encode(), append(e.encode(), part...), {1}} {
		err := do(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("questions"))
			if err != nil {
				return err
			}
			return b.Put(key, value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func openPlain(b *testing.B, path string) *bolt.DB {
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, NoStatistics: true})
	must(b, err)
	b.Cleanup(func() { db.Close() })
	return db
}

// BenchmarkQuestion is a question's four durable steps (one operation), in so
// many files at a time and so many askers to each.
func BenchmarkQuestion(b *testing.B) {
	for _, load := range []struct{ files, askers int }{{1, 1}, {1, 16}, {20, 1}, {20, 4}, {20, 16}} {
		kinds := map[string]func(path string) func(n int) error{
			"store": func(path string) func(int) error {
				db := openAt(b, path)
				return func(n int) error { return askOnce(context.Background(), db, n) }
			},
			"baseline Update": func(path string) func(int) error { return plain(openPlain(b, path).Update).ask },
			"baseline Batch":  func(path string) func(int) error { return plain(openPlain(b, path).Batch).ask },
		}
		for _, kind := range []string{"store", "baseline Update", "baseline Batch"} {
			b.Run(fmt.Sprintf("files=%d/askers=%d/%s", load.files, load.askers, kind), func(b *testing.B) {
				folder := b.TempDir()
				var asks []func(int) error
				for n := range load.files {
					asks = append(asks, kinds[kind](filepath.Join(folder, fmt.Sprint(n))))
				}
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for i := range load.files * load.askers {
					wg.Go(func() {
						for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
							if err := asks[i%load.files](n); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "questions/s")
			})
		}
	}
}

// BenchmarkKnown is the claim of a message that was seen before, among 100,000.
func BenchmarkKnown(b *testing.B) {
	const n = 100_000
	db := openAt(b, quickPath(b))
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				_, _ = db.Claim(context.Background(), question(i))
				_ = db.Answer(context.Background(), id(i), nil)
			}
		})
	}
	wg.Wait()
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if fresh, err := db.Claim(context.Background(), question(i%n)); fresh || err != nil {
				b.Fatal(fresh, err)
			}
		}
	})
	b.Run("baseline View of five buckets", func(b *testing.B) {
		plain := openPlain(b, quickPath(b))
		var names [][]byte
		for d := range 5 {
			names = append(names, binary.BigEndian.AppendUint32(nil, uint32(d)))
		}
		must(b, plain.Update(func(tx *bolt.Tx) error {
			for i := range n {
				bucket, err := tx.CreateBucketIfNotExists(names[i%5])
				if err != nil {
					return err
				}
				if err := bucket.Put([]byte(id(i).Message), []byte{1}); err != nil {
					return err
				}
			}
			return nil
		}))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			found := false
			must(b, plain.View(func(tx *bolt.Tx) error {
				for _, name := range names {
					if tx.Bucket(name).Get([]byte(id(i%n).Message)) != nil {
						found = true
						break
					}
				}
				return nil
			}))
			if !found {
				b.Fatal("not found")
			}
		}
	})
}

// BenchmarkReopen is what a start costs, by how much is known.
func BenchmarkReopen(b *testing.B) {
	for _, n := range []int{0, 1_000, 100_000} {
		book := newBook()
		for i := range n {
			book.know(markOf(id(i).Message), dayOf(noon)-day(i%4))
		}
		path := quickPath(b)
		must(b, create(path, bot, everything(book), false))
		b.Run(fmt.Sprintf("known=%d/store", n), func(b *testing.B) {
			for b.Loop() {
				db, err := Open(path, Options{Bot: bot})
				must(b, err)
				must(b, db.Close())
			}
		})
		b.Run(fmt.Sprintf("known=%d/baseline bbolt, nothing read", n), func(b *testing.B) {
			for b.Loop() {
				db, err := bolt.Open(path, 0o600, nil)
				must(b, err)
				must(b, db.Close())
			}
		})
	}
}

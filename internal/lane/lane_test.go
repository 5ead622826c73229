package lane

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaneKeepsOrderOverManyPutters(t *testing.T) {
	var wg sync.WaitGroup
	var got []int
	l := Lane[int]{Group: &wg, Do: func(batch []int) { got = append(got, batch...) }}
	for i := range 1000 {
		l.Put(i)
	}
	wg.Wait()
	if len(got) != 1000 || !slices.IsSorted(got) {
		t.Fatalf("got %d items, sorted %v", len(got), slices.IsSorted(got))
	}
}

func TestLaneNeverRunsTwice(t *testing.T) {
	var lanes, putters sync.WaitGroup
	inside, total := 0, 0 // unguarded: the race detector watches them
	l := Lane[int]{Group: &lanes, Do: func(batch []int) {
		inside++
		if inside != 1 {
			t.Error("two batches at once")
		}
		total += len(batch)
		inside--
	}}
	for range 8 {
		putters.Go(func() {
			for i := range 500 {
				l.Put(i)
			}
		})
	}
	putters.Wait()
	lanes.Wait()
	if total != 4000 {
		t.Fatalf("did %d of 4000", total)
	}
}

func TestLaneBoundCountsOnlyWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		release := make(chan struct{})
		var got []int
		l := Lane[int]{Group: &wg, Bound: 2, Do: func(batch []int) {
			<-release
			got = append(got, batch...)
		}}
		l.Put(1)
		synctest.Wait() // 1 is being done
		for i, want := range []bool{true, true, false} {
			if ok := l.Put(2 + i); ok != want {
				t.Errorf("Put(%d) = %v, want %v", 2+i, ok, want)
			}
		}
		if l.Len() != 2 {
			t.Errorf("Len = %d, want 2", l.Len())
		}
		close(release)
		wg.Wait()
		if !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("did %v", got)
		}
	})
}

func TestWhatComesWhileALaneWaitsForItsTurnGoesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		turn := make(chan struct{})
		var batches [][]int
		over := 0
		l := Lane[int]{
			Group: &wg,
			Do:    func(batch []int) { batches = append(batches, slices.Clone(batch)) },
			Turn:  func() func() { <-turn; return func() { over++ } },
		}
		l.Put(1)
		synctest.Wait()
		l.Put(2)
		l.Put(3)
		turn <- struct{}{}
		wg.Wait()
		if len(batches) != 1 || !slices.Equal(batches[0], []int{1, 2, 3}) || over != 1 {
			t.Errorf("did %v, %d turns were over", batches, over)
		}
	})
}

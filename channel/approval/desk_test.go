package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rcsupervisor/channel/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A room is where a desk posts: it notes what is said and edited.
type room struct {
	mu     sync.Mutex
	said   []string
	last   map[Place]string
	saved  []byte
	saves  int
	online chan struct{} // closed: what is posted arrives
	never  error         // what can never be posted
	lost   error         // what no file can be sent for
	files  []File
	full   error // of the disk
}

func newRoom() *room {
	r := &room{last: make(map[Place]string), online: make(chan struct{})}
	close(r.online)
	return r
}

func (r *room) post(ctx context.Context, p Place, text string) (time.Time, error) {
	select {
	case <-r.online:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.never != nil {
		return time.Time{}, r.never
	}
	r.said = append(r.said, fmt.Sprintf("post %s %d", p.Step, p.Index))
	r.last[p] = text
	return time.Now().Add(skew), nil
}

func (r *room) attach(ctx context.Context, p Place, f File) error {
	if _, err := r.post(ctx, p, f.Name); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, f)
	return r.lost
}

func idOf(p Place) string { return fmt.Sprint(p.Question, p.Step, p.Index) }

func (r *room) edit(_ context.Context, p Place, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf("edit %s %d: %s", p.Step, p.Index, text[strings.LastIndex(text, "\n")+1:]))
	if _, ok := r.last[p]; ok {
		r.last[p] = text
	}
	return nil
}

func (r *room) save(record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saves++
	if r.full != nil {
		return r.full
	}
	r.saved = slices.Clone(record)
	return nil
}

func (r *room) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
}

func (r *room) desk(log *slog.Logger) *Desk {
	return Open(Config{
		Post: r.post, Attach: r.attach, Edit: r.edit, ID: idOf, Save: r.save, Log: log,
		Server: func(t time.Time) time.Time { return t.Add(skew) },
	}, r.saved)
}

// answer is an answer that is not held.
func answer(t *testing.T, d *Desk, a gate.Answer) string {
	t.Helper()
	say, held := d.Answer(a, "olga", func() { t.Error("judged again") })
	if held {
		t.Error("it is held")
	}
	return say
}

// live is a request that expires in 55 s from now.
func live(question string) Ask {
	a := ask(question)
	a.Expires = time.Now().Add(55 * time.Second)
	return a
}

func TestADesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		d := r.desk(slog.New(slog.DiscardHandler))
		defer d.Close()
		var got []string
		decide := func(option string) { got = append(got, option) }
		d.Ask(live("q"), decide)
		synctest.Wait()
		requests := d.Requests("room", "")
		if len(requests) != 1 || requests[0].Sent.IsZero() || len(d.Requests("room", "thread")) != 0 {
			t.Fatalf("%+v", requests)
		}
		if say := answer(t, d, gate.Answer{Request: "q/1", Option: "once"}); say != "" {
			t.Errorf("told %q", say)
		}
		if say := answer(t, d, gate.Answer{Request: "q/1", Option: "deny"}); say != sayOver {
			t.Errorf("told %q", say)
		}
		synctest.Wait()
		d.Ask(live("p"), decide)
		time.Sleep(55 * time.Second)
		synctest.Wait()
		d.Ask(live("s"), decide)
		synctest.Wait()
		d.End("s", Stopped)
		synctest.Wait()
		d.Ask(live("w"), decide)
		synctest.Wait()
		d.Withdraw("w", "1")
		synctest.Wait()
		if fmt.Sprintf("%q", got) != `["once" ""]` {
			t.Errorf("decided %q", got)
		}
		want := []string{
			"post request-1 0", "edit request-1 0: Allowed once by olga.",
			"post request-1 0", "edit request-1 0: Nobody decided in time, so it was refused.",
			"post request-1 0", "edit request-1 0: Refused, because the work was stopped.",
			"post request-1 0", "edit request-1 0: No longer open: the agent went on without an answer.",
		}
		if heard := r.heard(); !slices.Equal(heard, want) {
			t.Errorf("the room heard %q", heard)
		}
	})
}

// A request that is decided, or over, while it is being posted is edited after.
func TestClosedWhileItIsPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		r.online = make(chan struct{})
		d := r.desk(slog.New(slog.DiscardHandler))
		defer d.Close()
		refused := 0
		d.Ask(live("q"), func(option string) {
			if option == "" {
				refused++
			}
		})
		synctest.Wait()
		if requests := d.Requests("room", ""); len(requests) != 1 || !requests[0].Sent.IsZero() {
			t.Errorf("%+v", requests)
		}
		var again atomic.Int32
		say, held := d.Answer(gate.Answer{Request: "q/1", Option: "once", State: gate.Early}, "olga", func() { again.Add(1) })
		if !held || say != "" || again.Load() != 0 {
			t.Errorf("before it was shown: held %v, told %q, judged again %d times", held, say, again.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if refused != 1 || again.Load() != 1 {
			t.Errorf("refused %d times, judged again %d times", refused, again.Load())
		}
		if heard := r.heard(); len(heard) != 1 || !strings.HasPrefix(heard[0], "edit") {
			t.Errorf("the room heard %q", heard)
		}
	})
}

// Nobody is told that something was allowed which the agent no longer wanted.
func TestADecisionThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		d := r.desk(slog.New(slog.DiscardHandler))
		defer d.Close()
		calls := 0
		d.Request(live("q"), func(string) error { calls++; return errors.New("it went on") })
		synctest.Wait()
		if say := answer(t, d, gate.Answer{Request: "q/1", Option: "once"}); say != sayOver || calls != 1 {
			t.Errorf("told %q after %d calls", say, calls)
		}
		synctest.Wait()
		if heard := r.heard(); len(heard) != 2 || heard[1] != "edit request-1 0: No longer open: the agent went on without an answer." {
			t.Errorf("the room heard %q", heard)
		}
	})
}

func TestADeskIsKilledAndOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		d := r.desk(slog.New(slog.DiscardHandler))
		d.Ask(live("q"), func(string) { t.Error("decided by nobody") })
		synctest.Wait()
		number := d.Requests("room", "")[0].Choices[0].Number
		record := slices.Clone(r.saved)
		d.Close()
		r.mu.Lock()
		r.saved = record // as a kill would have left it
		r.mu.Unlock()
		d.Ask(live("late"), func(option string) {
			if option != "" {
				t.Error("a closed desk allows")
			}
		})
		time.Sleep(time.Hour)

		d = r.desk(slog.New(slog.DiscardHandler))
		defer d.Close()
		synctest.Wait()
		if heard := r.heard(); len(heard) != 2 || heard[1] != "edit request-1 0: Expired: I was restarted, so it was refused." {
			t.Errorf("the room heard %q", heard)
		}
		if say := answer(t, d, gate.Answer{Request: "q/1", Option: "once"}); say != sayOver {
			t.Errorf("a request of before the restart: %q", say)
		}
		d.Ask(live("p"), func(string) {})
		synctest.Wait()
		for _, g := range d.Requests("room", "") {
			for _, c := range g.Choices {
				if g.ID == "p/1" && c.Number == number {
					t.Errorf("%s is given again", number)
				}
			}
		}
	})
}

func TestWhatCantBeShownIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		r.never, r.full = errors.New("read-only"), errors.New("disk full")
		log := &strings.Builder{}
		d := r.desk(slog.New(slog.NewTextHandler(log, nil)))
		var refused atomic.Int32
		decide := func(option string) {
			if option == "" {
				refused.Add(1)
			}
		}
		d.Ask(live("q"), decide)
		a := live("nobody")
		a.Room, a.Nobody = "elsewhere", true
		d.Ask(a, decide)
		synctest.Wait()
		d.Close()
		if refused.Load() != 2 || len(r.heard()) != 0 {
			t.Errorf("refused %d, heard %q", refused.Load(), r.heard())
		}
		if s := log.String(); strings.Contains(s, "rm -rf") || !strings.Contains(s, "could not be shown") || !strings.Contains(s, "written down") {
			t.Errorf("the log:\n%s", s)
		}
	})
}

func TestADamagedRecordIsAsNone(t *testing.T) {
	r := newRoom()
	r.saved = []byte(`{"v":1,"requests":[{"tail":"secret command"`)
	log := &strings.Builder{}
	d := r.desk(slog.New(slog.NewTextHandler(log, nil)))
	d.Close()
	if s := log.String(); !strings.Contains(s, "can't be read") || strings.Contains(s, "secret") {
		t.Errorf("the log:\n%s", s)
	}
}

// Everybody at once: a request is decided once, and whatever happens the room
// is left without open numbers.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		d := r.desk(slog.New(slog.DiscardHandler))
		var mu sync.Mutex
		decided := map[string]int{}
		var group sync.WaitGroup
		for i := range 40 {
			name := fmt.Sprint("q", i)
			group.Go(func() {
				a := live(name)
				a.Room = fmt.Sprint("room", i%5)
				a.Asked.ID = name
				d.Ask(a, func(string) {
					mu.Lock()
					defer mu.Unlock()
					decided[name]++
				})
				for _, option := range []string{"once", "deny", "once"} {
					group.Go(func() { d.Answer(gate.Answer{Request: name + "/" + name, Option: option}, "olga", func() {}) })
				}
				if i%7 == 0 {
					d.End(name, Ended)
				}
			})
		}
		group.Wait()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		d.Close()
		for name, n := range decided {
			if n != 1 {
				t.Errorf("%s was decided %d times", name, n)
			}
		}
		for p, text := range r.last {
			if strings.Contains(text, "by sending nothing but the number") {
				t.Errorf("%+v still asks", p)
			}
		}
	})
}

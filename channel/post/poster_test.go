package post

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/rest"
	"rcsupervisor/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIDIsTheSameForTheSamePartAndNoOther(t *testing.T) {
	key := []byte("0123456789abcdef")
	first := ID(key, "question", "answer", 0)
	if len(first) != 20 {
		t.Fatalf("an id of %d characters", len(first))
	}
	if again := ID(key, "question", "answer", 0); again != first {
		t.Errorf("the same part is %s and then %s", first, again)
	}
	seen := map[string]string{first: "the first"}
	for _, other := range []struct {
		key            string
		question, step string
		index          int
	}{
		{"another key", "question", "answer", 0},
		{string(key), "question2", "answer", 0},
		{string(key), "question", "note", 0},
		{string(key), "question", "answer", 1},
		{string(key), "questiona", "nswer", 0}, // the boundary counts
	} {
		id := ID([]byte(other.key), other.question, other.step, other.index)
		if was, ok := seen[id]; ok {
			t.Errorf("%+v has the id of %s", other, was)
		}
		seen[id] = other.question
	}
}

// A known answer: what is posted today must be found again by the program of
// tomorrow.
func TestIDNeverChanges(t *testing.T) {
	if got, want := ID([]byte("key"), "qqqqqqqqqqqqqqqqq", "answer", 0), "cOVsbvVj1H6IlKoxQHgR"; got != want {
		t.Errorf("ID = %s, want %s", got, want)
	}
}

// A script is a server that answers each call with the next of its lines.
type script struct {
	t       *testing.T
	sends   []line
	reads   map[string][]line
	deleted []string
	refuse  error // what Delete says
	sent    []rest.Outgoing
}

type line struct {
	m   chat.Message
	err error
}

func (s *script) SendMessage(_ context.Context, m rest.Outgoing) (chat.Message, error) {
	s.sent = append(s.sent, m)
	if len(s.sends) == 0 {
		s.t.Fatalf("an unexpected send of %s", m.ID)
	}
	next := s.sends[0]
	s.sends = s.sends[1:]
	if next.err == nil && next.m.ID == "" {
		next.m = chat.Message{ID: m.ID, RoomID: m.Room, Sender: chat.User{ID: "bot"}}
	}
	return next.m, next.err
}

func (s *script) Message(_ context.Context, id string) (chat.Message, error) {
	lines := s.reads[id]
	if len(lines) == 0 {
		lines = s.reads[""]
	}
	if len(lines) == 0 {
		return chat.Message{}, failure(rest.ErrNotFound)
	}
	if len(lines) > 1 {
		s.reads[""] = lines[1:]
	}
	return lines[0].m, lines[0].err
}

func (s *script) Delete(_ context.Context, _, id string) error {
	s.deleted = append(s.deleted, id)
	return s.refuse
}

func failure(k rest.Kind) error {
	uncertain := k == rest.ErrUnavailable || k == rest.ErrNotJSON
	return &rest.Error{Route: "chat.sendMessage", Kind: k, Uncertain: uncertain}
}

var part = dedup.Part{Question: dedup.ID{Message: "q"}, Step: "answer", Room: "room", Text: "hello"}

func TestPost(t *testing.T) {
	id := ID([]byte("key"), "q", "answer", 0)
	ours := line{m: chat.Message{ID: id, RoomID: "room", Sender: chat.User{ID: "bot"}}}
	rewritten := ours
	rewritten.m.Text = "something the server made of it"
	gone := failure(rest.ErrUnavailable)
	for _, test := range []struct {
		name    string
		sends   []line
		reads   []line
		want    dedup.Outcome
		err     error
		deleted int
		refuse  error
	}{
		{name: "said", sends: []line{{}}, want: dedup.Outcome{MessageID: id}},
		{name: "R76: the id is taken by our own message", sends: []line{{err: failure(rest.ErrDuplicate)}}, reads: []line{ours}, want: dedup.Outcome{MessageID: id}},
		{name: "the reply was lost, the message is there", sends: []line{{err: gone}}, reads: []line{ours}, want: dedup.Outcome{MessageID: id}},
		{name: "the reply was lost, and the server rewrote it", sends: []line{{err: gone}}, reads: []line{rewritten}, want: dedup.Outcome{MessageID: id}},
		{name: "the reply was lost, the message is not there", sends: []line{{err: gone}}, err: rest.ErrUnavailable},
		{name: "the reply was lost, and nobody can say", sends: []line{{err: gone}}, reads: []line{{err: gone}}, err: rest.ErrUnavailable},
		{name: "the reply was no JSON", sends: []line{{err: failure(rest.ErrNotJSON)}}, reads: []line{ours}, want: dedup.Outcome{MessageID: id}},
		{name: "the id is somebody else's", sends: []line{{err: failure(rest.ErrDuplicate)}}, reads: []line{{m: chat.Message{ID: id, RoomID: "room", Sender: chat.User{ID: "mallory"}}}}, want: dedup.Outcome{MessageID: id, Reason: Prevented}},
		{name: "swallowed by an app", sends: []line{{err: failure(rest.ErrDuplicate)}, {err: failure(rest.ErrDuplicate)}, {err: failure(rest.ErrDuplicate)}}, want: dedup.Outcome{MessageID: id, Reason: Prevented}},
		{name: "taken, not there yet, then said", sends: []line{{err: failure(rest.ErrDuplicate)}, {}}, want: dedup.Outcome{MessageID: id}},
		{name: "P57: the server put it into another room", sends: []line{{m: chat.Message{ID: id, RoomID: "other", Sender: chat.User{ID: "bot"}}}}, want: dedup.Outcome{MessageID: id, Reason: Misrouted}, deleted: 1},
		{name: "and it can't be deleted there just now", sends: []line{{m: chat.Message{ID: id, RoomID: "other", Sender: chat.User{ID: "bot"}}}}, refuse: gone, err: rest.ErrUnavailable, deleted: 1},
		{name: "or never", sends: []line{{m: chat.Message{ID: id, RoomID: "other", Sender: chat.User{ID: "bot"}}}}, refuse: failure(rest.ErrForbidden), want: dedup.Outcome{MessageID: id, Reason: Misrouted}, deleted: 1},
		{name: "nobody listens, so nothing was stored", sends: []line{{err: &rest.Error{Kind: rest.ErrUnavailable}}}, reads: []line{ours}, err: rest.ErrUnavailable},
		{name: "read-only", sends: []line{{err: failure(rest.ErrReadOnly)}}, want: dedup.Outcome{MessageID: id, Reason: ReadOnly}},
		{name: "forbidden", sends: []line{{err: failure(rest.ErrForbidden)}}, want: dedup.Outcome{MessageID: id, Reason: Forbidden}},
		{name: "no such room", sends: []line{{err: failure(rest.ErrRoomGone)}}, want: dedup.Outcome{MessageID: id, Reason: RoomGone}},
		{name: "too long", sends: []line{{err: failure(rest.ErrTooLong)}}, want: dedup.Outcome{MessageID: id, Reason: TooLong}},
		{name: "R80: asked to wait", sends: []line{{err: failure(rest.ErrRateLimited)}}, err: rest.ErrRateLimited},
		{name: "the token is refused", sends: []line{{err: failure(rest.ErrRefused)}}, err: rest.ErrRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &script{t: t, sends: test.sends, reads: map[string][]line{"": test.reads}, refuse: test.refuse}
				p := &Poster{Server: server, Self: "bot", Key: []byte("key"), Log: slog.New(slog.DiscardHandler)}
				got, err := p.Post(t.Context(), part)
				if !errors.Is(err, test.err) {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				if len(server.deleted) != test.deleted {
					t.Errorf("deleted %v", server.deleted)
				}
				if len(server.sends) != 0 {
					t.Errorf("%d sends were not made", len(server.sends))
				}
				for _, m := range server.sent {
					if m.ID != id {
						t.Errorf("sent under %s, want %s", m.ID, id)
					}
				}
			})
		})
	}
}

func TestWhatIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		err   error
		tries int
		want  string
	}{
		{failure(rest.ErrInvalid), 4, ""},
		{failure(rest.ErrInvalid), 5, Refused},
		{failure(rest.ErrTwoFactor), 5, Refused},
		{failure(rest.ErrNoRoute), 9, Refused},
		{failure(rest.ErrUnavailable), 1000, ""},
		{&rest.Error{Status: 200, Kind: rest.ErrNotJSON, Uncertain: true}, 1000, ""},
		{failure(rest.ErrRateLimited), 1000, ""},
		{failure(rest.ErrRefused), 1000, ""},
		{context.Canceled, 1000, ""},
	} {
		if got := Doomed(test.err, test.tries); got != test.want {
			t.Errorf("%v at try %d: %q, want %q", test.err, test.tries, got, test.want)
		}
	}
}

func TestThreadIsNamedOnlyWhereItsRootLies(t *testing.T) {
	for _, test := range []struct {
		name string
		root line
		want string
		err  error
	}{
		{"in the same room", line{m: chat.Message{ID: "root", RoomID: "room"}}, "root", nil},
		{"in another room", line{m: chat.Message{ID: "root", RoomID: "secret"}}, "", nil},
		{"gone", line{err: failure(rest.ErrNotFound)}, "", nil},
		{"not for the bot to see", line{err: failure(rest.ErrForbidden)}, "", nil},
		{"nobody can say", line{err: failure(rest.ErrUnavailable)}, "", rest.ErrUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &script{t: t, sends: []line{{}, {}}, reads: map[string][]line{"root": {test.root}}}
			p := &Poster{Server: server, Self: "bot", Key: []byte("key"), Log: slog.New(slog.DiscardHandler)}
			threaded := part
			threaded.Thread = "root"
			_, err := p.Post(t.Context(), threaded)
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if err == nil && server.sent[0].Thread != test.want {
				t.Errorf("posted in thread %q, want %q", server.sent[0].Thread, test.want)
			}
		})
	}
}

func TestSignsOfAQuickAnswerCostNoReaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reacted []bool
		var typed []bool
		s := &Signs{
			React: func(_ context.Context, _, emoji string, on bool) error {
				if emoji != ":eyes:" {
					t.Errorf("reacted with %s", emoji)
				}
				reacted = append(reacted, on)
				return nil
			},
			Type: func(_, _ string, on bool) { typed = append(typed, on) },
			Log:  slog.New(slog.DiscardHandler),
		}
		done := s.Show("room", "", "q")
		synctest.Wait()
		done()
		done() // twice does no harm
		s.Wait()
		if len(reacted) != 0 || !cmp.Equal(typed, []bool{true, false}) {
			t.Errorf("a quick answer reacted %v and typed %v", reacted, typed)
		}

		typed = nil
		done = s.Show("room", "", "q")
		time.Sleep(25 * time.Second)
		done()
		s.Wait()
		if !cmp.Equal(reacted, []bool{true, false}) || !cmp.Equal(typed, []bool{true, true, true, false}) {
			t.Errorf("25 s of work reacted %v and typed %v", reacted, typed)
		}
	})
}

func TestTypingIsDroppedNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var typed atomic.Int32
		s := &Signs{
			React: func(context.Context, string, string, bool) error { return errors.New("no") },
			Type:  func(string, string, bool) { typed.Add(1) },
			Log:   slog.New(slog.DiscardHandler),
		}
		var ends []func()
		for range 100 {
			ends = append(ends, s.Show("room", "", "q"))
		}
		synctest.Wait()
		if n := typed.Load(); n == 0 || n > 20 {
			t.Errorf("%d typing notices at once; a connection has 40 in 40 s", n)
		}
		for _, end := range ends {
			end()
		}
		s.Wait()
	})
}

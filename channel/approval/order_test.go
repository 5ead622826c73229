package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/profile"
)

// A late room has what is posted at once, by its clock, and says so to whoever
// posts when the test lets it.
type lateRoom struct {
	*room
	reply chan time.Time // what the server says of when it was
}

func (r *lateRoom) post(ctx context.Context, p Place, text string) (time.Time, error) {
	if _, err := r.room.post(ctx, p, text); err != nil {
		return time.Time{}, err
	}
	select {
	case sent := <-r.reply:
		return sent, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// What is said after a request by the server's time decides it, in whatever
// order we come to know: the server's reply to our own post, our own message
// over the socket, and the answer.
func TestTheOrderInWhichWeComeToKnow(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		after  time.Duration // of the answer, after the request, by the server
		events string        // r: reply, s: socket, a: answer, x: the turn is stopped
		want   string        // what it decides, or else what becomes of it
	}{
		{"the usual order", "10", time.Second, "rsa", "once"},
		{"the socket first", "10", time.Second, "sar", "once"},
		{"the socket alone", "10", time.Second, "sa", "once"},
		{"the answer before the reply", "10", time.Second, "ar", "once"},
		{"the answer before both", "10", time.Second, "asr", "once"},
		{"a word before the reply", "yes", 2 * time.Second, "ar", "once"},
		{"a word too early, before the reply", "yes", time.Second, "ar", "told " + sayEarly},
		{"said before it was asked, heard before the reply", "10", -time.Millisecond, "ar", "told " + sayEarly},
		{"said at that very moment", "10", 0, "as", "told " + sayEarly},
		{"said before it was asked", "10", -time.Second, "sa", "told " + sayEarly},
		{"neither ever comes", "10", time.Second, "a", "waits"},
		{"stopped before the reply", "10", time.Second, "ax", "told " + sayOver},
		{"stopped, and then the reply", "10", time.Second, "axr", "told " + sayOver},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &lateRoom{room: newRoom(), reply: make(chan time.Time, 1)}
				d := Open(Config{
					Post: r.post, Attach: r.attach, Edit: r.edit, ID: idOf, Save: r.save, Log: slog.New(slog.DiscardHandler),
					Server: func(t time.Time) time.Time { return t.Add(skew) },
				}, nil)
				defer d.Close()
				d.book = New(0) // its numbers begin with 10
				policy := gate.Compile(profile.Access{
					People: []profile.Person{{ID: "olga", Role: profile.Owner}}, Rooms: []profile.Room{{ID: "room"}}, Approvals: "owner",
				}, nil)
				sent := time.Now().Add(skew)
				message := chat.Message{
					ID: "m", RoomID: "room", Text: c.text, Sender: chat.User{ID: "olga"},
					Sent: chat.At(sent.Add(c.after)), Updated: chat.At(sent.Add(c.after)), MentionsSet: true,
				}
				got := "waits"
				d.Ask(live("q"), func(option string) { got = option })
				synctest.Wait()
				var judge func()
				judge = func() {
					v := gate.Decide(message, gate.Facts{
						Self: chat.User{ID: "uBot", Username: "bot"}, Policy: policy, Now: message.Sent.Time, Age: time.Hour,
						Room: gate.Room{Known: true, Participant: true, Kind: chat.Group}, Requests: d.Requests("room", ""),
					})
					if v.Action != gate.Answered {
						t.Errorf("the gate makes of it %v", v)
					}
					if say, held := d.Answer(v.Answer, "olga", func() { go judge() }); !held && say != "" {
						got = "told " + say
					}
				}
				for _, event := range c.events {
					switch event {
					case 'r':
						r.reply <- sent
					case 's':
						own := idOf(Place{Question: "q", Step: "request-1"})
						d.Heard("room", "another of ours", sent.Add(-time.Hour))
						d.Heard("elsewhere", own, sent.Add(-time.Hour))
						d.Heard("room", own, sent)
					case 'a':
						judge()
					case 'x':
						d.End("q", Stopped)
					}
					synctest.Wait()
				}
				if got != c.want {
					t.Errorf("it %s, want %s", got, c.want)
				}
			})
		})
	}
}

// At the end of the channel what is held is left to the store.
func TestHeldAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		r.online = make(chan struct{})
		d := r.desk(slog.New(slog.DiscardHandler))
		d.Ask(live("q"), func(string) { t.Error("decided") })
		if _, held := d.Answer(gate.Answer{Request: "q/1", State: gate.Early}, "olga", func() { t.Error("judged again") }); !held {
			t.Error("not held")
		}
		d.Close()
		time.Sleep(time.Hour)
	})
}

// A request that is too long for messages is a file, and the text that asks for
// a decision comes after it. One whose file can't be sent is refused, and said.
func TestARequestAsAFile(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom()
				if lost {
					r.lost = errors.New("the server did not take it")
				}
				d := r.desk(slog.New(slog.DiscardHandler))
				defer d.Close()
				a, got := live("q"), "nothing"
				a.Asked.Body = strings.Repeat("echo all of this\n", 10_000)
				d.Ask(a, func(option string) { got = option })
				synctest.Wait()
				if len(r.files) != 1 || r.files[0].Content != "Remove the build\n\n"+a.Asked.Body {
					t.Fatalf("%d files", len(r.files))
				}
				if lost {
					if want := []string{"post request-1 0", "post request-1 1"}; got != "" || !slices.Equal(r.heard(), want) ||
						r.last[Place{Question: "q", Step: "request-1", Index: 1, Room: "room"}] != sayUnsent {
						t.Errorf("decided %q, heard %q, %v", got, r.heard(), r.last)
					}
					return
				}
				if say := answer(t, d, gate.Answer{Request: "q/1", Option: "once"}); say != "" || got != "once" {
					t.Errorf("decided %q, told %q", got, say)
				}
				synctest.Wait()
				want := []string{"post request-1 0", "post request-1 1", "edit request-1 1: Allowed once by olga."}
				if heard := r.heard(); !slices.Equal(heard, want) {
					t.Errorf("heard %q", heard)
				}
			})
		})
	}
}

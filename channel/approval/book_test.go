package approval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/gate"
	"rcsupervisor/profile"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// skew is how far the server's clock is from ours in all tests.
const skew = 90 * time.Second

func at(after time.Duration) Moment {
	return Moment{Ours: noon.Add(after), Server: noon.Add(after + skew)}
}

// usual are the options of most agents.
var usual = []agent.Option{
	{ID: "once", Name: "Allow", Kind: "allow_once"},
	{ID: "always", Name: "Always allow", Kind: "allow_always"},
	{ID: "deny", Name: "Reject", Kind: "reject_once"},
}

func ask(question string) Ask {
	return Ask{
		Question: question, Room: "room", Asker: "uAsker", Expires: noon.Add(55 * time.Second),
		Asked: agent.Asked{ID: "1", Title: "Remove the build", Body: "rm -rf build", Options: usual},
	}
}

// open puts a request before people at noon, and returns its choices.
func opened(t *testing.T, b *Book, a Ask) []gate.Choice {
	t.Helper()
	then := b.Ask(a, at(0))
	if len(then) != 1 {
		t.Fatalf("%+v", then)
	}
	show, ok := then[0].(Show)
	if !ok || show.Name != a.Name() {
		t.Fatalf("%+v", then)
	}
	b.Shown(a.Name(), at(0).Server)
	for _, r := range b.Requests() {
		if r.ID == a.Name() {
			return r.Choices
		}
	}
	t.Fatal("the gate is not told of it")
	return nil
}

// TestWhoDecidesWhatWhen goes through every combination of who says what, where
// and when, through the gate and the book, and compares with the rules as they
// are written.
func TestWhoDecidesWhatWhen(t *testing.T) {
	people := []profile.Person{{ID: "uOwner", Role: profile.Owner}, {ID: "uAsker", Role: profile.Member}, {ID: "uMember", Role: profile.Member}, {ID: "uBlocked", Role: profile.Blocked}}
	policies := map[bool]*gate.Policy{}
	for _, too := range []bool{false, true} {
		a := profile.Access{People: people, Rooms: []profile.Room{{ID: "room", Mention: true}, {ID: "other", Mention: true}}, Approvals: "owner"}
		if too {
			a.Approvals = "asker"
		}
		policies[too] = gate.Compile(a, nil)
	}
	// decided is what a saying decides, by the rules: "" for nothing.
	decided := func(s saying) string {
		option := map[string]string{"10": "once", "11": "deny", "yes": "once", "YES ": "once", "no": "deny"}[s.text]
		if s.plain {
			option = map[string]string{"10": "red", "11": "blue"}[s.text]
		}
		word := !strings.HasPrefix(s.text, "1")
		switch {
		case s.closed, s.caughtUp, s.room != "room", s.thread != "":
			return ""
		case s.after <= 0, word && s.after < 2*time.Second, s.after >= 55*time.Second:
			return ""
		case s.who == "uOwner", s.who == "uAsker" && (s.plain || s.askerToo):
			return option
		}
		return ""
	}
	cases, decisions := 0, 0
	for _, plain := range []bool{false, true} {
		for _, closed := range []bool{false, true} {
			for _, caughtUp := range []bool{false, true} {
				for _, too := range []bool{false, true} {
					for _, where := range [][2]string{{"room", ""}, {"room", "thread"}, {"other", ""}} {
						for _, who := range []string{"uOwner", "uAsker", "uMember", "uStranger", "uBlocked"} {
							for _, text := range []string{"10", "11", "12", "010", "10.", "10 please", "1", "", " ", "yes", "YES ", "no", "ok", "allow", "yes no"} {
								for _, after := range []time.Duration{-time.Second, 0, time.Millisecond, 1999 * time.Millisecond, 2 * time.Second, 54 * time.Second, 55 * time.Second, time.Minute} {
									s := saying{who, text, where[0], where[1], after, caughtUp, too, plain, closed}
									got, want := s.decides(t, policies[too]), decided(s)
									if got != want {
										t.Fatalf("%+v decides %q, want %q", s, got, want)
									}
									cases++
									if want != "" {
										decisions++
									}
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d cases, %d of them decisions", cases, decisions)
	if decisions == 0 {
		t.Error("nothing decides anything")
	}
}

// A saying is a message, and the request it may be about.
type saying struct {
	who, text, room, thread string
	after                   time.Duration // of the message, after the request was shown
	caughtUp, askerToo      bool
	plain, closed           bool
}

// decides returns what a message decides about the request.
func (s saying) decides(t *testing.T, p *gate.Policy) string {
	b := New(0)
	a := ask("q")
	if s.plain {
		a.Asked = agent.Asked{ID: "1", Title: "Which?", Plain: true, Options: []agent.Option{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}}}
	}
	opened(t, b, a)
	if s.closed {
		b.Close(a.Name(), Withdrawn, at(0))
	}
	now := at(max(s.after, 0))
	m := chat.Message{
		ID: "m", RoomID: s.room, Thread: s.thread, Text: s.text, Sender: chat.User{ID: s.who},
		Sent: chat.At(at(s.after).Server), Updated: chat.At(at(s.after).Server), MentionsSet: true,
	}
	v := gate.Decide(m, gate.Facts{
		Self: chat.User{ID: "uBot", Username: "bot"}, Policy: p, Now: now.Server, Age: 10 * time.Minute, CaughtUp: s.caughtUp,
		Room: gate.Room{Known: true, Participant: true, Kind: chat.Group}, Requests: b.Requests(),
	})
	if v.Action != gate.Answered {
		return ""
	}
	foreseen, counts := b.counts(v.Answer, now)
	reply, then := b.Answer(v.Answer, "olga", now)
	if counts != (reply == "") {
		t.Fatalf("%q counts: %v, and is told %q", s.text, counts, reply)
	}
	option := ""
	for _, e := range then {
		if d, ok := e.(Decide); ok {
			option = d.Option
		}
	}
	if option != foreseen {
		t.Fatalf("%q decides %q, not %q", s.text, option, foreseen)
	}
	if (reply == "") != (option != "") {
		t.Fatalf("%q decides %q and is told %q", s.text, option, reply)
	}
	if isOpen := b.requests[0].state == open; now.Ours.Before(a.Expires) && isOpen != (option == "" && !s.closed) {
		t.Fatalf("%q leaves the request %d", s.text, b.requests[0].state)
	}
	return option
}

func TestADecisionEditsTheMessage(t *testing.T) {
	for _, c := range []struct {
		option, outcome string
	}{{"once", "Allowed once by olga."}, {"deny", "Refused by olga."}} {
		b := New(31)
		opened(t, b, ask("q"))
		reply, then := b.Answer(gate.Answer{Request: "q/1", Option: c.option}, "olga", at(3*time.Second))
		edit := Edit{
			Name: "q/1", Place: Place{Question: "q", Step: "request-1", Room: "room"},
			Text: "**The agent asks for leave:** `Remove the build`\n```\nrm -rf build\n```\n\n" + c.outcome,
		}
		if d := cmp.Diff([]Effect{Decide{Name: "q/1", Option: c.option}, edit}, then); d != "" || reply != "" {
			t.Errorf("%q %s", reply, d)
		}
		if reply, then := b.Answer(gate.Answer{Request: "q/1", Option: "once"}, "olga", at(4*time.Second)); reply != sayOver || then != nil {
			t.Errorf("a second decision: %q %v", reply, then)
		}
	}
}

func TestOneIsOpenAndTheNextWaits(t *testing.T) {
	b := New(0)
	first, second, third := ask("q"), ask("q"), ask("q")
	second.Asked.ID, third.Asked.ID = "2", "3"
	elsewhere := ask("p")
	elsewhere.Thread = "thread"
	opened(t, b, first)
	if then := slices.Concat(b.Ask(second, at(0)), b.Ask(third, at(0)), b.Ask(first, at(0))); then != nil {
		t.Fatalf("shown beside the first: %+v", then)
	}
	opened(t, b, elsewhere)
	if n := len(b.Requests()); n != 2 {
		t.Errorf("the gate is told of %d", n)
	}
	_, then := b.Answer(gate.Answer{Request: "q/1", Option: "once"}, "o", at(3*time.Second))
	if len(then) != 3 || then[2].(Show).Name != "q/2" {
		t.Errorf("%+v", then)
	}
	// The third has too little time left by the time it could be shown, and
	// what is left of the turn ends with it.
	b.Shown("q/2", at(4*time.Second).Server)
	_, then = b.Answer(gate.Answer{Request: "q/2", Option: "deny"}, "o", at(51*time.Second))
	want := []Effect{Decide{Name: "q/3"}, Tell{Place: Place{Question: "q", Step: "request-3", Room: "room"}, Text: sayNoTime}}
	if d := cmp.Diff(want, then[2:]); d != "" {
		t.Error(d)
	}
}

func TestItExpiresAndRefuses(t *testing.T) {
	b := New(0)
	opened(t, b, ask("q"))
	second := ask("q")
	second.Asked.ID = "2"
	b.Ask(second, at(0))
	if next := b.Next(); !next.Equal(noon.Add(55 * time.Second)) {
		t.Errorf("looked at again at %v", next)
	}
	if then := b.Expire(at(54 * time.Second)); then != nil {
		t.Errorf("too early: %+v", then)
	}
	then := b.Expire(at(55 * time.Second))
	kinds := ""
	for _, e := range then {
		kinds += strings.TrimPrefix(fmt.Sprintf("%T ", e), "approval.")
	}
	if kinds != "Decide Edit Decide Tell " {
		t.Errorf("%s: %+v", kinds, then)
	}
	for _, e := range then {
		if d, ok := e.(Decide); ok && d.Option != "" {
			t.Errorf("allowed: %+v", d)
		}
	}
	if !b.Next().IsZero() {
		t.Error("there is still something to expire")
	}
}

func TestTheEndOfATurn(t *testing.T) {
	for _, why := range []Why{Stopped, Disconnected, Ended} {
		b := New(0)
		opened(t, b, ask("q"))
		second := ask("q")
		second.Asked.ID = "2"
		b.Ask(second, at(0))
		other := ask("p")
		b.Ask(other, at(0)) // of another turn in the same conversation, as after a stop
		then := b.End("q", why, at(time.Second))
		if len(then) != 2 || !strings.HasSuffix(then[0].(Edit).Text, undecided(why)) || then[1].(Show).Name != "p/1" {
			t.Errorf("%s: %+v", why, then)
		}
		if then := b.End("q", why, at(time.Second)); then != nil {
			t.Errorf("%s, again: %+v", why, then)
		}
	}
}

func TestRefusedAtOnceAndSaidSo(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Ask)
		say    string
	}{
		"nobody to decide": {func(a *Ask) { a.Nobody = true }, sayNobody},
		"only for ever":    {func(a *Ask) { a.Asked.Options = usual[1:] }, sayLasting},
		"nothing to allow": {func(a *Ask) { a.Asked.Options = usual[2:] }, sayLasting},
		"nothing at all":   {func(a *Ask) { a.Asked.Options = nil }, sayLasting},
		"over already":     {func(a *Ask) { a.Expires = noon.Add(time.Second) }, sayNoTime},
		"too long":         {func(a *Ask) { a.Asked.Body = strings.Repeat("echo all of this\n", 1_000_000) }, sayLong},
		"no room for it":   {func(a *Ask) { a.Size = 200 }, sayLong},
		"too many choices": {func(a *Ask) {
			a.Asked.Options = slices.Repeat([]agent.Option{{ID: "x", Name: strings.Repeat("n", 200)}}, 20)
		}, sayLong},
		"no number is left": {func(*Ask) {}, sayNumbers},
	} {
		b := New(0)
		if c.say == sayNumbers {
			var all []choice
			for n := firstNumber; n < endNumber-1; n++ {
				all = append(all, choice{number: fmt.Sprint(n)})
			}
			b.requests = append(b.requests, &request{name: "past", state: closed, closed: at(0).Server, choices: all})
		}
		a := ask("q")
		c.change(&a)
		want := []Effect{Decide{Name: "q/1"}, Tell{Place: Place{Question: "q", Step: "request-1", Room: "room"}, Text: c.say}}
		if d := cmp.Diff(want, b.Ask(a, at(0))); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if strings.Contains(fmt.Sprint(b.Requests()), "q/1") {
			t.Errorf("%s: it is still in the book", what)
		}
	}
}

package gate

import (
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// request is open in the room of [hello] since 30 s before noon, after a
// question of the member's.
func request() Request {
	return Request{
		ID: "q1", Room: "rOn", Sent: noon.Add(-30 * time.Second), Asker: member,
		Choices: []Choice{{Number: "41", Word: "yes", Option: "allow"}, {Number: "42", Word: "no", Option: "refuse"}, {Number: "43", Option: "other"}},
	}
}

// A world is what one case of TestAwaited changes.
type world struct {
	m *chat.Message
	f *Facts
	r *Request
}

func TestAwaited(t *testing.T) {
	none := func(world) {}
	for _, c := range []struct {
		what, from, text string
		change           func(world)
		want             string // "option" of what counts, or else what becomes of it
	}{
		{"a number", owner, "41", none, "allow"},
		{"another number", owner, "42", none, "refuse"},
		{"a choice without a word", owner, "43", none, "other"},
		{"yes", owner, "yes", none, "allow"},
		{"No, in any case", owner, " NO\n", none, "refuse"},
		{"with a mention before it", owner, "@hermes 41", func(w world) { w.m.Mentions = []chat.User{{ID: self.ID, Username: "hermes"}} }, "allow"},
		{"with something unseen", owner, "\u200b41\u200b", none, "allow"},
		{"nothing but", owner, "41 please", none, "unwoken"},
		{"no other number", owner, "44", none, "unwoken"},
		{"no other form", owner, "041", none, "unwoken"},
		{"nor other digits", owner, "４１", none, "unwoken"},
		{"nor two", owner, "41 42", none, "unwoken"},
		{"nor a full stop", owner, "41.", none, "unwoken"},
		{"nor other words", owner, "ok", none, "unwoken"},
		{"nor nothing", owner, "", none, "unwoken"},

		// who
		{"a member may not", member, "41", none, "awaited"},
		{"nor by a word", member, "yes", none, "unwoken"},
		{"the asker may under approvals: asker", member, "41", func(w world) { askers(w.f) }, "allow"},
		{"by a word too", member, "no", func(w world) { askers(w.f) }, "refuse"},
		{"another member may not", member, "41", func(w world) { askers(w.f); w.r.Asker = "uOther" }, "awaited"},
		{"a question of the agent's own is its asker's", member, "41", func(w world) { w.r.Plain = true }, "allow"},
		{"and nobody else's", member, "41", func(w world) { w.r.Plain, w.r.Asker = true, "uOther" }, "awaited"},
		{"an owner's too", owner, "41", func(w world) { w.r.Plain, w.r.Asker = true, "uOther" }, "allow"},
		{"a stranger may not", stranger, "41", none, "awaited"},
		{"an asker who is one by now", stranger, "41", func(w world) { askers(w.f); w.r.Asker, w.r.Plain = stranger, true }, "awaited"},
		{"nor one who is blocked by now", blocked, "41", func(w world) { askers(w.f); w.r.Asker, w.r.Plain = blocked, true }, "awaited"},
		{"nor a bot", otherBot, "41", none, "bot"},

		// where
		{"in another room", owner, "41", func(w world) { w.r.Room = "rOther" }, "unwoken"},
		{"in a thread", owner, "41", func(w world) { w.m.Thread = "t1" }, "unwoken"},
		{"in its thread", owner, "41", func(w world) { w.m.Thread, w.r.Thread = "t1", "t1" }, "allow"},
		{"beside its thread", owner, "41", func(w world) { w.r.Thread = "t1" }, "unwoken"},

		// when
		{"a number at once", owner, "41", func(w world) { w.r.Sent = w.m.Sent.Add(-time.Millisecond) }, "allow"},
		{"a number at the same moment", owner, "41", func(w world) { w.r.Sent = w.m.Sent.Time }, "early"},
		{"a number before it", owner, "41", func(w world) { w.r.Sent = w.m.Sent.Add(time.Second) }, "early"},
		{"a number before it is shown", owner, "41", func(w world) { w.r.Sent = time.Time{} }, "early"},
		{"a word in the first two seconds", owner, "yes", func(w world) { w.r.Sent = w.m.Sent.Add(-1999 * time.Millisecond) }, "early"},
		{"a word after them", owner, "yes", func(w world) { w.r.Sent = w.m.Sent.Add(-2 * time.Second) }, "allow"},
		{"a word before it is shown", owner, "yes", func(w world) { w.r.Sent = time.Time{} }, "early"},
		{"a number after it closed", owner, "41", func(w world) { w.r.Closed = noon.Add(-time.Hour); w.r.Sent = noon.Add(-2 * time.Hour) }, "closed"},
		{"a word while it closed", owner, "yes", func(w world) { w.r.Closed = w.m.Sent.Add(-2 * time.Second) }, "closed"},
		{"a word later is another matter", owner, "yes", func(w world) { w.r.Closed = w.m.Sent.Add(-3 * time.Second) }, "unwoken"},
		{"a number that was caught up", owner, "41", func(w world) { w.f.CaughtUp = true }, "missed"},
		{"a word that was caught up", owner, "yes", func(w world) { w.f.CaughtUp = true }, "missed"},
		{"caught up after it closed", owner, "41", func(w world) { w.f.CaughtUp = true; w.r.Closed = noon }, "closed"},
		{"a number that was edited in", owner, "41", func(w world) { w.m.Touched = chat.TouchEdited }, "edited*"},
		{"a number with a reaction", owner, "41", touch, "reemit*"},
		{"an old number", owner, "41", func(w world) { w.m.Sent = chat.At(noon.Add(-time.Hour)) }, "age*"},
		{"encrypted", owner, "41", func(w world) { w.m.Encrypted = true }, "unwoken"},
		{"in a room that is off by now", owner, "41", func(w world) { w.m.RoomID, w.r.Room = "rOther", "rOther" }, "room-off"},

		// two at a time
		{"a word means one thing", owner, "yes", func(w world) { second(w.f, "51", time.Time{}) }, "unwoken"},
		{"a number does in any case", owner, "51", func(w world) { second(w.f, "51", time.Time{}) }, "second"},
		{"the other is closed", owner, "yes", func(w world) { second(w.f, "51", noon.Add(-time.Minute)) }, "allow"},
	} {
		m, f := hello(), facts()
		m.Sender.ID, m.Text, m.Mentions = c.from, c.text, nil
		f.Requests = []Request{request()}
		c.change(world{&m, &f, &f.Requests[0]})
		v := Decide(m, f)
		got := short(v)
		if v.Action == Answered {
			if got = v.Answer.Option; v.Answer.State != Counts {
				got = v.Answer.State.String()
			}
			if v.Answer.Request == "" || !v.MoveCursor || v.Step != StepAwaited {
				t.Errorf("%s: %+v", c.what, v)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q is %s, want %s", c.what, c.text, got, c.want)
		}
	}
}

func touch(w world) {
	w.m.Touched, w.m.Updated = chat.TouchReaction, chat.At(w.m.Sent.Add(time.Minute))
}

func askers(f *Facts) {
	a := access()
	a.Approvals = "asker"
	f.Policy = Compile(a, nil)
}

func second(f *Facts, number string, closed time.Time) {
	r := request()
	r.ID, r.Closed, r.Choices = "q2", closed, []Choice{{Number: number, Word: "yes", Option: "second"}}
	f.Requests = append(f.Requests, r)
}

// While a request is open, what Hermes would take for a decision does not
// reach an agent, from nobody; once it is closed these are words like others.
func TestWordsOfApprovalWhileARequestIsOpen(t *testing.T) {
	for _, text := range []string{
		"approve", "ok", "Okay!", "confirm", "y", "👍", "deny", "reject", "cancel", "n", "👎", "always", "Approve  always.", "always approve",
		"session", "approve session", "session approve", "/approve", "/approve always", "!deny all", "@hermes ok", "\u200bapprove",
	} {
		for _, from := range []string{owner, member} {
			m, f := direct(from, text)
			m.MentionsSet = false
			r := request()
			r.Room = m.RoomID
			f.Requests = []Request{r}
			if v := Decide(m, f); v.Action != Refuse || v.Why != WhyPending {
				t.Errorf("%q of %s: %+v", text, from, v)
			}
			f.Requests[0].Closed = noon.Add(-time.Minute)
			if v := Decide(m, f); v.Why == WhyPending {
				t.Errorf("%q of %s, after it closed: %+v", text, from, v)
			}
		}
	}
	// A member's yes is no decision and no question either.
	m, f := direct(member, "yes")
	r := request()
	r.Room = m.RoomID
	f.Requests = []Request{r}
	if v := Decide(m, f); v.Why != WhyPending {
		t.Errorf("a member's yes: %+v", v)
	}
	m.Text = "yes, and then make tea"
	if v := Decide(m, f); v.Action != Ask {
		t.Errorf("a sentence: %+v", v)
	}
	m.Text = "!stop"
	if v := Decide(m, f); v.Action != Order {
		t.Errorf("stop goes on working: %+v", v)
	}
}

func TestRolesDecideNotNames(t *testing.T) {
	m, f := hello(), facts()
	m.Sender = chat.User{ID: stranger, Username: "olga", Name: "Olga", Type: "user"}
	m.Alias = "olga"
	if v := Decide(m, f); v.Role != "" || v.Action == Ask {
		t.Errorf("an alias was believed: %+v", v)
	}
	m.Sender.ID = owner
	m.Sender.Username = "renamed"
	if v := Decide(m, f); v.Role != profile.Owner {
		t.Errorf("%+v", v)
	}
}

package gate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// FuzzDecide: whatever an event says, what must never happen doesn't.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"_id":"m1","rid":"rOn","msg":"@hermes hello","ts":{"$date":1796040000000},"u":{"_id":"uMember"}}`), []byte(`{"roomParticipant":true,"roomType":"c"}`), uint8(0))
	f.Add([]byte(`{"_id":"m1","rid":"rOn","msg":"41","ts":{"$date":1796040000000},"u":{"_id":"uOwner"},"mentions":[]}`), []byte(`{"roomParticipant":true,"roomType":"p"}`), uint8(1))
	f.Add([]byte(`{"_id":"m1","rid":"uHermesuMember","msg":"/yolo","ts":{"$date":1796040000000},"u":{"_id":"uMember"},"t":"e2e"}`), []byte(`{"roomParticipant":true,"roomType":"d"}`), uint8(2))
	f.Add([]byte(`{"_id":"m1","rid":"uHermesuStranger","msg":"hi","ts":"2026-11-30T11:59:59Z","u":{"_id":"uStranger"},"editedAt":{"$date":1}}`), []byte(`{"roomParticipant":true,"roomType":"d"}`), uint8(4))
	f.Add([]byte(`{"_id":"m1","rid":"rFree","msg":"!approve","ts":{"$date":1796040000000},"u":{"_id":"uMember"},"reactions":[]}`), []byte(`{}`), uint8(255))
	f.Fuzz(func(t *testing.T, message, context []byte, flags uint8) {
		m, where, err := chat.ParseEvent([]json.RawMessage{message, context})
		if err != nil {
			return
		}
		f := facts()
		f.Room = FromEvent(where)
		f.Room.Informed, f.CaughtUp = flags&1 != 0, flags&2 != 0
		f.OverRate, f.OverCap = flags&4 != 0, flags&8 != 0
		if flags&16 != 0 {
			f.Room = Room{Known: true, Participant: true, Kind: chat.Direct, Informed: true, Members: 2}
		}
		if flags&32 != 0 {
			f.Requests = []Request{request()}
		}
		v := Decide(m, f)
		if again := Decide(m, f); again != v {
			t.Fatalf("not the same twice: %+v, %+v", v, again)
		}
		never(t, m, f, v)
	})
}

func never(t *testing.T, m chat.Message, f Facts, v Verdict) {
	t.Helper()
	bad := func(what string) { t.Errorf("%s: %+v\n%+v", what, v, m) }
	if !slices.Contains(Steps, v.Step) {
		bad("an unknown step")
	}
	acts := v.Action != Ignore && v.Action != Retry
	role := f.Policy.Role(m.Sender.ID)
	letIn := role == profile.Owner || role == profile.Member
	switch {
	case acts && (m.Sender.ID == self.ID || m.Sender.ID == sibling || m.Sender.ID == otherBot || m.Sender.ID == ignored || m.Automated):
		bad("a bot was heard")
	case acts && !(f.Room.Known && f.Room.Participant):
		bad("in a room that is not the bot's")
	case acts && !letIn && v.Action != Stranger:
		bad("somebody who is not let in was heard")
	case role == profile.Blocked && acts:
		bad("the blocked hear nothing")
	case !f.CaughtUp && acts && (m.Touched.Has(chat.TouchEdited) || m.Sent.IsZero() || f.Now.Sub(m.Sent.Time) > f.Age):
		bad("an old message was heard")
	case acts && m.Type != "" && m.Type != "e2e":
		bad("a system note was heard")
	case v.Action == Stranger && (letIn || v.Kind != KindDirect):
		bad("a stranger outside a direct room")
	case v.Action == Retry && v.MoveCursor, v.Step == StepReemit && v.MoveCursor, v.Step == StepEdited && v.MoveCursor, v.Step == StepAge && v.MoveCursor:
		bad("the cursor moved")
	case acts && !v.MoveCursor:
		bad("done and not settled")
	case v.Action == Answered && v.Answer.State == Counts && (f.CaughtUp || role != profile.Owner):
		bad("decided by who may not")
	case v.Action == Ask && role == profile.Member && (v.Bare || forHermes(v.Text)):
		bad("a member gives commands")
	case v.Action == Ask && m.Encrypted:
		bad("cipher for a question")
	case v.Action == Refuse && v.Why == "":
		bad("no reason")
	}
}

// FuzzMemberText: no text of a member's, whatever its bytes, is a command that
// he may not give, and none of anybody's becomes another text.
func FuzzMemberText(f *testing.F) {
	for _, s := range []string{
		"hello", "/yolo", " !restart", "@hermes /approve always", "\u200b/x", "/etc/hosts", "restart the gateway, please", "41", "yes", "\x1c/\x00yolo", "/yolo@hermes x", "＠hermes ／yolo",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, f := direct(member, text)
		m.MentionsSet = false
		for _, requests := range [][]Request{nil, {{ID: "q1", Room: m.RoomID, Sent: noon.Add(-time.Minute), Asker: member, Choices: request().Choices}}} {
			f.Requests = requests
			v := Decide(m, f)
			never(t, m, f, v)
			if v.Action == Order && !ours(v.Command.Name) || v.Action == Answered {
				t.Errorf("%q: %+v", text, v)
			}
			if v.Action == Ask && requests != nil && decisive(v.Text) {
				t.Errorf("%q decides", text)
			}
			if v.Action == Ask && v.Text != text && !strings.Contains(text, "@hermes") {
				t.Errorf("%q became %q", text, v.Text)
			}
			m.Sender.ID = owner
			if o := Decide(m, f); o.Action == Ask && !o.Bare && forHermes(o.Text) {
				t.Errorf("an owner's %q is shown with a header", text)
			}
			m.Sender.ID = member
		}
	})
}

// forHermes reads a text as Hermes' gateway does (gateway/platforms/base.py):
// leading white space dropped, a slash, a first word without another one.
func forHermes(text string) bool {
	text = strings.TrimLeft(text, " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000")
	if !strings.HasPrefix(text, "/") || strings.TrimSpace(text[1:]) == "" {
		return false
	}
	word, _, _ := strings.Cut(strings.Fields(text)[0][1:], "@")
	return strings.IndexFunc(word, letterOrDigit) == 0 && !strings.Contains(strings.Fields(text)[0][1:], "/")
}

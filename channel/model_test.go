package channel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/dedup"
)

// A history is a sequence of things that happen to one bot and its rooms. The
// model is one sentence: each question has exactly one answer, or exactly one
// note that it was interrupted, and nothing else is answered.
//
// It is played from bytes, so that the fuzzer can write it too: two for each
// step.
type history struct {
	*house
	steps []string // for people
	asked []question
	// stepped: the server's clock was put back and forth. A message that was
	// missed then may bear a time of before it was missed, and is not found.
	stepped bool
	// deaf: until then the socket brings no events. That a room's newest message
	// was not brought is found out; that an older one was not is not.
	deaf time.Time
	all  []pretend.Message // everything people said
}

// A question that the bot has to answer.
type question struct {
	room     pretend.Room
	id, text string
	edited   bool // while it may have been waiting: either text is an answer to it
	lost     bool // it was deleted, or said to a deaf socket: it may have no answer
}

func (h *history) note(format string, args ...any) {
	h.steps = append(h.steps, time.Since(epoch).Round(time.Millisecond).String()+" "+fmt.Sprintf(format, args...))
}

// epoch is where a bubble's clock begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// play takes one step, which a pair of bytes chooses.
func (h *history) play(what, how byte) {
	pick := int(how)
	room := []pretend.Room{h.direct, h.lab, h.den}[pick%3]
	switch what % 16 {
	case 0, 1, 2:
		h.ask(room, pretend.SayOptions{})
	case 3:
		h.note("chatter in %s", room.ID)
		if room.ID != h.direct.ID {
			h.all = append(h.all, h.server.Say(h.stranger, room, "chatter"))
		}
	case 4, 5:
		h.touch(pick)
	case 6:
		h.edit(pick)
	case 7:
		h.note("drop")
		h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: []int{0, 1000, 4000}[pick%3]})
	case 8:
		away := time.Duration(1+pick%90) * time.Second
		h.note("the server is away for %s", away)
		h.server.Break(pretend.Fault{Kind: pretend.Restart, Delay: pretend.Duration(away)})
	case 9:
		h.note("the process is killed and started again")
		h.again()
		h.run()
	case 10:
		h.note("the server's clock steps to %+d s", (pick-128)*2)
		h.stepped = true
		h.server.MendAll(pretend.ClockSkew)
		h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(time.Duration(pick-128) * 2 * time.Second)})
	case 11:
		length := time.Duration(1+pick) * time.Second
		h.note("deaf for %s", length)
		h.deaf = time.Now().Add(length)
		h.server.Break(pretend.Fault{Kind: pretend.Deaf, User: "hermes", For: pretend.Duration(length)})
	case 12:
		h.note("replies are lost, %d times", 1+pick%3)
		h.server.Break(pretend.Fault{Kind: pretend.LoseReply, Route: "chat.sendMessage", Count: 1 + pick%3})
	case 13:
		h.note("the store fails: %v", pick%2 == 0)
		if pick%2 == 0 {
			h.store.(*dedup.Memory).Fail(dedup.ErrReadOnly)
		} else {
			h.store.(*dedup.Memory).Fail(nil)
		}
	case 14:
		h.delete(pick)
	}
	h.pass(time.Duration(1+pick*pick/16) * 10 * time.Millisecond)
}

func (h *history) ask(room pretend.Room, o pretend.SayOptions) {
	text := fmt.Sprintf("question %d", len(h.asked))
	said := text
	if room.ID != h.direct.ID {
		said = "@hermes " + text
	}
	m := h.server.Say(h.owner, room, said, o)
	h.note("%s asks %s in %s", "olivia", text, room.ID)
	h.asked = append(h.asked, question{room: room, id: m.ID, text: text, lost: !time.Now().After(h.deaf)})
	h.all = append(h.all, m)
}

// touch has something happen to an earlier message, for one of all reasons.
func (h *history) touch(pick int) {
	if len(h.all) == 0 {
		return
	}
	m := h.all[pick%len(h.all)]
	if _, there := h.server.Message(m.ID); !there {
		return
	}
	all := causes(h.house)
	names := make([]string, 0, len(all))
	for name := range all {
		if !strings.Contains(name, "edit") && !strings.Contains(name, "thread") && !strings.Contains(name, "room sees") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := names[pick%len(names)]
	h.note("%s of %s", name, m.Text)
	all[name](m)
}

func (h *history) edit(pick int) {
	if len(h.asked) == 0 {
		return
	}
	q := &h.asked[pick%len(h.asked)]
	m, there := h.server.Message(q.id)
	if !there {
		return
	}
	h.note("%s is edited", q.text)
	q.edited = true
	h.server.Edit(m.ID, h.owner, m.Text+" edited")
}

func (h *history) delete(pick int) {
	if len(h.asked) == 0 {
		return
	}
	q := &h.asked[pick%len(h.asked)]
	if _, there := h.server.Message(q.id); !there {
		return
	}
	h.note("%s is deleted", q.text)
	q.lost = true
	h.server.Delete(q.id, h.owner)
}

// finish mends everything, lets the bot come to rest, and compares.
func (h *history) finish(fail func(format string, args ...any)) {
	h.store.(*dedup.Memory).Fail(nil)
	h.server.MendAll()
	h.pass(12 * time.Minute)
	h.server.Break(pretend.Fault{Kind: pretend.Drop}) // what is still missing is caught up now
	h.pass(8 * time.Minute)
	notes := 0
	for _, room := range []pretend.Room{h.direct, h.lab, h.den} {
		left := h.said(room)
		for _, q := range h.asked {
			if q.room.ID != room.ID {
				continue
			}
			n := 0
			left = slices.DeleteFunc(left, func(text string) bool {
				ours := text == "echo: "+q.text || q.edited && strings.HasPrefix(text, "echo: "+q.text+" edited")
				if ours {
					n++
				}
				return ours
			})
			switch {
			case n == 1, n == 0 && q.lost:
			case n == 0:
				notes++ // one of the notes has to be its
			default:
				fail("%s was answered %d times\n%s", q.text, n, h.story())
			}
		}
		for _, text := range left {
			if text != conversation.NoteInterrupted {
				fail("in %s the bot said %q, which nobody asked for\n%s", room.ID, text, h.story())
			}
			notes--
		}
	}
	switch r, _ := h.super.look(); {
	case notes > 0 && !h.stepped:
		fail("%d questions have neither an answer nor a note\n%s\n%+v", notes, h.story(), r)
	case notes < 0 && !h.stepped && !slices.ContainsFunc(h.asked, func(q question) bool { return q.lost }):
		fail("%d notes too many\n%s", -notes, h.story())
	case r.Phase != Online:
		fail("it is %s\n%s", r.Phase, h.story())
	}
}

func (h *history) story() string {
	return strings.Join(h.steps, "\n") + "\nlog:\n" + h.super.lines()
}

// tell plays a whole history in a bubble of its own. fail may stop the test; it
// is called outside the bubble.
func tell(t *testing.T, version pretend.Version, script []byte, fail func(format string, args ...any)) {
	var found string
	synctest.Test(t, func(t *testing.T) {
		server := pretend.New(pretend.Options{Version: version})
		h := &history{house: build(t, server)}
		h.dial = server.Pipe()
		h.env.Dial = h.dial
		h.start.Settings.Limits.AnswersPerHour = 10000
		defer server.Close()
		defer h.stop()
		h.up()
		for i := 0; i+1 < len(script); i += 2 {
			h.play(script[i], script[i+1])
		}
		h.finish(func(format string, args ...any) {
			if found == "" {
				found = fmt.Sprintf(format, args...)
			}
		})
	})
	if found != "" {
		fail("%s", found)
	}
}

// One answer for each question, whatever happens, in whatever order.
func TestOneAnswerForEachQuestion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		version := rapid.SampledFrom(pretend.Versions()).Draw(r, "version")
		tell(t, version, rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "script"), r.Fatalf)
	})
}

// FuzzOneAnswer is the same, written by the fuzzer.
func FuzzOneAnswer(f *testing.F) {
	f.Add([]byte{0, 0, 7, 1, 0, 1, 9, 2, 4, 3, 0, 4})
	f.Add([]byte{13, 0, 0, 1, 0, 2, 9, 0, 13, 1, 4, 0, 4, 1})
	f.Add([]byte{11, 200, 0, 0, 0, 1, 0, 200, 0, 255, 10, 0, 0, 3, 10, 255, 0, 4})
	f.Add([]byte{0, 0, 6, 0, 0, 1, 14, 1, 12, 2, 0, 5, 8, 40, 0, 6, 0, 7})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			t.Skip("long enough is long enough")
		}
		tell(t, pretend.V9, script, t.Fatalf)
	})
}

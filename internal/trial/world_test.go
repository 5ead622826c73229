package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"rcsupervisor/channel"
	"rcsupervisor/channel/conversation"
	"rcsupervisor/channel/post"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/profile"
)

// A world is a server with people who ask one bot, and what they asked.
type world struct {
	server *pretend.Server
	url    string
	bot    pretend.User
	people []pretend.User
	rooms  []pretend.Room // where people ask; direct ones last
	home   string
	key    string                // keys.post
	begun  func() map[string]int // how often the agent was asked each question

	mu      sync.Mutex
	planned int
	asked   []*question
}

// A question that somebody asked. The ids are those under which its answer, or
// a note in its place, is posted.
type question struct {
	id, room, thread string
	asker            pretend.User
	text             string
	answer           []string
	note             string
}

// newWorld makes a server on loopback with a bot, three people, three rooms and
// the people's direct rooms.
func newWorld(t testing.TB, o pretend.Options) *world {
	t.Helper()
	o.NoLimits = true
	server := pretend.New(o)
	t.Cleanup(func() { server.Close() })
	url, err := server.Listen("127.0.0.1:0")
	must(t, err)
	w := &world{server: server, url: url, home: newHome(t, t.TempDir()), key: "the key of this trial"}
	w.begun = w.logged
	w.bot = server.AddUser("hermes", pretend.UserOptions{Bot: true})
	for _, name := range []string{"olivia", "gustav", "maria"} {
		w.people = append(w.people, server.AddUser(name, pretend.UserOptions{}))
	}
	all := append(slices.Clone(w.people), w.bot)
	w.rooms = []pretend.Room{
		server.AddChannel("general", all...), server.AddChannel("lounge", all...), server.AddGroup("backstage", all...),
	}
	for _, p := range w.people {
		w.rooms = append(w.rooms, server.AddDirect(p, w.bot))
	}
	return w
}

// newHome makes a profile's home of a folder.
func newHome(t testing.TB, home string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(channel.StateFile(home)), 0o700))
	return home
}

// tell completes a child's orders by whom and what it serves.
func (w *world) tell(o orders) orders {
	o.Home, o.Server, o.UserID, o.Token, o.PostKey = w.home, w.url, w.bot.ID, w.bot.Token, w.key
	o.Settings = profile.DefaultSettings()
	o.Settings.Agent.Kind = "exec" // so that there is a prompt to be made; the script is in its place
	o.Settings.Limits.Queue = 200
	o.Settings.Limits.AnswersPerHour = 10000
	for _, p := range w.people {
		o.Access.People = append(o.Access.People, profile.Person{ID: p.ID, Role: profile.Member})
	}
	for _, r := range w.rooms {
		if r.Kind != "d" {
			o.Access.Rooms = append(o.Access.Rooms, profile.Room{ID: r.ID, Mention: true})
		}
	}
	return o
}

// plan makes a question whose answer has so many parts, 0 for any number,
// without asking it yet.
func (w *world) plan(by pretend.User, in pretend.Room, thread string, n int) *question {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := &question{
		room: in.ID, thread: thread, asker: by,
		text: fmt.Sprintf("what is number %d?", w.planned),
	}
	if in.Kind != "d" {
		q.text = "@" + w.bot.Username + " " + q.text
	}
	for q.id == "" || n > 0 && parts(q.id) != n {
		w.planned++
		q.id = fmt.Sprintf("question%05dx%s", w.planned, in.ID) // its room is in one world alone
	}
	for i := range parts(q.id) {
		q.answer = append(q.answer, post.ID([]byte(w.key), q.id, conversation.StepAnswer, i))
	}
	q.note = post.ID([]byte(w.key), q.id, conversation.StepNote, 0)
	return q
}

// say asks what was planned.
func (w *world) say(q *question) *question {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, q)
	room, _ := w.server.FindRoom(q.room)
	w.server.Say(q.asker, room, q.text, pretend.SayOptions{ID: q.id, Thread: q.thread})
	return q
}

// ask has somebody ask the bot something in a room, or in a thread of it.
func (w *world) ask(by pretend.User, in pretend.Room, thread string) *question {
	return w.say(w.plan(by, in, thread, 0))
}

// askAnywhere has anybody ask anywhere, now and then in a thread.
func (w *world) askAnywhere(rng *rand.Rand) *question {
	room := w.rooms[rng.IntN(len(w.rooms))]
	by := w.people[rng.IntN(len(w.people))]
	if room.Kind == "d" {
		by = w.personOf(room)
	}
	thread := ""
	if old := w.any(rng, func(q *question) bool { return q.room == room.ID && q.thread == "" }); old != nil && rng.IntN(4) == 0 {
		thread = old.id
	}
	return w.ask(by, room, thread)
}

// personOf is who has a direct room with the bot.
func (w *world) personOf(room pretend.Room) pretend.User {
	for _, p := range w.people {
		if slices.Contains(room.Members, p.ID) {
			return p
		}
	}
	panic("nobody is in the room")
}

// questions is all that was asked so far.
func (w *world) questions() []*question {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// any picks one of the latest questions that match.
func (w *world) any(rng *rand.Rand, match func(*question) bool) *question {
	all := w.questions()
	all = all[max(0, len(all)-40):]
	for _, i := range rng.Perm(len(all)) {
		if match(all[i]) {
			return all[i]
		}
	}
	return nil
}

// over reports whether a question has its whole answer, or a note.
func (w *world) over(q *question) bool {
	if _, ok := w.server.Message(q.note); ok {
		return true
	}
	for _, id := range q.answer {
		if _, ok := w.server.Message(id); !ok {
			return false
		}
	}
	return true
}

// open is how many of these are not over.
func (w *world) open(of []*question) (n int) {
	for _, q := range of {
		if !w.over(q) {
			n++
		}
	}
	return n
}

// await waits until all of these are over.
func (w *world) await(ctx context.Context, of ...*question) error {
	left := slices.Clone(of)
	return w.server.Await(ctx, func() bool {
		left = slices.DeleteFunc(left, w.over)
		return len(left) == 0
	})
}

// logged is how often the agent was asked each question, as its own log says.
func (w *world) logged() map[string]int {
	text, err := os.ReadFile(begunLog(w.home))
	if err != nil {
		return nil
	}
	times := make(map[string]int)
	for id := range strings.Lines(string(text)) {
		times[strings.TrimSpace(id)]++
	}
	return times
}

// begunLog is where the agent writes down what it was asked, before it thinks.
func begunLog(home string) string { return filepath.Join(home, "begun.log") }

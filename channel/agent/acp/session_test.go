package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

// A memory is an agent's own store of sessions, which outlives its process.
type memory struct {
	mu    sync.Mutex
	said  map[string][]string // by session: the prompts
	dirs  map[string]string
	calls []string // session methods, in order
	next  int
}

func newMemory() *memory {
	return &memory{said: make(map[string][]string), dirs: make(map[string]string)}
}

func (s *memory) note(method string) {
	s.calls = append(s.calls, strings.TrimPrefix(method, "session/"))
}

// agent is one whose sessions are in s, and that takes them up with the methods
// of caps. Its answer is what it was asked so far.
func (s *memory) agent(caps object) behaviour {
	takeUp := func(p *peer, m message) {
		s.mu.Lock()
		s.note(m.Method)
		id := m.param("sessionId")
		said, known := s.said[id]
		known = known && s.dirs[id] == m.param("cwd")
		s.mu.Unlock()
		if !known {
			p.fail(m, codeNoSession, "Resource not found")
			return
		}
		if m.Method == mLoad {
			for _, text := range said {
				p.update(id, object{"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": text}})
				p.say(id, "replayed answer to "+text)
			}
		}
		p.reply(m, object{})
	}
	return behaviour{
		caps: caps,
		method: map[string]func(*peer, message){
			mNew: func(p *peer, m message) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.note(m.Method)
				s.next++
				id := fmt.Sprint("s", s.next)
				s.said[id], s.dirs[id] = nil, m.param("cwd")
				p.reply(m, object{"sessionId": id})
			},
			mLoad: takeUp, mResume: takeUp,
			mClose: func(p *peer, m message) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.note(m.Method)
				p.reply(m, object{})
			},
		},
		prompt: func(p *peer, m message, _ <-chan struct{}) string {
			id := m.param("sessionId")
			s.mu.Lock()
			_, known := s.said[id]
			if known {
				s.said[id] = append(s.said[id], m.prompt())
			}
			text := strings.Join(s.said[id], ",")
			s.mu.Unlock()
			if !known {
				p.fail(m, codeNoSession, "Resource not found")
				return ""
			}
			p.say(id, text)
			return stopEnd
		},
	}
}

func (s *memory) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.said)
}

func (s *memory) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := strings.Join(s.calls, " ")
	s.calls = nil
	return calls
}

var (
	canResume = object{"sessionCapabilities": object{"resume": object{}}, "loadSession": true}
	canLoad   = object{"loadSession": true}
)

func TestConversationsGoOnAfterARestart(t *testing.T) {
	for _, c := range []struct {
		what    string
		caps    object
		calls   string
		text    string
		notices int
	}{
		{"resume is preferred, for it replays nothing", canResume, "resume", "a,b", 0},
		{"load, whose replay nobody sees", canLoad, "load", "a,b", 0},
		{"neither", object{}, "new", "b", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			s := newStage(t, m.agent(c.caps).serve)
			if o := s.ask("r/t", "a", nil); o.text != "a" || m.called() != "new" {
				t.Errorf("%s: %+v", c.what, o)
			}
			s.close()
			s.begin()
			o := s.ask("r/t", "b", nil)
			if calls := m.called(); o.text != c.text || calls != c.calls || len(o.notices) != c.notices {
				t.Errorf("%s: %s, %+v", c.what, calls, o)
			}
			if o := s.ask("r/t", "c", nil); o.text != c.text+",c" || m.called() != "" {
				t.Errorf("%s: %+v", c.what, o)
			}
			s.close()
		})
	}
}

func TestALostSessionIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := newStage(t, m.agent(canResume).serve)
		s.ask("r/", "a", nil)
		m.called()
		m.forget() // while the process lives
		o := s.ask("r/", "b", nil)
		if calls := m.called(); o.text != "b" || calls != "new" || fmt.Sprint(o.notices) != fmt.Sprint([]string{sayLost}) || o.done.Err != nil {
			t.Errorf("%s, %+v", calls, o)
		}
		m.forget()
		s.close()
		s.begin()
		o = s.ask("r/", "c", nil)
		if calls := m.called(); o.text != "c" || calls != "resume new" || len(o.notices) != 1 {
			t.Errorf("%s, %+v", calls, o)
		}
		s.close()
		if err := os.WriteFile(s.saved.path, []byte("{half"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.begin()
		o = s.ask("r/", "d", nil)
		if calls := m.called(); o.text != "d" || calls != "new" || !strings.Contains(s.log.String(), "can't be read") {
			t.Errorf("%s, %+v", calls, o)
		}
		s.close()
	})
}

// A question is not asked twice where it may have been worked on.
func TestOnlyAnUnknownSessionIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		what  string
		fails func(p *peer, m message)
		tries int
		say   string
	}{
		{"the protocol's code", func(p *peer, m message) { p.fail(m, codeNoSession, "") }, 2, sayFailed},
		{"another code, the same words", func(p *peer, m message) { p.fail(m, codeInternal, "Session abc not found") }, 2, sayFailed},
		{"an internal error", func(p *peer, m message) { p.fail(m, codeInternal, "model overloaded") }, 1, sayFailed},
		{"an outcome that is unknown", func(p *peer, m message) {
			p.fail(m, codeInternal, "Gateway disconnected; turn outcome is unknown. Resume the session; not_found")
		}, 1, sayFailed},
		{"held back", func(p *peer, m message) { p.fail(m, codeInternal, "unknown_execution: do not resend accepted input") }, 1, sayDiscard},
		{"a login", func(p *peer, m message) { p.fail(m, codeAuth, "") }, 1, sayLogin},
		{"after it said something", func(p *peer, m message) {
			p.say(m.param("sessionId"), "half")
			p.fail(m, codeNoSession, "")
		}, 1, sayFailed},
		{"an answer of another form", func(p *peer, m message) { p.reply(m, []int{1}) }, 1, sayFailed},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			s := newStage(t, behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
				tries++
				c.fails(p, m)
				return ""
			}}.serve)
			defer s.close()
			o := s.ask("r/", "a secret question", nil)
			if tries != c.tries || o.done.Stop != agent.Failed || agent.Sentence(o.done.Err) != c.say {
				t.Errorf("%s: %d tries, %+v", c.what, tries, o)
			}
			if strings.Contains(o.done.Err.Error(), "overloaded") {
				t.Errorf("%s: the agent's words are in %v", c.what, o.done.Err)
			}
		})
	}
}

func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := newStage(t, m.agent(object{"sessionCapabilities": object{"close": object{}, "resume": object{}}}).serve)
		defer s.close()
		s.ask("r/", "a", nil)
		s.Renew("r/")
		s.Renew("another/")
		o := s.ask("r/", "b", nil)
		synctest.Wait()
		if calls := m.called(); o.text != "b" || len(o.notices) != 0 || calls != "new close new" {
			t.Errorf("%s, %+v", calls, o)
		}
	})
}

func TestRoomsHaveTheirOwnSessionsAndFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := newStage(t, m.agent(canResume).serve)
		defer s.close()
		s.ask("one/", "a", nil)
		s.ask("two/", "b", nil)
		s.ask("two/thread", "c", nil)
		s.ask("../../etc/passwd", "d", nil)
		seen := map[string]bool{}
		for id, dir := range m.dirs {
			if seen[dir] || filepath.Dir(dir) != filepath.Join(s.home, "rocketchat", "state", "work") {
				t.Errorf("the folder of %s is %s", id, dir)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v %v", info, err)
			}
			seen[dir] = true
		}
		if o := s.ask("one/", "e", nil); o.text != "a,e" || len(seen) != 4 {
			t.Errorf("%+v, %d folders", o, len(seen))
		}
	})
}

func TestTwoRoomsNeverShareASession(t *testing.T) {
	same := talker
	same.method = map[string]func(*peer, message){mNew: func(p *peer, m message) { p.reply(m, object{"sessionId": "the same"}) }}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, same.serve)
		if o := s.ask("one/", "a", nil); o.done.Err != nil {
			t.Fatal(o.done.Err)
		}
		if o := s.ask("two/", "b", nil); !errors.Is(o.done.Err, errShared) || o.text != "" {
			t.Errorf("%+v", o)
		}
		s.close()
		// Another process may count from one again.
		s.begin()
		if o := s.ask("two/", "b", nil); o.done.Err != nil || o.text != "you said b" {
			t.Errorf("after a restart: %+v", o)
		}
		if o := s.ask("one/", "a", nil); !errors.Is(o.done.Err, errShared) {
			t.Errorf("after a restart: %+v", o)
		}
		s.close()
	})
}

// Agents that keep nothing often count their sessions from one.
func TestIdsThatCountFromOne(t *testing.T) {
	counts := func(p *peer) {
		n := 0
		b := talker
		b.method = map[string]func(*peer, message){mNew: func(p *peer, m message) {
			n++
			p.reply(m, object{"sessionId": fmt.Sprint(n)})
		}}
		b.serve(p)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, counts)
		s.ask("one/", "a", nil)
		s.ask("two/", "b", nil)
		s.Rest()
		synctest.Wait()
		for _, room := range []string{"two/", "one/"} {
			o := s.ask(room, "c", nil)
			if o.text != "you said c" || o.done.Err != nil || len(o.notices) != 1 {
				t.Errorf("%s %+v", room, o)
			}
		}
		s.close()
	})
}

func TestOneQuestionAtATimeInASession(t *testing.T) {
	var mu sync.Mutex
	running, most, order := map[string]int{}, map[string]int{}, ""
	slow := behaviour{prompt: func(_ *peer, m message, _ <-chan struct{}) string {
		id := m.param("sessionId")
		mu.Lock()
		running[id]++
		running["all"]++
		most[id], most["all"] = max(most[id], running[id]), max(most["all"], running["all"])
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		running[id]--
		running["all"]--
		order += m.prompt()
		mu.Unlock()
		return stopEnd
	}}
	for _, c := range []struct {
		name string
		most int
	}{{"hermes-agent", 4}, {"another", 8}} {
		synctest.Test(t, func(t *testing.T) {
			clear(most)
			slow.info = object{"name": c.name, "version": "1"}
			s := newStage(t, slow.serve)
			defer s.close()
			var group sync.WaitGroup
			for i := range 16 {
				turn, err := s.Begin(context.Background(), question(fmt.Sprint(i%8), "x"))
				if err != nil {
					t.Fatal(err)
				}
				group.Go(func() { watch(turn, nil) })
			}
			group.Wait()
			for id, n := range most {
				if id == "all" && n != c.most || id != "all" && n != 1 {
					t.Errorf("%s: %d at once in %s", c.name, n, id)
				}
			}
			if s.started() != 1 {
				t.Errorf("%d processes", s.started())
			}
		})
	}
}

func TestACancelledQuestionLeavesTheQueue(t *testing.T) {
	hold := make(chan struct{})
	synctest.Test(t, func(t *testing.T) {
		hold = make(chan struct{})
		s := newStage(t, behaviour{prompt: func(*peer, message, <-chan struct{}) string { <-hold; return stopEnd }}.serve)
		defer s.close()
		first, _ := s.Begin(context.Background(), question("r/", "a"))
		second, _ := s.Begin(context.Background(), question("r/", "b"))
		synctest.Wait()
		second.Cancel()
		if o := watch(second, nil); o.done != (agent.Done{Stop: agent.Cancelled}) {
			t.Errorf("%+v", o)
		}
		close(hold)
		if o := watch(first, nil); o.done.Stop != agent.Ended {
			t.Errorf("%+v", o)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := newStage(t, m.agent(object{"sessionCapabilities": object{"close": object{}, "resume": object{}}}).serve)
		for i := range maxLive + 10 {
			time.Sleep(time.Second)
			s.ask(fmt.Sprint(i), "a", nil)
		}
		synctest.Wait()
		if n := strings.Count(m.called(), "close"); n != 10 || len(s.sessions) != maxLive {
			t.Errorf("%d closed, %d known", n, len(s.sessions))
		}
		if o := s.ask("0", "b", nil); o.text != "a,b" || !strings.HasPrefix(m.called(), "resume") {
			t.Errorf("%+v", o)
		}
		s.close()
		if len(s.sessions) != 0 {
			t.Errorf("%d are known of a process that is gone", len(s.sessions))
		}
	})
}

func TestTheFileOfSessions(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "agent.json")
	s := newStage(t, talker.serve)
	defer s.close()
	one := loadSaved(path, []string{"a", "b"}, s.config.Log)
	for i := range maxSaved + 5 {
		one.sessions[fmt.Sprint("old", i)] = savedSession{ID: fmt.Sprint("i", i), Used: time.Unix(int64(i), 0)}
	}
	one.put("new", "id")
	again := loadSaved(path, []string{"a", "b"}, s.config.Log)
	idOf := func(s *saved, conversation string) string {
		id, known := s.id(conversation)
		return fmt.Sprint(id, " ", known)
	}
	if idOf(again, "new") != "id true" || idOf(again, "old5") != " false" || idOf(again, "old6") != "i6 true" || len(again.sessions) != maxSaved {
		t.Errorf("%d sessions", len(again.sessions))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if other := loadSaved(path, []string{"a b"}, s.config.Log); len(other.sessions) != 0 {
		t.Error("another command has the sessions")
	}
	again.forget("new")
	again.put("thief", "i6")
	if idOf(again, "old6") != " true" {
		t.Error("two conversations have one session")
	}
	if idOf(loadSaved(path, []string{"a", "b"}, s.config.Log), "new") != " false" {
		t.Error("what was forgotten came back")
	}
	gone := loadSaved(filepath.Join(home, "gone", "agent.json"), nil, s.config.Log)
	gone.put("a", "b")
	if idOf(gone, "a") != "b true" || !strings.Contains(s.log.String(), "can't be written") {
		t.Error("a file that can't be written is not said, or stops the work")
	}
	var f savedFile
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &f) != nil || f.V != 1 {
		t.Errorf("%v %s", err, data)
	}
}

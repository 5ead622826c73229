package acp

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

// The scripted stand-ins below behave as the sources of both generations of
// `hermes acp` say, where those differ from other agents. Hermes itself is a
// Python program that no test here can install.

// A classic is `hermes acp` that runs its agent in the process.
type classic struct {
	mu       sync.Mutex
	sessions map[string][]string // by id, what was asked; kept in state.db
	next     int
	busy     int
	most     int
}

func (h *classic) agent() behaviour {
	replay := func(p *peer, id string) {
		for _, text := range h.sessions[id] {
			p.update(id, object{"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": text}})
			p.say(id, "an old answer")
		}
	}
	return behaviour{
		info: object{"name": "hermes-agent", "version": "0.21.0"},
		caps: object{
			"loadSession": true, "promptCapabilities": object{"image": true},
			"sessionCapabilities": object{"fork": object{}, "list": object{}, "resume": object{}},
		},
		method: map[string]func(*peer, message){
			mNew: func(p *peer, m message) {
				p.reply(m, object{"sessionId": h.begin(), "modes": object{"currentModeId": "default"}})
			},
			// An unknown id is a null result of load, and a new session, which
			// is not named, of resume.
			mLoad: func(p *peer, m message) {
				h.mu.Lock()
				defer h.mu.Unlock()
				if _, known := h.sessions[m.param("sessionId")]; !known {
					p.reply(m, nil)
					return
				}
				replay(p, m.param("sessionId"))
				p.reply(m, object{})
				replay(p, m.param("sessionId")) // and once more after the answer, as a slow loop does
			},
			mResume: func(p *peer, m message) {
				h.begin()
				p.reply(m, object{})
			},
		},
		prompt: h.prompt,
	}
}

func (h *classic) begin() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := fmt.Sprintf("acp-%d", h.next)
	h.sessions[id] = nil
	return id
}

func (h *classic) prompt(p *peer, m message, cancelled <-chan struct{}) string {
	id, text := m.param("sessionId"), m.prompt()
	h.mu.Lock()
	if _, known := h.sessions[id]; !known {
		h.mu.Unlock()
		return stopRefusal
	}
	h.sessions[id] = append(h.sessions[id], text)
	n := len(h.sessions[id])
	h.busy++
	h.most = max(h.most, h.busy)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.busy--
	}()
	switch {
	case strings.HasPrefix(text, "/"):
		p.say(id, "a command of Hermes': "+text)
	case text == "fail":
		p.say(id, "Error: the provider said no")
	case strings.HasPrefix(text, "run "):
		command := strings.TrimPrefix(text, "run ")
		p.update(id, object{"sessionUpdate": "tool_call", "toolCallId": "tc-1", "title": "terminal: " + command, "kind": "execute", "rawInput": object{"command": command}})
		answer := p.ask(id, object{
			"toolCallId": "perm-check-1", "title": "recursive delete: " + command, "kind": "execute", "status": "pending",
			"content":  []object{{"type": "content", "content": object{"type": "text", "text": "recursive delete\n$ " + command}}},
			"rawInput": object{"command": command, "description": "recursive delete"},
		},
			object{"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
			object{"optionId": "allow_session", "kind": "allow_always", "name": "Allow for session"},
			object{"optionId": "allow_always", "kind": "allow_always", "name": "Allow always"},
			object{"optionId": "deny", "kind": "reject_once", "name": "Deny"},
			object{"optionId": "deny_always", "kind": "reject_always", "name": "Deny always"},
		)
		select {
		case got := <-answer:
			p.say(id, "permission: "+got)
		case <-time.After(time.Minute): // hard-coded
			p.say(id, "permission: timed out")
		}
		select {
		case <-cancelled:
			return stopCancelled
		default:
		}
	case text == "slow":
		time.Sleep(time.Second)
	default:
		p.say(id, fmt.Sprintf("turn %d: %s", n, text))
	}
	return stopEnd
}

func TestClassicHermes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &classic{sessions: map[string][]string{}}
		s := newStage(t, h.agent().serve)
		s.ask("r/", "hello", nil)
		s.close()

		s.begin()
		// Loaded, not resumed; and no replay, however late, is part of the answer.
		if o := s.ask("r/", "again", nil); o.text != "turn 2: again" || len(o.notices) != 0 {
			t.Errorf("after a restart: %+v", o)
		}
		o := s.ask("r/", "run rm -rf build", choose("allow_once"))
		if o.text != "permission: allow_once" || len(o.asked) != 1 {
			t.Fatalf("%+v", o)
		}
		if a := o.asked[0]; a.Title != "recursive delete" || a.Body != "rm -rf build" || a.Plain || len(a.Options) != 5 || time.Until(a.Until) != hermesWaits {
			t.Errorf("%+v", a)
		}
		if o := s.ask("r/", "run x", choose("")); o.text != "permission: deny" {
			t.Errorf("refused: %+v", o)
		}
		if o := s.ask("r/", "/reset all of it", nil); o.text != "turn 5: [Question]\n/reset all of it" {
			t.Errorf("a person's text is a command: %+v", o)
		}
		bare := question("r/", "/reset")
		bare.Bare = true
		turn, err := s.Begin(t.Context(), bare)
		if err != nil {
			t.Fatal(err)
		}
		if o := watch(turn, nil); o.text != "a command of Hermes': /reset" {
			t.Errorf("an owner's command: %+v", o)
		}
		if o := s.ask("r/", "fail", nil); !strings.HasPrefix(o.text, "Error:") || o.done.Stop != agent.Ended {
			t.Errorf("%+v", o) // it has no other way to say so
		}
		h.mu.Lock()
		clear(h.sessions)
		h.mu.Unlock()
		if o := s.ask("r/", "are you there", nil); o.text != "turn 1: are you there" || len(o.notices) != 1 {
			t.Errorf("unknown in a living process: %+v", o)
		}
		s.close()
		h.mu.Lock()
		clear(h.sessions)
		h.mu.Unlock()
		s.begin()
		if o := s.ask("r/", "and now", nil); o.text != "turn 1: and now" || len(o.notices) != 1 {
			t.Errorf("unknown after a restart: %+v", o)
		}
		s.close()
	})
}

func TestClassicHermesWorksOnFour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &classic{sessions: map[string][]string{}}
		s := newStage(t, h.agent().serve)
		defer s.close()
		var turns []agent.Turn
		for i := range 10 {
			turn, err := s.Begin(t.Context(), question(fmt.Sprint(i), "slow"))
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, turn)
		}
		waited := 0
		for _, turn := range turns {
			o := watch(turn, nil)
			if o.done.Stop != agent.Ended {
				t.Errorf("%+v", o)
			}
			if strings.Contains(strings.Join(o.progress, " "), "busy in other rooms") {
				waited++
			}
		}
		if h.most != 4 || waited != 6 {
			t.Errorf("%d at once, %d waited", h.most, waited)
		}
	})
}

// A gateway is what the newer `hermes acp` shows: it goes on when its viewer is
// gone, and what waits for a decision waits in it.
type gateway struct {
	mu      sync.Mutex
	dirs    map[string]string // by session
	waiting map[string]bool   // sessions with an approval nobody has decided
	denied  int
	lost    map[string]bool // sessions held back after a restart
	next    int
}

func (g *gateway) agent() behaviour {
	return behaviour{
		info: object{"name": "hermes-agent", "version": "0.23.4"},
		caps: object{
			"loadSession": true, "promptCapabilities": object{"image": true},
			"sessionCapabilities": object{"fork": object{}, "list": object{}, "resume": object{}},
		},
		method: map[string]func(*peer, message){
			mNew: func(p *peer, m message) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.next++
				id := fmt.Sprintf("gw-%d", g.next)
				g.dirs[id] = m.param("cwd")
				p.reply(m, object{"sessionId": id})
			},
			mLoad: func(p *peer, m message) {
				g.mu.Lock()
				defer g.mu.Unlock()
				id := m.param("sessionId")
				switch dir, known := g.dirs[id]; {
				case !known:
					p.send(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": codeInternal, "message": "Internal error", "data": object{"details": "not_found"}}})
				case dir != m.param("cwd"):
					p.fail(m, codeInternal, "cwd_policy_conflict")
				default:
					p.say(id, "Attached to the gateway's existing session policy; editor cwd is not applied.\n")
					if g.waiting[id] {
						go g.ask(p, id)
					}
					p.reply(m, object{})
				}
			},
		},
		prompt: func(p *peer, m message, cancelled <-chan struct{}) string {
			id := m.param("sessionId")
			g.mu.Lock()
			_, known := g.dirs[id]
			held := g.lost[id]
			g.mu.Unlock()
			switch text := m.prompt(); {
			case !known:
				p.fail(m, codeInternal, "not_found")
				return ""
			case held:
				p.fail(m, codeInternal, "unknown_execution: do not resend accepted input; a turn in this session was lost")
				return ""
			case text == "broken":
				p.fail(m, codeInternal, "admitted_turn_failed")
				return ""
			case text == "which":
				p.say(id, "chosen: "+g.clarify(p, id))
			case text == "run":
				g.mu.Lock()
				g.waiting[id] = true
				g.mu.Unlock()
				g.ask(p, id)
				g.mu.Lock()
				open := g.waiting[id]
				g.mu.Unlock()
				if open { // not decided: it waits on, with or without us
					<-cancelled
					return stopCancelled
				}
				p.say(id, "went on")
				select {
				case <-cancelled:
					return stopCancelled
				default:
				}
			default:
				p.say(id, "said ")
				p.update(id, object{"sessionUpdate": "tool_call", "toolCallId": "t", "title": "looking"})
				p.say(id, "\n\nmore")
			}
			return stopEnd
		},
	}
}

// ask asks for a decision; an answer other than an option decides nothing.
func (g *gateway) ask(p *peer, id string) {
	got := <-p.ask(id, object{
		"toolCallId": "edit-approval-1", "title": "Approve edit: notes.txt", "kind": "edit", "status": "pending",
		"content":  []object{{"type": "diff", "path": "notes.txt", "oldText": "one\n", "newText": "one\ntwo\n"}},
		"rawInput": object{"tool": "write_file", "arguments": object{"path": "notes.txt", "content": "one\ntwo\n"}},
	},
		object{"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
		object{"optionId": "deny", "kind": "reject_once", "name": "Deny"},
	)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch got {
	case "deny":
		g.denied++
		delete(g.waiting, id)
	case "allow_once":
		delete(g.waiting, id)
	}
}

func (g *gateway) clarify(p *peer, id string) string {
	return <-p.ask(id, object{
		"toolCallId": "clarify-7", "title": "Which branch?", "kind": "other", "status": "pending",
		"content":  []object{{"type": "content", "content": object{"type": "text", "text": "Which branch?"}}},
		"rawInput": object{"question": "Which branch?", "choices": []string{"main", "release"}},
	},
		object{"optionId": "choice-0", "kind": "allow_once", "name": "main"},
		object{"optionId": "choice-1", "kind": "allow_once", "name": "release"},
		object{"optionId": "skip", "kind": "reject_once", "name": "Skip"},
	)
}

func newGateway() *gateway {
	return &gateway{dirs: map[string]string{}, waiting: map[string]bool{}, lost: map[string]bool{}}
}

func TestGatewayHermes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		s := newStage(t, g.agent().serve)
		if o := s.ask("r/", "hello", nil); o.text != "said \n\nmore" {
			t.Errorf("%q", o.text)
		}
		o := s.ask("r/", "which", choose("choice-1"))
		if o.text != "chosen: choice-1" || len(o.asked) != 1 {
			t.Fatalf("%+v", o)
		}
		if a := o.asked[0]; !a.Plain || a.Title != "Which branch?" || a.Body != "" || len(a.Options) != 3 {
			t.Errorf("%+v", a)
		}
		o = s.ask("r/", "run", choose("allow_once"))
		if o.text != "went on" || len(o.asked) != 1 {
			t.Fatalf("%+v", o)
		}
		if a := o.asked[0]; a.Plain || !strings.Contains(a.Body, "change of notes.txt\n- one\n+ one\n+ two") || !strings.Contains(a.Body, "write_file") {
			t.Errorf("%+v", a)
		}
		if o := s.ask("r/", "broken", nil); agent.Sentence(o.done.Err) != sayFailed || o.done.Stop != agent.Failed {
			t.Errorf("%+v", o)
		}
		s.close()

		s.begin()
		if o := s.ask("r/", "hello", nil); o.text != "said \n\nmore" || len(o.notices) != 0 {
			t.Errorf("after a restart: %+v", o)
		}
		g.mu.Lock()
		g.lost["gw-1"] = true
		g.mu.Unlock()
		if o := s.ask("r/", "hello", nil); agent.Sentence(o.done.Err) != sayDiscard {
			t.Errorf("held back: %+v", o)
		}
		s.Renew("r/")
		if o := s.ask("r/", "hello", nil); o.done.Err != nil || g.next != 2 {
			t.Errorf("renewed: %+v", o)
		}
		g.mu.Lock()
		clear(g.dirs)
		g.mu.Unlock()
		if o := s.ask("r/", "hello", nil); o.done.Err != nil || len(o.notices) != 1 {
			t.Errorf("lost: %+v", o)
		}
		s.close()
	})
}

// To a gateway an answer of cancelled refuses nothing: whoever else looks at it
// could still allow. So a stop, an end and a restart select the refusal.
func TestGatewayHermesIsRefusedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		s := newStage(t, g.agent().serve)
		o := s.ask("r/", "run", func(t agent.Turn, _ agent.Asked) { t.Cancel() })
		if o.done.Stop != agent.Cancelled || g.denied != 1 || len(g.waiting) != 0 {
			t.Errorf("stopped: %+v, denied %d, waiting %v", o, g.denied, g.waiting)
		}
		turn, _ := s.Begin(t.Context(), question("r/", "run"))
		synctest.Wait()
		s.close()
		watch(turn, nil)
		if g.denied != 2 || len(g.waiting) != 0 {
			t.Errorf("closed: denied %d, waiting %v", g.denied, g.waiting)
		}
		// One that waits since before a crash of ours.
		g.waiting["gw-1"] = true
		s.begin()
		o = s.ask("r/", "hello", nil)
		synctest.Wait()
		if g.denied != 3 || len(o.asked) != 0 {
			t.Errorf("restarted: denied %d, %+v", g.denied, o)
		}
		s.close()
	})
}

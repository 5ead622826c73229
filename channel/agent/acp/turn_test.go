package acp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rcsupervisor/channel/agent"
)

// talker says what it was asked, in two pieces.
var talker = behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
	p.say(m.param("sessionId"), "you said ")
	p.say(m.param("sessionId"), m.prompt())
	return stopEnd
}}

func TestATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, talker.serve)
		defer s.close()
		if got := s.State(); got.State != agent.Idle || s.started() != 0 {
			t.Errorf("before the first question: %+v, %d processes", got, s.started())
		}
		o := s.ask("r/", "hello", nil)
		if o.text != "you said hello" || o.done != (agent.Done{Stop: agent.Ended}) || o.dones != 1 {
			t.Errorf("%+v", o)
		}
		if got := s.State(); got.State != agent.Ready || got.Error != "" {
			t.Errorf("after it: %+v", got)
		}
		s.ask("r/", "again", nil)
		s.ask("other/", "again", nil)
		if s.started() != 1 {
			t.Errorf("%d processes, want one for all conversations", s.started())
		}
	})
}

func TestAPermissionAllowedAndRefused(t *testing.T) {
	asks := behaviour{prompt: func(p *peer, m message, _ <-chan struct{}) string {
		session := m.param("sessionId")
		p.update(session, object{"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Removing", "kind": "execute"})
		got := <-p.ask(session, object{"toolCallId": "c1", "rawInput": object{"command": "rm -rf build"}}, usual()...)
		p.say(session, "chosen: "+got)
		return stopEnd
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, asks.serve)
		defer s.close()
		for _, c := range []struct{ choose, want string }{{"allow", "allow"}, {"deny", "deny"}, {"", "deny"}} {
			o := s.ask("r/", "x", choose(c.choose))
			if o.text != "chosen: "+c.want || len(o.asked) != 1 || o.done.Err != nil {
				t.Fatalf("%+v", o)
			}
			a := o.asked[0]
			if a.Title != "Removing" || a.Body != "rm -rf build" || len(a.Options) != 3 || a.Options[1].Kind != "allow_always" || a.Plain {
				t.Errorf("%+v", a)
			}
			if strings.Join(o.progress, "|") != "Removing" && strings.Join(o.progress, "|") != "starting the agent|Removing" {
				t.Errorf("progress %q", o.progress)
			}
		}
	})
}

func TestCancelIsAcknowledged(t *testing.T) {
	late := make(chan string, 2)
	stops := behaviour{prompt: func(p *peer, m message, cancelled <-chan struct{}) string {
		session := m.param("sessionId")
		first := p.ask(session, object{"toolCallId": "c", "title": "one"}, usual()...)
		<-cancelled
		late <- <-first
		late <- <-p.ask(session, object{"toolCallId": "d", "title": "two"}, usual()...)
		p.say(session, "last words")
		return stopCancelled
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, stops.serve)
		defer s.close()
		turn, err := s.Begin(context.Background(), question("r/", "x"))
		if err != nil {
			t.Fatal(err)
		}
		o := watch(turn, func(t agent.Turn, _ agent.Asked) { t.Cancel(); t.Cancel() })
		if o.done != (agent.Done{Stop: agent.Cancelled}) || len(o.asked) != 1 || o.dones != 1 {
			t.Errorf("%+v", o)
		}
		for _, what := range []string{"the one that waited", "the late one"} {
			if got := <-late; got != "cancelled" {
				t.Errorf("%s was answered with %q", what, got)
			}
		}
		if err := turn.Answer(o.asked[0].ID, "allow"); err == nil {
			t.Error("an answer after the end was taken")
		}
		if s.ask("r/", "x", func(t agent.Turn, _ agent.Asked) { t.Cancel() }).done.Stop != agent.Cancelled || s.started() != 1 {
			t.Error("the process was not kept")
		}
		<-late
		<-late
	})
}

func TestTimeIsBounded(t *testing.T) {
	hang := make(chan struct{})
	for _, c := range []struct {
		what  string
		agent behaviour
		after time.Duration
		say   string
		state string
	}{
		{"never initialized", behaviour{method: map[string]func(*peer, message){mInitialize: func(*peer, message) {}}}, initTimeout, sayBroken, agent.Failing},
		{"no session", behaviour{method: map[string]func(*peer, message){mNew: func(*peer, message) {}}}, initTimeout, saySlow, agent.Ready},
		{"no answer", behaviour{prompt: func(_ *peer, _ message, cancelled <-chan struct{}) string {
			<-cancelled
			return stopCancelled
		}}, turnTimeout, saySlow, agent.Ready},
		{"no answer to cancel", behaviour{prompt: func(*peer, message, <-chan struct{}) string {
			<-hang
			return ""
		}}, turnTimeout + cancelGrace, saySlow, agent.Idle},
	} {
		synctest.Test(t, func(t *testing.T) {
			hang = make(chan struct{})
			s := newStage(t, c.agent.serve)
			begun := time.Now()
			o := s.ask("r/", "x", nil)
			if took := time.Since(begun); took != c.after || agent.Sentence(o.done.Err) != c.say || o.dones != 1 {
				t.Errorf("%s: after %v, %+v", c.what, took, o)
			}
			time.Sleep(5 * time.Second)
			if got := s.State(); got.State != c.state {
				t.Errorf("%s: %+v", c.what, got)
			}
			close(hang)
			s.close()
		})
	}
}

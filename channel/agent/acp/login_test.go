package acp

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"rcsupervisor/channel/agent"
)

// A lockedAgent is one that has to be logged in.
type lockedAgent struct {
	open   atomic.Bool
	takes  string // the way that it takes
	asked  []string
	inTurn bool // it says so only when it is asked a question
}

func (l *lockedAgent) behaviour() behaviour {
	closed := func(p *peer, m message) bool {
		if !l.open.Load() {
			p.fail(m, codeAuth, "Authentication required for somebody@example.org")
		}
		return !l.open.Load()
	}
	return behaviour{
		method: map[string]func(*peer, message){
			mInitialize: func(p *peer, m message) {
				p.reply(m, object{
					"protocolVersion": 1, "agentCapabilities": object{"loadSession": true},
					"authMethods": []object{
						{"id": "web", "name": "Log in\nwith a browser; now"},
						{"id": "two", "name": "Use two variables", "type": "env_var", "vars": []object{{"name": "MODEL_USER"}, {"name": "MODEL_KEY"}}},
						{"id": "one", "name": "Use MODEL_KEY", "type": "env_var", "vars": []object{{"name": "MODEL_KEY"}, {"name": "MODEL_URL", "optional": true}}},
					},
				})
			},
			mLogin: func(p *peer, m message) {
				l.asked = append(l.asked, m.param("methodId"))
				if m.param("methodId") != l.takes {
					p.fail(m, codeInternal, "no")
					return
				}
				l.open.Store(true)
				p.reply(m, object{})
			},
			mNew: func(p *peer, m message) {
				if l.inTurn || !closed(p, m) {
					p.reply(m, object{"sessionId": "s"})
				}
			},
			mLoad: func(p *peer, m message) {
				if !closed(p, m) {
					p.reply(m, object{})
				}
			},
			mPrompt: func(p *peer, m message) {
				if !closed(p, m) {
					p.say("s", "you said "+m.prompt())
					p.reply(m, object{"stopReason": stopEnd})
				}
			},
		},
	}
}

// with gives the agent's process more variables, and its profile a name.
func with(vars ...string) func(*Config) {
	return func(c *Config) {
		env := c.Env
		c.Profile = "alice"
		c.Env = func() ([]string, error) {
			all, err := env()
			return append(all, vars...), err
		}
	}
}

// An agent that is not logged in says so to whoever asks in one sentence, and to
// whoever runs it which ways it offers, and what to do.
func TestAnAgentThatIsNotLoggedIn(t *testing.T) {
	const offers = "; it offers: Log in with a browser now, Use two variables, Use MODEL_KEY; log in with its own command as the owner of the home, " +
		"or name MODEL_USER under agent.secrets and try: rcsupervisor secret alice set MODEL_USER"
	for name, c := range map[string]struct {
		vars   []string
		takes  string
		inTurn bool
		asked  string // the ways that were tried
		fault  string // "" when it answers
	}{
		"without anything":          {nil, "one", false, "", "the agent has to be logged in first" + offers},
		"said to a question":        {nil, "one", true, "", "the agent has to be logged in first" + offers},
		"an empty variable":         {[]string{"MODEL_KEY="}, "one", false, "", "the agent has to be logged in first" + offers},
		"the optional one alone":    {[]string{"MODEL_URL=x"}, "one", false, "", "the agent has to be logged in first" + offers},
		"with the variable":         {[]string{"MODEL_KEY=k"}, "one", false, "one", ""},
		"with both":                 {[]string{"MODEL_KEY=k", "MODEL_USER=u"}, "two", false, "two", ""},
		"with both, and takes one":  {[]string{"MODEL_KEY=k", "MODEL_USER=u"}, "one", false, "two one", ""},
		"with one it does not take": {[]string{"MODEL_KEY=k"}, "none", false, "one", "the agent has to be logged in first, and did not take MODEL_KEY" + offers},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lockedAgent{takes: c.takes, inTurn: c.inTurn}
				s := newStage(t, l.behaviour().serve, with(c.vars...))
				defer s.close()
				for n := 1; n <= 2; n++ {
					o := s.ask("r/", "x", nil)
					synctest.Wait()
					st := s.State()
					if c.fault == "" {
						if o.text != "you said x" || st.State != agent.Ready || st.Failures != 0 {
							t.Fatalf("%+v, %+v", o, st)
						}
						continue
					}
					if agent.Sentence(o.done.Err) != sayLogin || st.State != agent.Failing || st.Error != c.fault || st.Failures != n {
						t.Fatalf("%+v\n%+v", o, st)
					}
				}
				if got := strings.Join(l.asked, " "); got != c.asked {
					t.Errorf("tried %q, want %q", got, c.asked)
				}
				if strings.Contains(s.State().Error, "somebody") {
					t.Error(s.State().Error)
				}
				if s.started() != 1 {
					t.Errorf("it was started %d times", s.started())
				}
				if c.fault == "" {
					return
				}
				l.open.Store(true) // somebody has logged it in
				if o := s.ask("r/", "x", nil); o.text != "you said x" || len(o.notices) != 0 || s.State().State != agent.Ready {
					t.Errorf("and then: %+v, %+v", o, s.State())
				}
			})
		})
	}
}

// A conversation of before does not get lost by its agent being logged out.
func TestASessionOutlivesALogout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lockedAgent{}
		l.open.Store(true)
		s := newStage(t, l.behaviour().serve)
		s.ask("r/", "x", nil)
		s.close()
		l.open.Store(false)
		s.begin()
		defer s.close()
		if o := s.ask("r/", "x", nil); agent.Sentence(o.done.Err) != sayLogin || len(o.notices) != 0 {
			t.Errorf("%+v", o)
		}
		l.open.Store(true)
		if o := s.ask("r/", "x", nil); o.text != "you said x" || len(o.notices) != 0 {
			t.Errorf("%+v", o)
		}
	})
}

package channel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/sealed"
)

// hermes-plugin 1.5.0, hermes#118388: a refused token ends in needs-token after
// at most two more logins, however the server tells; no other attempt follows,
// and one line says it.
func TestARefusedToken(t *testing.T) {
	for name, take := range map[string]func(h *house){
		"the token is removed":            func(h *house) { h.server.RevokeTokens(h.bot) },
		"the user is deactivated":         func(h *house) { h.server.Deactivate(h.bot) },
		"RC PR#40496: deactivated, quiet": func(h *house) { h.server.Break(pretend.Fault{Kind: pretend.RefuseToken, User: "hermes"}) },
		"logged out by an administrator":  func(h *house) { h.server.ForceLogout(h.bot) },
		"while there is no connection": func(h *house) {
			h.server.RevokeTokens(h.bot)
			h.server.Break(pretend.Fault{Kind: pretend.Drop})
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(h *house) {
				h.up()
				h.pass(2 * time.Minute)
				before := h.server.Total("login refused") + h.server.Total("login")
				take(h)
				h.awaitFor(11*time.Minute, "needs-token", func(Report) bool { return h.super.state() == healthcheck.NeedsToken })
				h.pass(time.Hour)
				if n := h.server.Total("login refused") + h.server.Total("login") - before; n > 2 {
					h.t.Errorf("%d more logins", n)
				}
				reasons := h.super.reasons()
				if len(reasons) > 3 || !slices.Equal(reasons[len(reasons)-2:], []healthcheck.Reason{healthcheck.Refused, healthcheck.Refused}) {
					h.t.Errorf("ended for %v", reasons)
				}
				if open := h.server.Connections(h.bot); len(open) != 0 {
					h.t.Errorf("sockets are open: %+v", open)
				}
			})
		})
	}
}

// The file is read again before a person is asked: a token that was replaced a
// moment ago is used, by the same run, and what was owed is posted with it.
func TestARefusedTokenThatWasReplaced(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		h.super.reread = func(s *super) {
			next := h.start
			next.Credentials.Token = sealed.NewSecret(h.server.AddToken(h.bot))
			s.commands <- Apply{Settings: next.Settings, Access: next.Access, Credentials: next.Credentials, Reconnect: true}
		}
		h.server.RevokeTokens(h.bot)
		h.server.Say(h.owner, h.direct, "with which token?")
		h.awaitFor(11*time.Minute, "another connection", func(r Report) bool { return r.Phase == Online && r.Connection > 1 })
		h.pass(time.Minute)
		h.wants(h.direct, "echo: with which token?")
		if s := h.super.state(); s != healthcheck.Online {
			h.t.Errorf("it is %s", s)
		}
	})
}

// An error that says nothing of the token ends nothing (R51, R53): js.SDK#119,
// RC#26360, 403 for a permission.
func TestWhatIsNoRefusal(t *testing.T) {
	for name, fault := range map[string]pretend.Fault{
		"js.SDK#119, RC#19641: asked to wait": {Kind: pretend.RateLimit, Delay: pretend.Duration(time.Minute)},
		"a proxy's page":                      {Kind: pretend.HTML},
		"a proxy's 401, without JSON":         {Kind: pretend.BadGateway, Route: "me", Code: 401},
		"the server's own fault":              {Kind: pretend.ServerError},
		"403":                                 {Kind: pretend.ServerError, Code: 403, Text: "error-forbidden"},
		"a redirect to a login page":          {Kind: pretend.RedirectREST, URL: "https://sso.example/"},
		"answers that break off":              {Kind: pretend.Cut},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.up()
				mend := h.server.Break(fault)
				h.pass(30 * time.Minute)
				if got := h.super.reasons(); len(got) != 0 {
					h.t.Errorf("it ended %v", got)
				}
				h.server.Say(h.owner, h.direct, "hello")
				mend()
				h.pass(16 * time.Minute)
				h.wants(h.direct, "echo: hello")
			})
		})
	}
}

// RC#26360: REST says 401 while the socket goes on. It is asked again before it
// is believed, and then it is one restart and a person's matter.
func TestRESTRefusesAlone(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		once := h.server.Break(pretend.Fault{Kind: pretend.Refused401, User: "hermes", Route: "me", Count: 1})
		h.pass(11 * time.Minute)
		once()
		if got := h.super.reasons(); len(got) != 0 {
			h.t.Fatalf("one answer of 401 ended it: %v", got)
		}
		h.server.Break(pretend.Fault{Kind: pretend.Refused401, User: "hermes", Route: "me"})
		h.await("needs-token", func(Report) bool { return h.super.state() == healthcheck.NeedsToken || len(h.super.reasons()) >= 3 })
		for _, r := range h.super.reasons() {
			if r != healthcheck.Refused {
				h.t.Errorf("ended for %s", r)
			}
		}
	})
}

// The token of another bot than the one that was sealed: held, and nothing is
// heard or said as that one.
func TestAnothersToken(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.start.Credentials.Token = sealed.NewSecret(h.otherBot.Token)
		h.run()
		h.await("held", func(Report) bool { return h.super.state() == healthcheck.Held })
		h.say(h.owner, h.lab, "@robo @hermes hello")
		h.pass(time.Hour)
		if got := h.super.reasons(); !slices.Equal(got, []healthcheck.Reason{healthcheck.Identity}) {
			h.t.Errorf("ended for %v", got)
		}
		if n := len(h.server.Messages(h.lab)); n != 1 {
			h.t.Errorf("%d messages in the room", n)
		}
	})
}

func TestAServerThatNamesAnother(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.WrongID})
		h.run()
		h.await("held", func(Report) bool { return h.super.state() == healthcheck.Held })
		h.pass(time.Hour)
		if n := len(h.super.at); n != 1 {
			h.t.Errorf("%d connections were made", n)
		}
	})
}

// RC#24826: each REST login pushes an older token out, so there is none: the
// socket resumes, once for each connection.
func TestNobodyLogsInOverREST(t *testing.T) {
	eachVersion(t, func(h *house) {
		h.up()
		for i := range 5 {
			h.say(h.owner, h.direct, "hello")
			h.server.Break(pretend.Fault{Kind: pretend.Drop, Code: 1000})
			h.pass(2 * time.Minute)
			if n := h.server.Count(h.bot, "login"); n != i+2 {
				h.t.Errorf("%d logins over %d connections", n, i+2)
			}
		}
		for what := range h.server.Counts(h.bot) {
			if strings.HasPrefix(what, "POST login") {
				h.t.Errorf("it did %s", what)
			}
		}
	})
}

// hermes#54675, #51029: what the environment holds is no credential.
func TestTheEnvironmentIsNoCredential(t *testing.T) {
	for _, name := range []string{"ROCKETCHAT_TOKEN", "ROCKETCHAT_AUTH_TOKEN", "ROCKETCHAT_USER_ID", "ROCKETCHAT_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://decoy.example")
	}
	inBubble(t, pretend.V9, func(h *house) {
		h.up()
		h.say(h.owner, h.direct, "who are you?")
		h.wants(h.direct, "echo: who are you?")
	})
}

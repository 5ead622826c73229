package enroll

import (
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"rcsupervisor/channel/pretend"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/hostfile"
	"rcsupervisor/profile"
	"rcsupervisor/sealed"
)

// check returns the findings of one look, as text.
func (h *house) check(name string) (good bool, text string, findings []Finding) {
	h.t.Helper()
	good, err := h.Check(h.t.Context(), Operator, name, func(f Finding) { findings = append(findings, f) })
	must(h.t, err)
	var b strings.Builder
	for _, f := range findings {
		mark := "FAIL"
		switch {
		case f.OK:
			mark = "ok"
		case f.Warn:
			mark = "warn"
		}
		b.WriteString(mark + " " + f.What + ": " + f.Text + " [" + f.Try + "]\n")
	}
	return good, b.String(), findings
}

func TestCheckOfAGoodProfile(t *testing.T) {
	h := newHouse(t)
	a := h.addition(h.ada)
	a.OwnerID = h.owner.ID
	_, err := h.Add(t.Context(), Operator, "alice", a)
	must(t, err)
	good, text, findings := h.check("alice")
	var order []string
	for _, f := range findings {
		if !f.OK || f.Try != "" {
			t.Errorf("%+v", f)
		}
		order = append(order, f.What)
	}
	if !good || strings.Join(order, " ") != "home settings seal server token socket access" {
		t.Errorf("%v\n%s", good, text)
	}
	must(t, h.server.Await(t.Context(), func() bool { return len(h.server.Connections(h.ada)) == 0 })) // it let go
}

// known has a profile's bot proven, and what is remembered of it changed.
func known(change func(*profile.Entry)) func(*house) {
	return func(h *house) {
		h.prove("alice", h.ada, 1)
		e := h.entry("alice")
		change(&e)
		must(h.t, h.Names.Change("alice", &e))
	}
}

// troubles are what can be wrong with a profile, each with the finding it makes.
var troubles = []struct {
	what string
	do   func(h *house)
	good bool // it runs all the same
	want string
}{
	{"nobody let in", func(h *house) { must(h.t, os.Remove(h.file("alice", "access.yaml"))) }, true, "warn access: nobody may talk to the bot yet [rcsupervisor people alice owner @USERNAME]"},
	{"off", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: echo}\nenabled: false\n")
	}, true, "channel.yaml:2: enabled is false [set it to true]"},
	{"a broken file", func(h *house) { h.write(h.file("alice", "access.yaml"), "people: 3\n") }, false, "FAIL home: "},
	{"no such program", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [no-such-program]}\n")
	}, true, "warn agent: no-such-program was not found [its whole path in agent.command]"},
	{"a program of the host's", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [sh]}\n")
	}, true, "/sh []"},
	{"a program of the home's", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [./answer]}\n")
		h.write(h.home("alice")+"/answer", "")
	}, true, "ok agent: "},
	{"a secret that isn't sealed", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [sh], secrets: [KEY]}\n")
	}, true, "names what is not sealed: KEY [rcsupervisor secret alice set KEY]"},
	{"a file of roots that isn't there", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: echo}\ntls: {ca_file: nowhere.pem}\n")
	}, false, "FAIL settings: tls.ca_file: "},
	{"a file of roots that is none", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: echo}\ntls: {ca_file: ca.pem}\n")
		h.write(h.home("alice")+"/ca.pem", "hello")
	}, false, "FAIL settings: "},
	{"damaged", func(h *house) { h.write(h.file("alice", "secrets.age"), "x") }, false, "FAIL seal: "},
	{"stale", func(h *house) {
		key, err := age.GenerateX25519Identity()
		must(h.t, err)
		made, err := sealed.Init(sealed.InitOptions{Path: h.Identity.File, Recovery: []string{key.Recipient().String()}, Options: h.Identity})
		must(h.t, err)
		h.Keys = func() (*sealed.Keyring, error) { return made.Keyring, nil }
	}, true, "warn seal: sealed for other recipients than recipients.txt names now [rcsupervisor reseal alice]"},
	{"a server the host does not allow", func(h *house) {
		var err error
		h.Host, err = hostfile.Parse("f", []byte("allow_root: ['/*/*/*/*/*/*']\nservers: [https://chat.example.org]\n"))
		must(h.t, err)
	}, false, "FAIL seal: the host file does not allow the server"},
	{"moved", known(func(e *profile.Entry) { e.Path = "/elsewhere" }), false, "FAIL known: moved: its home was /elsewhere"},
	{"rolled back", known(func(e *profile.Entry) { e.Generation = 5 }), false, "FAIL known: rolled-back: "},
	{"another bot", known(func(e *profile.Entry) { e.Bot = "x" }), false, "[rcsupervisor adopt alice]"},
	{"suspended", known(func(e *profile.Entry) { e.Suspended = true }), true, "warn known: suspended [rcsupervisor resume alice]"},
	{"stopped", known(func(e *profile.Entry) { e.Wanted = false }), true, "warn known: stopped [rcsupervisor start alice]"},
	{"another has the bot", func(h *house) {
		h.add("twin", h.ada)
		h.prove("twin", h.ada, 1)
	}, true, "warn known: another profile has this bot: twin"},
	{"waiting", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: exec, command: [sh]}\n")
		h.prove("alice", h.ada, 1)
		h.write(h.file("alice", "access.yaml"), "people: [{id: m, role: owner}]\n")
	}, true, "warn known: waits to be accepted: person m becomes owner [rcsupervisor accept alice]"},
	{"the server is away", func(h *house) { h.server.Break(pretend.Fault{Kind: pretend.ServerError}) }, false, "FAIL server: "},
	{"another clock", func(h *house) {
		h.server.Break(pretend.Fault{Kind: pretend.ClockSkew, Delay: pretend.Duration(10 * time.Minute)})
	}, true, "warn server: its clock is off ours by"},
	{"refused", func(h *house) { h.server.RevokeTokens(h.ada) }, false, "FAIL token: user id or token"},
	{"an administrator", func(h *house) { h.server.SetRoles(h.ada, "bot", "admin") }, true, "warn token: the bot is an administrator"},
	{"no WebSockets", func(h *house) { h.server.Break(pretend.Fault{Kind: pretend.RedirectSocket, URL: "http://127.0.0.1:1"}) }, false, "/websocket]"},
	{"login refused", func(h *house) { h.server.Break(pretend.Fault{Kind: pretend.Transient403}) }, false, "FAIL socket: "},
	{"references", func(h *house) {
		h.write(h.file("alice", "access.yaml"), "allow_context_references: true\n")
	}, true, "warn warning: references-allowed: "},
	{"silence", func(h *house) {
		h.write(h.file("alice", "channel.yaml"), "agent: {kind: echo}\nhealth: {silence: 30s}\n")
	}, true, "warn warning: silence-changed: "},
	{"a token in plain text", func(h *house) { h.write(h.home("alice")+"/.env", "ROCKETCHAT_TOKEN=x\n") }, true, "[rcsupervisor import alice --scrub]"},
	{"no recipients", func(h *house) {
		h.Keys = func() (*sealed.Keyring, error) {
			return nil, &sealed.Error{Kind: sealed.ErrNoRecipients, Text: "none", Try: "rcsupervisor init"}
		}
	}, false, "FAIL seal: none [rcsupervisor init]"},
}

// Each thing that can be wrong is said, with what mends it, and whether the
// profile would run.
func TestCheckFindings(t *testing.T) {
	for _, c := range troubles {
		t.Run(c.what, func(t *testing.T) {
			h := newHouse(t)
			a := h.addition(h.ada)
			a.OwnerID = h.owner.ID // making a code takes long
			_, err := h.Add(t.Context(), Operator, "alice", a)
			must(t, err)
			c.do(h)
			good, text, findings := h.check("alice")
			if good != c.good || !strings.Contains(text, c.want) {
				t.Errorf("good %v, want %v and %q:\n%s", good, c.good, c.want, text)
			}
			for _, f := range findings {
				if !f.OK && f.Try == "" && f.What != "warning" {
					t.Errorf("nothing mends %+v", f)
				}
			}
			if strings.Contains(text, h.ada.Token) {
				t.Error("a finding holds the token")
			}
		})
	}
}

// Every notice of a profile's files is a warning that can be given.
func TestNoticesAreWarnings(t *testing.T) {
	p := profile.Profile{Settings: profile.DefaultSettings(), Hermes: []string{".env: ROCKETCHAT_TOKEN"}, HermesConfig: profile.HermesConfig{Approvals: "off", Memory: true, Allowed: 1}}
	p.Settings.Agent = profile.AgentSettings{Kind: "acp", Command: []string{"hermes", "acp"}}
	p.Settings.Health.Silence = time.Minute
	a := profile.Access{AllowContextReferences: true, SharedMemoryWarning: true, People: []profile.Person{{ID: "a", Role: profile.Owner}, {ID: "b", Role: profile.Member}}}
	notices := profile.Notices(p, a)
	if len(notices) != 7 {
		t.Errorf("%d notices", len(notices))
	}
	for _, n := range notices {
		if _, ok := healthcheck.Lookup(n.Code); !ok {
			t.Errorf("no warning has the code %s", n.Code)
		}
	}
}

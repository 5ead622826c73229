package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/pretend"
	"rcsupervisor/internal/npmtest"
	"rcsupervisor/sealed"
)

// program gives a house an agent of the kind exec: a shell script.
func (h *house) program(script string) {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		h.t.Fatal(err)
	}
	h.start.Settings.Agent.Kind, h.start.Settings.Agent.Command = "exec", []string{path}
	h.spawn = agent.Start
}

// An agent finds nothing of the bot's: not in its environment, its descriptors,
// its arguments, the question, or any file of the home.
func TestAnAgentFindsNoToken(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.program(`question=$(cat)
for f in /proc/self/fd/*; do echo "descriptor $(readlink $f | sed 's/[0-9]//g')"; done
echo "arguments $*"
env
echo "$question"
cat $(find "$HERMES_HOME" -type f)
find "$HERMES_HOME" -type f
`)
		h.start.Credentials.AskerKey = sealed.NewSecret("the asker key")
		h.start.Credentials.PostKey = sealed.NewSecret("the posting key")
		h.start.Credentials.Values = map[string]sealed.Secret{
			"MODEL_KEY": sealed.NewSecret("the model's key"), "OTHER": sealed.NewSecret("not its business"),
		}
		h.start.Settings.Agent.Secrets = []string{"MODEL_KEY"}
		h.start.Settings.Agent.Env = map[string]string{"MODEL": "small", "HERMES_HOME": "/elsewhere"}
		h.up()
		h.say(h.owner, h.direct, "what do you know?")
		h.pass(5 * time.Second)
		said := strings.Join(h.said(h.direct), "\n")
		for _, secret := range []string{h.bot.Token, "the asker key", "the posting key", "not its business"} {
			if strings.Contains(said, secret) {
				h.t.Errorf("it knows %q:\n%s", secret, said)
			}
		}
		for _, want := range []string{"MODEL_KEY=the model's key", "MODEL=small", "HERMES_HOME=" + h.start.Home, `"text":"what do you know?"`, ".local/bin:"} {
			if !strings.Contains(said, want) {
				h.t.Errorf("%q is missing:\n%s\nlog:\n%s", want, said, h.super.lines())
			}
		}
		for _, line := range regexp.MustCompile(`(?m)^descriptor (.*)$`).FindAllStringSubmatch(said, -1) {
			if what := line[1]; what != "" && !strings.HasPrefix(what, "pipe:") && !strings.HasPrefix(what, "/proc/") && !strings.HasSuffix(what, "/agent") {
				h.t.Errorf("it has a descriptor of %s", what)
			}
		}
		for _, r := range h.super.log {
			if all, _ := json.Marshal(r); strings.Contains(string(all), "the model's key") {
				h.t.Errorf("the log says %s", all)
			}
		}
	}, onDisk)
}

// What a program of the kind exec is given, and what becomes of its answers.
func TestAProgramAnswers(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"a text":               {`sed 's/.*"text":"\([^"]*\)".*/you said: \1/'`, "you said: hello"},
		"nothing":              {`cat >/dev/null`, ""},
		"an exit status":       {`cat >/dev/null; echo half; exit 3`, "The program behind me failed at this (exit status 3)."},
		"one that reads not":   {`echo done`, "done"},
		"its own file":         {`cat >/dev/null; echo hello >out.txt; echo MEDIA:out.txt`, "[out.txt]"},
		"a file of another":    {`cat >/dev/null; echo here; echo MEDIA:/etc/passwd`, "here\n\n" + sayOutside},
		"what can't be run":    {"", "The program behind me does not start. Whoever runs me can see why."},
		"a missing secret":     {"echo never", "The program behind me does not start. Whoever runs me can see why."},
		"one that leaves some": {`cat >/dev/null; (sleep 1000 &) ; echo done`, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, pretend.V9, func(h *house) {
				h.program(test.script)
				switch name {
				case "what can't be run":
					if err := os.WriteFile(h.start.Settings.Agent.Command[0], []byte("\x7fELF, not"), 0o700); err != nil {
						h.t.Fatal(err)
					}
				case "a missing secret":
					h.start.Settings.Agent.Secrets = []string{"NEVER_SEALED"}
				}
				h.up()
				h.say(h.owner, h.direct, "hello")
				h.pass(10 * time.Second)
				said := h.said(h.direct)
				for i, m := range h.server.Messages(h.direct) {
					if m.User.ID == h.bot.ID && len(m.Files) > 0 {
						said[i-1] = "[" + m.Files[0].Name + "]"
					}
				}
				if got := strings.Join(said, "|"); got != test.want {
					h.t.Errorf("it said %q, want %q\nlog:\n%s", got, test.want, h.super.lines())
				}
				if name == "a missing secret" && !strings.Contains(h.super.lines(), "rcsupervisor secret hermes set NEVER_SEALED") {
					h.t.Errorf("the log does not say how to mend it:\n%s", h.super.lines())
				}
			})
		})
	}
}

// The host's leave is asked for each process, and given back after it.
func TestAProcessNeedsTheHostsLeave(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		var asked []string
		leave := make(chan struct{})
		h.allow = func(ctx context.Context, p Permit) error {
			if p.Kind != PermitAgent && p.Kind != PermitAgentOver {
				return nil
			}
			asked = append(asked, p.Kind)
			if p.Kind == PermitAgent {
				select {
				case <-leave:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}
		h.program(`cat >/dev/null; echo done`)
		h.up()
		h.say(h.owner, h.direct, "one")
		h.pass(30 * time.Second)
		h.wants(h.direct, "⏳ waiting: this host runs as many agents as it may")
		close(leave)
		h.pass(5 * time.Second)
		h.wants(h.direct, "done")
		if want := []string{PermitAgent, PermitAgentOver}; !slices.Equal(asked, want) {
			h.t.Errorf("asked %q, want %q", asked, want)
		}
	})
}

// A program that fails five times in a row is worth a warning.
func TestAnAgentThatFailsIsWarnedOf(t *testing.T) {
	inBubble(t, pretend.V9, func(h *house) {
		h.program(`exit 1`)
		h.up()
		for range agentFailures {
			h.say(h.owner, h.direct, "hello")
			h.pass(time.Second)
		}
		r := h.await("a warning", func(r Report) bool { return len(r.Warnings) > 0 })
		if r.Warnings[0].Code != "agent-failing" || r.Agent.State != agent.Failing {
			h.t.Errorf("%+v, %+v", r.Warnings, r.Agent)
		}
	})
}

// laterThanNow returns at the next tick of the server's clock: what is said in
// the very millisecond of a request is not said after it.
func (h *house) laterThanNow() {
	for was := h.server.Now(); !h.server.Now().After(was); {
		runtime.Gosched()
	}
}

// Whole turns with an agent that nobody here wrote: the protocol's own example
// asks for one permission, which an owner gives, or refuses.
func TestTurnsOfTheProtocolsExample(t *testing.T) {
	modules := npmtest.Modules(t, filepath.Join("agent", "acp", "testdata", "agents"))
	if modules == "" {
		return
	}
	for allow, says := range map[bool]string{
		true:  "Perfect! I've successfully updated the configuration",
		false: "I understand you prefer not to make that change",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			h := overTCP(t, false, pretend.Options{})
			h.start.Settings.Agent.Kind = "acp"
			h.start.Settings.Agent.Command = []string{"node", filepath.Join(modules, "@agentclientprotocol/sdk/dist/examples/agent.js")}
			h.spawn = agent.Start
			h.run().online(0)
			h.server.Say(h.member, h.den, "@hermes change the configuration")
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			offered := regexp.MustCompile(`\*\*(\d+)\*\* to allow once, \*\*(\d+)\*\* to refuse`)
			var numbers []string
			if h.server.Await(ctx, func() bool {
				numbers = offered.FindStringSubmatch(strings.Join(h.said(h.den), "\n"))
				return numbers != nil
			}) != nil {
				t.Fatalf("nothing was asked; it said %q\nlog:\n%s", h.said(h.den), h.super.lines())
			}
			number := numbers[2]
			if allow {
				number = numbers[1]
			}
			h.laterThanNow()
			h.server.Say(h.member, h.den, number)
			h.server.Say(h.owner, h.den, number)
			if h.server.Await(ctx, func() bool { return strings.Contains(strings.Join(h.said(h.den), "\n"), says) }) != nil {
				t.Fatalf("it said %q\nlog:\n%s", h.said(h.den), h.super.lines())
			}
			if all := strings.Join(h.said(h.den), "\n"); offered.MatchString(all) || strings.Contains(all, "olivia.") != true {
				t.Errorf("the request still shows\n%s", all)
			}
		})
	}
}

// Whole turns with Codex, whose model is ours: a member asks for something that
// changes files, and an owner's number allows it, or refuses.
func TestTurnsOfCodex(t *testing.T) {
	modules := npmtest.Modules(t, filepath.Join("agent", "acp", "testdata", "agents"))
	if modules == "" {
		return
	}
	offered := regexp.MustCompile(`\*\*(\d+)\*\* to allow once, \*\*(\d+)\*\* to refuse`)
	for _, allow := range []bool{true, false} {
		t.Run(fmt.Sprint("allow ", allow), func(t *testing.T) {
			t.Parallel()
			command, env, model := npmtest.Codex(t, modules)
			h := overTCP(t, false, pretend.Options{})
			h.start.Settings.Agent.Kind, h.start.Settings.Agent.Command, h.start.Settings.Agent.Env = "acp", command, env
			h.start.Settings.Context.Messages = 0 // or its model would read what it was asked before
			h.spawn = agent.Start
			h.run().online(0)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			var said []string
			until := func(what string, match func(all string) bool) {
				t.Helper()
				if h.server.Await(ctx, func() bool { said = h.said(h.den); return match(strings.Join(said, "\n")) }) != nil {
					t.Fatalf("%s; it said %q\ntools %q\nlog:\n%s", what, said, model.Tools(), h.super.lines())
				}
			}
			h.server.Say(h.member, h.den, "@hermes RUN: touch done.txt && echo proof-$((6*7))")
			until("nothing was asked", offered.MatchString)
			request := said[len(said)-1]
			if !strings.Contains(request, "touch done.txt && echo proof-$((6*7))") {
				t.Errorf("it is asked\n%s", request)
			}
			numbers := offered.FindStringSubmatch(request)
			number, outcome := numbers[2], "Refused by olivia."
			if allow {
				number, outcome = numbers[1], "Allowed once by olivia."
			}
			h.laterThanNow()
			h.server.Say(h.member, h.den, numbers[1])
			h.server.Say(h.owner, h.den, number)
			until("the request is not edited", func(all string) bool { return strings.Contains(all, outcome) && !offered.MatchString(all) })
			if allow {
				until("no answer", func(all string) bool {
					return strings.Contains(all, "After the tool: ") && strings.Contains(all, "proof-42")
				})
			}
			// The conversation goes on, and what was refused was not done.
			h.server.Say(h.owner, h.den, "@hermes and now?")
			until("no second answer", func(all string) bool { return strings.Contains(all, "and now?") })
			work := agent.WorkDir(h.start.Home, h.den.ID+"/")
			if _, err := os.Stat(filepath.Join(work, "done.txt")); (err == nil) != allow {
				t.Errorf("allow %v: %v", allow, err)
			}
		})
	}
}

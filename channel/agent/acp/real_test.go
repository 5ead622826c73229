package acp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/channel/agent"
	"rcsupervisor/internal/npmtest"
)

// agentsOf returns the folder of the agents that nobody here wrote, "" where
// they can't be had.
func agentsOf(t *testing.T) string {
	t.Helper()
	return npmtest.Modules(t, filepath.Join("testdata", "agents"))
}

// theirs returns a stage for a program, with variables of its own.
func theirs(t *testing.T, command []string, set map[string]string) *stage {
	t.Helper()
	account := agent.Account{Name: "tester", Home: t.TempDir(), Shell: "/bin/sh"}
	return newStage(t, nil, func(c *Config) {
		home := c.Home
		c.Command, c.Spawn = command, agent.Start
		c.Env = func() ([]string, error) {
			return agent.Environment{Home: home, Account: account, Set: set}.List(os.Environ())
		}
	})
}

func TestTheProtocolsOwnExample(t *testing.T) {
	modules := agentsOf(t)
	if modules == "" {
		return
	}
	for _, c := range []struct{ choose, says string }{
		{"allow", "Perfect! I've successfully updated the configuration"},
		{"reject", "I understand you prefer not to make that change"},
		{"", "I understand you prefer not to make that change"},
	} {
		t.Run("choose "+c.choose, func(t *testing.T) {
			t.Parallel()
			s := theirs(t, []string{"node", filepath.Join(modules, "@agentclientprotocol/sdk/dist/examples/agent.js")}, nil)
			defer s.close()
			o := s.ask("r/", "hello", choose(c.choose))
			if !strings.Contains(o.text, c.says) || o.done != (agent.Done{Stop: agent.Ended}) || len(o.asked) != 1 {
				t.Fatalf("%+v\n%s", o, s.log)
			}
			a := o.asked[0]
			if a.Title != "Modifying critical configuration file" || !strings.Contains(a.Body, "new-host") || !strings.Contains(a.Body, "/home/user/project/config.json") {
				t.Errorf("%+v", a)
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		s := theirs(t, []string{"node", filepath.Join(modules, "@agentclientprotocol/sdk/dist/examples/agent.js")}, nil)
		defer s.close()
		o := s.ask("r/", "hello", func(t agent.Turn, _ agent.Asked) { t.Cancel() })
		if o.done != (agent.Done{Stop: agent.Cancelled}) {
			t.Errorf("%+v", o)
		}
		s.Agent.mu.Lock()
		p := s.proc
		s.Agent.mu.Unlock()
		if p == nil || p.retiring {
			t.Error("it had to be replaced")
		}
	})
}

// codex returns a stage whose agent is Codex with a model of ours.
func codex(t *testing.T, modules string) (*stage, *npmtest.Model) {
	t.Helper()
	command, env, m := npmtest.Codex(t, modules)
	return theirs(t, command, env), m
}

// Codex without a login names its ways.
func TestCodexIsNotLoggedIn(t *testing.T) {
	modules := agentsOf(t)
	if modules == "" {
		return
	}
	s := theirs(t, []string{npmtest.CodexProgram(t, modules)}, map[string]string{"CODEX_HOME": t.TempDir()})
	defer s.close()
	o := s.ask("r/", "hello", nil)
	fault := s.State().Error
	if agent.Sentence(o.done.Err) != sayLogin || !strings.Contains(fault, "Login with ChatGPT") || !strings.Contains(fault, "agent.secrets") {
		t.Errorf("%+v\n%s", o, fault)
	}
}

func TestCodex(t *testing.T) {
	modules := agentsOf(t)
	if modules == "" {
		return
	}
	s, m := codex(t, modules)
	work := agent.WorkDir(s.home, "r/")
	o := s.ask("r/", "RUN: touch allowed.txt && echo proof-$((6*7))", choose("approved"))
	if o.done.Err != nil || !strings.Contains(o.text, "proof-42") || len(o.asked) != 1 {
		t.Fatalf("allowed: %+v\ntools %q\n%s", o, m.Tools(), s.log)
	}
	if a := o.asked[0]; !strings.Contains(a.Body, "touch allowed.txt && echo proof-$((6*7))") {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(filepath.Join(work, "allowed.txt")); err != nil {
		t.Error(err)
	}
	o = s.ask("r/", "RUN: touch refused.txt", choose(""))
	if len(o.asked) != 1 || o.dones != 1 || o.done.Err != nil {
		t.Errorf("refused: %+v", o)
	}
	if _, err := os.Stat(filepath.Join(work, "refused.txt")); err == nil {
		t.Error("what was refused was done")
	}
	if o := s.ask("other/", "hello there", nil); !strings.Contains(o.text, "hello there") || o.done.Err != nil {
		t.Errorf("in another room: %+v", o)
	}

	// Its input closed it does not end; it is killed, and its sessions go on.
	s.close()
	s.begin()
	o = s.ask("r/", "are you still there", nil)
	if !strings.Contains(o.text, "are you still there") || strings.Contains(o.text, "proof-42") {
		t.Errorf("after a restart: %+v", o)
	}
	t.Logf("after a restart: %d notices", len(o.notices))

	m.Fail()
	if o := s.ask("r/", "a question", nil); o.done.Stop != agent.Failed || agent.Sentence(o.done.Err) == "" || strings.Contains(o.done.Err.Error(), "out of order") {
		t.Errorf("without its model: %+v", o)
	}
	s.close()
}

func TestCodexIsStopped(t *testing.T) {
	modules := agentsOf(t)
	if modules == "" {
		return
	}
	s, _ := codex(t, modules)
	defer s.close()
	turn, err := s.Begin(context.Background(), question("r/", "RUN: touch never.txt"))
	if err != nil {
		t.Fatal(err)
	}
	o := watch(turn, func(t agent.Turn, _ agent.Asked) { t.Cancel() })
	if o.done.Stop != agent.Cancelled || o.dones != 1 {
		t.Errorf("%+v", o)
	}
	if o := s.ask("r/", "and now", nil); !strings.Contains(o.text, "and now") {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(agent.WorkDir(s.home, "r/"), "never.txt")); err == nil {
		t.Error("what was stopped was done")
	}
}

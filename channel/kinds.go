package channel

import (
	"context"
	"fmt"
	"os"
	"time"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/agent/acp"
	"rcsupervisor/channel/agent/exec"
	"rcsupervisor/sealed"
)

// newAgent makes the agent that settings name. It runs nothing before its first
// question.
func (l *life) newAgent(s Start, link Link) (agent.Agent, error) {
	a := s.Settings.Agent
	program := agent.Program{
		Profile: s.Profile, Home: s.Home, Command: a.Command, Env: environment(s), Spawn: link.Spawn, Permit: permit(link),
		Changed: l.touched, Log: l.log,
	}
	switch a.Kind {
	case "echo":
		return agent.Echo{}, nil
	case "acp":
		return acp.New(acp.Config{
			Program:  program,
			IdleStop: func() time.Duration { return l.rules.Load().settings.Agent.IdleStop },
		}), nil
	case "exec":
		return exec.New(exec.Config{Program: program}), nil
	}
	return nil, fmt.Errorf("agent.kind %q is none of acp, exec and echo", a.Kind)
}

// environment makes an agent's, at each start of one. Of the envelope it is
// given the values that agent.secrets names, and nothing else.
func environment(s Start) func() ([]string, error) {
	values := make(map[string]sealed.Secret, len(s.Settings.Agent.Secrets))
	missing := ""
	for _, name := range s.Settings.Agent.Secrets {
		value, sealed := s.Credentials.Values[name]
		if !sealed {
			missing = name
			continue
		}
		values[name] = value
	}
	home, set := s.Home, s.Settings.Agent.Env
	profile := s.Profile
	return func() ([]string, error) {
		if missing != "" {
			return nil, fmt.Errorf("agent.secrets names %s, which is not sealed; try: rcsupervisor secret %s set %s", missing, profile, missing)
		}
		account, err := agent.AccountOf(os.Getuid())
		if err != nil {
			return nil, err
		}
		return agent.Environment{Home: home, Account: account, Set: set, Values: values}.List(os.Environ())
	}
}

// permit asks for the host's leave to run one more process of an agent, and
// gives it back.
func permit(link Link) func(context.Context) (func(), error) {
	return func(ctx context.Context) (func(), error) {
		if err := link.Allow(ctx, Permit{Kind: PermitAgent}); err != nil {
			return nil, err
		}
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
			defer cancel()
			_ = link.Allow(ctx, Permit{Kind: PermitAgentOver}) // a supervisor that is gone counts nothing
		}, nil
	}
}

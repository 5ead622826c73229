package profile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A HermesConfig is what is to be warned of in a config.yaml. Its defaults are
// Hermes' own (hermes_cli/config_defaults.py): they hold without the file too.
type HermesConfig struct {
	Approvals string   // approvals.mode: manual, smart or off
	Memory    bool     // memory.memory_enabled or memory.user_profile_enabled
	Allowed   int      // entries of command_allowlist
	Toolsets  []string // platforms that platform_toolsets gives a list
}

func defaultHermesConfig() HermesConfig { return HermesConfig{Approvals: "smart", Memory: true} }

// parseHermesConfig reads what a warning depends on. What Hermes would not
// understand counts as its default.
func parseHermesConfig(root *yaml.Node) HermesConfig {
	c := defaultHermesConfig()
	if mode := lookup(root, "approvals.mode"); mode != nil && mode.Kind == yaml.ScalarNode {
		switch v := strings.ToLower(mode.Value); v {
		case "manual", "smart", "off":
			c.Approvals = v
		case "false", "no": // YAML 1.1, which Hermes reads, has off for false
			c.Approvals = "off"
		}
	}
	c.Memory = hermesOn(lookup(root, "memory.memory_enabled")) || hermesOn(lookup(root, "memory.user_profile_enabled"))
	if list := lookup(root, "command_allowlist"); list != nil && list.Kind == yaml.SequenceNode {
		c.Allowed = len(list.Content)
	}
	if m := lookup(root, "platform_toolsets"); m != nil && m.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if m.Content[i+1].Kind == yaml.SequenceNode {
				c.Toolsets = append(c.Toolsets, m.Content[i].Value)
			}
		}
	}
	return c
}

// hermesOn reads a switch that is on unless it is turned off.
func hermesOn(n *yaml.Node) bool {
	return n == nil || !slices.Contains([]string{"false", "no", "off", "n", "0"}, strings.ToLower(n.Value))
}

// A Notice is something a person should know of a profile that runs all the
// same. Code is that of a warning in status; Detail says what was found, and
// may be "".
type Notice struct {
	Code   string
	Detail string
}

// Notices are those that follow from a home's files alone, in the order of
// status' codes. The agent in p and the access a are those in use, which may be
// others than the files give: what waits for a person has no say. It is a pure
// function.
func Notices(p Profile, a Access) []Notice {
	var all []Notice
	add := func(on bool, code, detail string) {
		if on {
			all = append(all, Notice{code, detail})
		}
	}
	hermes, agent, c := p.Settings.Agent.IsHermes(), p.Settings.Agent, p.HermesConfig
	add(hermes && c.Memory && a.SharedMemoryWarning && reachable(a), "shared-memory", "")
	add(hermes && c.Approvals != "manual", "approvals-not-manual", "it is "+c.Approvals)
	switch {
	case hermes && agent.Kind == "acp":
		// acp_adapter gives hermes-acp; platform_toolsets.acp does not narrow it.
		add(true, "no-toolset", "over ACP Hermes always has its hermes-acp toolset")
	case hermes:
		named := slices.ContainsFunc(agent.Command, func(arg string) bool {
			return arg == "-t" || arg == "--toolsets" || strings.HasPrefix(arg, "--toolsets=")
		})
		add(!named && !slices.Contains(c.Toolsets, "cli"), "no-toolset", "platform_toolsets.cli is missing, and agent.command has no --toolsets")
	}
	add(hermes && c.Allowed > 0, "permanent-allowlist", fmt.Sprintf("entries: %d", c.Allowed))
	add(a.AllowContextReferences, "references-allowed", "")
	add(len(p.Hermes) > 0, "plain-token", strings.Join(p.Hermes, "; "))
	add(p.Settings.Health.Silence != DefaultSettings().Health.Silence, "silence-changed", "it is "+showDuration(p.Settings.Health.Silence))
	return all
}

// reachable reports whether more than one person can talk to the bot.
func reachable(a Access) bool {
	n := 0
	for _, p := range a.People {
		if p.Role != Blocked {
			n++
		}
	}
	return n > 1
}

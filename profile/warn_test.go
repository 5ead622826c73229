package profile

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotices(t *testing.T) {
	const (
		memoryOff = "memory: {memory_enabled: false, user_profile_enabled: off}\n"
		calm      = "approvals: {mode: manual}\n" + memoryOff
		two       = "people: [{id: a, role: owner}, {id: b, role: member}]\n"
	)
	toolset := Notice{"no-toolset", "over ACP Hermes always has its hermes-acp toolset"}
	smart := Notice{"approvals-not-manual", "it is smart"}
	for _, c := range []struct {
		name, settings, access, config string
		want                           []Notice
	}{
		{"no config.yaml is Hermes' defaults", "agent: {kind: acp}\n", two, "", []Notice{{"shared-memory", ""}, smart, toolset}},
		{"one person has the memory for himself", "agent: {kind: acp}\n", "people: [{id: a, role: owner}, {id: b, role: blocked}]\n", "", []Notice{smart, toolset}},
		{"silenced", "agent: {kind: acp}\n", two + "shared_memory_warning: false\n", "", []Notice{smart, toolset}},
		{"calm", "agent: {kind: acp}\n", two, calm, []Notice{toolset}},
		{"only the profile of the user is kept", "agent: {kind: acp}\n", two, "approvals: {mode: manual}\nmemory: {memory_enabled: false}\n", []Notice{{"shared-memory", ""}, toolset}},
		{"off", "agent: {kind: acp}\n", "", memoryOff + "approvals: {mode: off}\n", []Notice{{"approvals-not-manual", "it is off"}, toolset}},
		{"off, quoted", "agent: {kind: acp}\n", "", memoryOff + "approvals: {mode: 'off'}\n", []Notice{{"approvals-not-manual", "it is off"}, toolset}},
		{"off as Python writes it", "agent: {kind: acp}\n", "", memoryOff + "approvals: {mode: false}\n", []Notice{{"approvals-not-manual", "it is off"}, toolset}},
		{"a mode nobody knows", "agent: {kind: acp}\n", "", memoryOff + "approvals: {mode: [x]}\n", []Notice{smart, toolset}},
		{"allowed for ever", "agent: {kind: acp}\n", "", calm + "command_allowlist: ['rm *', ls]\n", []Notice{toolset, {"permanent-allowlist", "entries: 2"}}},
		{"no list", "agent: {kind: acp}\n", "", calm + "command_allowlist: []\n", []Notice{toolset}},
		{"a toolset does not narrow ACP", "agent: {kind: acp}\n", "", calm + "platform_toolsets: {acp: [web]}\n", []Notice{toolset}},
		{"exec", "agent: {kind: exec, command: [hermes, chat]}\n", "", calm, []Notice{{"no-toolset", "platform_toolsets.cli is missing, and agent.command has no --toolsets"}}},
		{"exec with a toolset", "agent: {kind: exec, command: [hermes, chat]}\n", "", calm + "platform_toolsets: {cli: [web]}\n", nil},
		{"exec with a flag", "agent: {kind: exec, command: [/usr/bin/hermes, chat, -t, web]}\n", "", calm, nil},
		{"broken config.yaml is Hermes' defaults", "agent: {kind: acp}\n", "", "memory: [\n", []Notice{smart, toolset}},
		{"of other kinds", "agent: {kind: acp}\n", "", "approvals: 7\nmemory: x\ncommand_allowlist: x\nplatform_toolsets: [x]\n", []Notice{smart, toolset}},
		{"echo has no Hermes", "agent: {kind: echo}\n", two, "command_allowlist: [x]\n", nil},
		{"another agent", "agent: {kind: acp, command: [codex-acp]}\n", two, "command_allowlist: [x]\n", nil},
		{"ours", "agent: {kind: echo}\nhealth: {silence: 60s}\n", "allow_context_references: true\n", "", []Notice{{"references-allowed", ""}, {"silence-changed", "it is 1m"}}},
		{"a token in plain text", "agent: {kind: echo}\n", "", "platforms: {rocketchat: {token: x}}\n", []Notice{{"plain-token", "config.yaml: platforms.rocketchat"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			makeHome(t, dir, SettingsFile, c.settings, AccessFile, c.access)
			if c.config != "" {
				write(t, filepath.Join(dir, "config.yaml"), c.config)
			}
			p := scan(t, newScanner(Root{dir, "ann"})).Profiles[0]
			if p.Err != nil {
				t.Fatal(p.Err)
			}
			if d := cmp.Diff(c.want, Notices(p.Profile, p.Access)); d != "" {
				t.Error(d)
			}
		})
	}
}

// What is in use decides, not what a file would like.
func TestNoticesGoByTheAccessInUse(t *testing.T) {
	p := Profile{Settings: DefaultSettings(), Access: Access{AllowContextReferences: true}}
	if n := Notices(p, DefaultAccess()); n != nil {
		t.Error(n)
	}
}

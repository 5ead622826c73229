package profile

import (
	"path/filepath"
	"testing"
)

// What Hermes' own files say is told when, and only when, it is acted on: a
// warning has to come and go with them.
func TestWhatOfHermesFilesIsAChange(t *testing.T) {
	const before = "approvals: {mode: manual}\nplatform_toolsets: {cli: [web]}\ncommand_allowlist: []\n"
	for _, c := range []struct {
		what, file, text string
		want             bool
	}{
		{"nothing", "config.yaml", before, false},
		{"what nothing depends on", "config.yaml", before + "model: {default: x}\n", false},
		{"another order", "config.yaml", "command_allowlist: []\nplatform_toolsets: {cli: [web]}\napprovals: {mode: manual}\n", false},
		{"approvals", "config.yaml", "platform_toolsets: {cli: [web]}\n", true},
		{"memory", "config.yaml", before + "memory: {memory_enabled: false, user_profile_enabled: false}\n", true},
		{"a command for ever", "config.yaml", "approvals: {mode: manual}\nplatform_toolsets: {cli: [web]}\ncommand_allowlist: [ls]\n", true},
		{"no toolset", "config.yaml", "approvals: {mode: manual}\n", true},
		{"no YAML", "config.yaml", "approvals: [\n", true},
		{"another platform", "config.yaml", before + "platforms: {rocketchat: {enabled: true}}\n", true},
		{"a token", ".env", "ROCKETCHAT_TOKEN=x\n", true},
		{"another variable", ".env", "OPENAI_API_KEY=x\n", false},
	} {
		dir := tempDir(t)
		makeHome(t, dir, SettingsFile, "agent: {kind: exec, command: [hermes, chat]}\n")
		write(t, filepath.Join(dir, "config.yaml"), before)
		was := scan(t, newScanner(Root{dir, "ann"})).Profiles[0]
		write(t, filepath.Join(dir, c.file), c.text)
		is := scan(t, newScanner(Root{dir, "ann"})).Profiles[0]
		told := changes(map[string]Reading{"ann": was}, map[string]Reading{"ann": is})
		if got := len(told) == 1 && told[0].Kind == Changed; got != c.want || len(told) > 1 {
			t.Errorf("%s: told %+v", c.what, told)
		}
	}
}

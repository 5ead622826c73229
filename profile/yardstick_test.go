package profile

import (
	"path/filepath"
	"slices"
	"testing"
)

// What keeps a shared bot from acting for the wrong person, where it is met by
// what is warned of.
func TestASharedBotActsForNobodyElse(t *testing.T) {
	warned := func(t *testing.T, access, config, code string) bool {
		t.Helper()
		dir := tempDir(t)
		makeHome(t, dir, SettingsFile, "agent: {kind: acp}\n", AccessFile, access)
		write(t, filepath.Join(dir, "config.yaml"), config)
		p := scan(t, newScanner(Root{dir, "ann"})).Profiles[0]
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		return slices.ContainsFunc(Notices(p.Profile, p.Access), func(n Notice) bool { return n.Code == code })
	}
	const one, two = "people: [{id: a, role: owner}]\n", "people: [{id: a, role: owner}, {id: b, role: member}]\n"
	t.Run("shared memory shows one person's words to another", func(t *testing.T) {
		for _, c := range []struct {
			access, config string
			want           bool
		}{
			{two, "memory: {memory_enabled: true}\n", true},
			{two, "model: {}\n", true}, // Hermes' default
			{two, "memory: {memory_enabled: false, user_profile_enabled: true}\n", true},
			{two, "memory: {memory_enabled: false, user_profile_enabled: false}\n", false},
			{one, "memory: {memory_enabled: true}\n", false},
			{two + "shared_memory_warning: false\n", "memory: {memory_enabled: true}\n", false},
		} {
			if got := warned(t, c.access, c.config, "shared-memory"); got != c.want {
				t.Errorf("with %q and %q: %t", c.access, c.config, got)
			}
		}
	})
	t.Run("a member attaches the bot's files with @file: or has it fetch with @url:", func(t *testing.T) {
		if !warned(t, two+"allow_context_references: true\nshared_memory_warning: false\n", "", "references-allowed") || warned(t, two, "", "references-allowed") {
			t.Error("freed references are not warned of, or others are")
		}
	})
	t.Run("one member changes approvals for everybody", func(t *testing.T) {
		if !warned(t, two, "command_allowlist: ['rm *']\n", "permanent-allowlist") || warned(t, two, "command_allowlist: []\n", "permanent-allowlist") {
			t.Error("what Hermes runs for ever without asking is not warned of, or nothing is")
		}
	})
}

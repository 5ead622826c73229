package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/healthcheck"
)

// hermes puts one of Hermes' own files into a home, as Hermes does; "" takes it
// away.
func (h *house) hermes(name, file, text string) {
	h.Helper()
	path := filepath.Join(h.homeDir(name), file)
	if text == "" {
		if err := os.Remove(path); !os.IsNotExist(err) {
			h.must(err)
		}
		return
	}
	h.must(os.WriteFile(path+".tmp", []byte(text), 0o600))
	h.must(os.Rename(path+".tmp", path))
}

// fromFiles are the codes of a profile's warnings that follow from its files,
// in their order.
func fromFiles(p ProfileStatus) string {
	var codes []string
	for _, w := range p.Warnings {
		switch w.Code {
		case "shared-memory", "approvals-not-manual", "no-toolset", "permanent-allowlist", "references-allowed", "plain-token", "silence-changed", "pending":
			codes = append(codes, w.Code)
		}
	}
	return strings.Join(codes, " ")
}

// warned waits until status says exactly that.
func (h *house) warned(step, name, codes string) ProfileStatus {
	h.Helper()
	return h.awaitThat(name, step+": warned of "+codes, func(p ProfileStatus) bool { return fromFiles(p) == codes })
}

// A step of a test of warnings: what is written, and the codes that status
// shows for it.
type warnStep struct{ what, file, text, want string }

// Each warning that follows from a home's files is in status while the files
// are as they are, goes when they are mended, and costs no connection. Only
// shared-memory can be silenced, and nothing else is with it.
func TestWarningsOfHermesFiles(t *testing.T) {
	t.Parallel()
	const (
		calm    = "approvals: {mode: manual}\nmemory: {memory_enabled: false, user_profile_enabled: false}\n"
		people  = "people: [{id: olivia-id, role: owner}, {id: mia-id, role: member}]\n"
		alone   = "people: [{id: olivia-id, role: owner}]\n"
		unasked = "shared_memory_warning: false\n"
	)
	steps := []warnStep{
		{"Hermes' defaults", "config.yaml", "", "approvals-not-manual shared-memory no-toolset"},
		{"mended", "config.yaml", calm, "no-toolset"},
		{"off", "config.yaml", strings.Replace(calm, "manual", "off", 1), "approvals-not-manual no-toolset"},
		{"manual", "config.yaml", calm, "no-toolset"},
		{"a memory of people", "config.yaml", strings.Replace(calm, "user_profile_enabled: false", "user_profile_enabled: true", 1), "shared-memory no-toolset"},
		{"silenced", "access.yaml", people + unasked, "no-toolset"},
		{"and nothing else with it", "config.yaml", "command_allowlist: ['rm *']\n", "approvals-not-manual permanent-allowlist no-toolset"},
		{"said again", "access.yaml", people, "approvals-not-manual permanent-allowlist shared-memory no-toolset"},
		{"one person has it for himself", "access.yaml", alone, "approvals-not-manual permanent-allowlist no-toolset"},
		{"no list", "config.yaml", calm, "no-toolset"},
	}
	both(t, func(h *house) {
		h.add("alice", "agent: {kind: acp}\n")
		h.write("alice", "access.yaml", people)
		h.start()
		h.online("alice")
		undisturbed := h.undisturbed("alice")
		for _, s := range steps {
			if s.file == "access.yaml" {
				h.write("alice", s.file, s.text)
			} else {
				h.hermes("alice", s.file, s.text)
			}
			p := h.warned(s.what, "alice", s.want)
			for _, w := range p.Warnings {
				if kind, ok := healthcheck.Lookup(w.Code); !ok || w.Text == "" || kind.Action(healthcheck.Facts{Profile: "alice"}) == "" {
					h.Errorf("%s: %+v", s.what, w)
				}
			}
		}
		undisturbed()
	})
}

// A Hermes run by exec has the tools of its command line, which both config.yaml
// and a flag may bound. Another command is for a person to accept.
func TestWarningOfToolsets(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", "agent: {kind: exec, command: [hermes, chat]}\n")
		calm := "approvals: {mode: manual}\nmemory: {memory_enabled: false, user_profile_enabled: false}\n"
		h.hermes("alice", "config.yaml", calm)
		h.start()
		h.online("alice")
		h.warned("all tools", "alice", "no-toolset")
		h.hermes("alice", "config.yaml", calm+"platform_toolsets: {cli: [web]}\n")
		h.warned("some tools", "alice", "")
		h.hermes("alice", "config.yaml", calm)
		h.warned("all again", "alice", "no-toolset")
		h.write("alice", "channel.yaml", "agent: {kind: exec, command: [hermes, chat, -t, web]}\n")
		h.warned("a flag that nobody has accepted", "alice", "no-toolset pending")
		_, err := h.super.Accept(h.Context(), "alice")
		h.must(err)
		h.warned("accepted", "alice", "")
	})
}

// references-allowed is of what is in use: a file that would allow them, and
// waits for a person, has not yet.
func TestWarningOfReferences(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", agentSettings)
		h.start()
		h.online("alice")
		access, err := os.ReadFile(h.path("alice", "access.yaml"))
		h.must(err)
		h.write("alice", "access.yaml", string(access)+"allow_context_references: true\n")
		h.warned("not accepted", "alice", "pending silence-changed")
		_, err = h.super.Accept(h.Context(), "alice")
		h.must(err)
		h.warned("accepted", "alice", "references-allowed silence-changed")
		h.write("alice", "access.yaml", string(access)+"shared_memory_warning: false\n")
		h.warned("mended", "alice", "silence-changed")
		h.write("alice", "channel.yaml", "agent: {kind: exec, command: [answer]}\n")
		h.warned("silence mended", "alice", "")
	})
}

// A token that lies in Hermes' files is told of, and never said.
func TestWarningOfAPlainToken(t *testing.T) {
	t.Parallel()
	both(t, func(h *house) {
		h.add("alice", "agent: {kind: echo}\n")
		h.start()
		h.online("alice")
		undisturbed := h.undisturbed("alice")
		secret := "a-token-of-somebody"
		for _, at := range []struct{ file, text, where string }{
			{".env", "ROCKETCHAT_TOKEN=" + secret + "\n", ".env: ROCKETCHAT_TOKEN"},
			{"config.yaml", "platforms: {rocketchat: {token: " + secret + "}}\n", "config.yaml: platforms.rocketchat"},
		} {
			h.hermes("alice", at.file, at.text)
			p := h.warned(at.file, "alice", "plain-token")
			for _, w := range p.Warnings {
				if strings.Contains(w.Text, secret) || w.Code == "plain-token" && !strings.Contains(w.Text, at.where) {
					h.Errorf("%+v", w)
				}
			}
			h.hermes("alice", at.file, "")
			h.warned(at.file+" mended", "alice", "")
		}
		undisturbed()
	})
}

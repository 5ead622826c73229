package profile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHermesSetUpForRocketChat(t *testing.T) {
	for _, c := range []struct {
		name, env, config string
		want              []string
	}{
		{"nothing", "", "", nil},
		{"other keys", "OPENAI_API_KEY=x\nROCKETCHAT_REQUIRE_MENTION=true\nROCKETCHAT_URL=https://x\n", "platforms: {telegram: {enabled: true}}\n", nil},
		{"a token", "ROCKETCHAT_URL=https://x\nexport ROCKETCHAT_TOKEN = \"t\" # mine\n", "", []string{".env: ROCKETCHAT_TOKEN"}},
		{"scrubbed", "# ROCKETCHAT_TOKEN=t\nROCKETCHAT_TOKEN=\n", "", nil},
		{"the last assignment counts", "ROCKETCHAT_TOKEN=t\nROCKETCHAT_TOKEN=\n", "", nil},
		{"another plugin's", "ROCKETCHAT_ACCESS_TOKEN=t\nROCKETCHAT_PASSWORD=p\n", "", []string{".env: ROCKETCHAT_ACCESS_TOKEN", ".env: ROCKETCHAT_PASSWORD"}},
		{"not UTF-8", "X=\xfc\nROCKETCHAT_TOKEN=t\n", "", []string{".env: ROCKETCHAT_TOKEN"}},
		{"a quoted name, as python-dotenv reads it", "'ROCKETCHAT_TOKEN'=t\n", "", []string{".env: ROCKETCHAT_TOKEN"}},
		{"on in config.yaml", "", "platforms:\n  rocketchat:\n    enabled: true\n", []string{"config.yaml: platforms.rocketchat"}},
		{"token in config.yaml", "", "platforms:\n  rocketchat: {token: x}\n", []string{"config.yaml: platforms.rocketchat"}},
		{"below gateway, in extra", "", "gateway: {platforms: {rocketchat_team: {extra: {auth_token: x}}}}\n", []string{"config.yaml: gateway.platforms.rocketchat_team"}},
		{"turned off", "", "platforms:\n  rocketchat: {enabled: no, token: x}\n", nil},
		{"settings alone", "", "platforms:\n  rocketchat: {require_mention: true}\n", nil},
		{"null", "", "platforms:\n  rocketchat:\n", nil},
		{"broken", "", "platforms: [\n", nil},
		{"of another kind", "", "platforms: 7\n", nil},
		{"laughs", "", "platforms: &a {rocketchat: *a}\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			makeHome(t, dir, SettingsFile, "agent: {kind: acp}\n")
			write(t, filepath.Join(dir, ".env"), c.env)
			write(t, filepath.Join(dir, "config.yaml"), c.config)
			p := scan(t, newScanner(Root{dir, "ann"})).Profiles[0]
			if d := cmp.Diff(c.want, p.Hermes); d != "" {
				t.Error(d)
			}
			if got := errors.Is(p.Err, ErrBoth); got != (c.want != nil) {
				t.Error(p.Err)
			}
			if f, ok := errors.AsType[*Fault](p.Err); ok && f.Try != "rcsupervisor import ann --scrub" {
				t.Error(f.Try)
			}
		})
	}
}

// What Hermes can read counts, by whatever link or mode.
func TestHermesFilesBehindLinks(t *testing.T) {
	dir, other := tempDir(t), tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: acp}\n")
	write(t, other+"/env", "X=1\n")
	must(t, os.Symlink(other+"/env", dir+"/.env"))
	s := newScanner(Root{Dir: dir})
	if p := scan(t, s).Profiles[0]; p.Err != nil {
		t.Error(p.Err)
	}
	write(t, other+"/env", "ROCKETCHAT_TOKEN=x\n")
	if p := scan(t, s).Profiles[0]; !errors.Is(p.Err, ErrBoth) {
		t.Error(p.Err)
	}
	must(t, os.Remove(dir+"/.env"))
	write(t, dir+"/.env", "ROCKETCHAT_TOKEN=x\n")
	must(t, os.Chmod(dir+"/.env", 0o666))
	if p := scan(t, s).Profiles[0]; !errors.Is(p.Err, ErrBoth) {
		t.Error(p.Err)
	}
}

// Another agent's home may say what it will.
func TestOtherAgentsAreNotHermes(t *testing.T) {
	for _, settings := range []string{"agent: {kind: echo}\n", "agent: {kind: acp, command: [codex-acp]}\n", "agent: {kind: exec, command: [./x]}\n"} {
		dir := tempDir(t)
		makeHome(t, dir, SettingsFile, settings)
		write(t, filepath.Join(dir, ".env"), "ROCKETCHAT_TOKEN=x\n")
		if p := scan(t, newScanner(Root{Dir: dir})).Profiles[0]; p.Err != nil {
			t.Error(settings, p.Err)
		}
	}
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "agent: {kind: exec, command: [/opt/bin/hermes, -p, x]}\n")
	write(t, filepath.Join(dir, ".env"), "ROCKETCHAT_TOKEN=x\n")
	if p := scan(t, newScanner(Root{Dir: dir})).Profiles[0]; !errors.Is(p.Err, ErrBoth) {
		t.Error(p.Err)
	}
}

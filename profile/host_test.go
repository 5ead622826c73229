package profile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	must(t, yaml.Load([]byte(text), &doc))
	return doc.Content[0]
}

func TestHostDefaults(t *testing.T) {
	d, err := ParseDefaults("host.yaml", node(t, "agent: {kind: acp, command: [my-hermes, acp], idle_stop: 1h}\nlimits: {queue: 7}\n"))
	must(t, err)
	dir := tempDir(t)
	makeHome(t, dir, SettingsFile, "limits: {age: 1h}\n")
	p, err := Load(t.Context(), "x", dir, Host{AllowRoot: rootsRun, Defaults: &d})
	must(t, err)
	want := DefaultSettings()
	want.Agent.Kind, want.Agent.Command, want.Agent.IdleStop = "acp", []string{"my-hermes", "acp"}, time.Hour
	want.Limits.Queue, want.Limits.Age = 7, time.Hour
	if diff := cmp.Diff(want, p.Settings); diff != "" {
		t.Error(diff)
	}
	p.Settings.Agent.Command[0] = "changed"
	if d.Agent.Command[0] != "my-hermes" {
		t.Error("the defaults are shared with a profile")
	}
	if got, err := ParseDefaults("f", nil); err != nil || cmp.Diff(DefaultSettings(), got) != "" {
		t.Error(err)
	}
	if got, err := ParseDefaults("f", node(t, "~")); err != nil || cmp.Diff(DefaultSettings(), got) != "" {
		t.Error(err)
	}
	for in, want := range map[string]string{
		"a: 1\nlimits: {queue: 0}\n": "f:2: limits.queue: must be a whole number from 1 to 200",
		"limits: &a {}\n":            "anchors and aliases are not used here",
		"[]":                         "must be a map",
	} {
		if _, err := ParseDefaults("f", node(t, in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestCeilings(t *testing.T) {
	c, err := ParseCeilings("f", node(t, "limits: {queue: 50, age: 1h, memory: 1 GiB, file_bytes: 1 MiB}\n"))
	must(t, err)
	s := DefaultSettings()
	s.Limits.Queue, s.Limits.Age = 60, 30*time.Minute
	got, cut := c.Cap(s)
	want := []KeyChange{
		{SettingsFile, "limits.queue", Live, "60", "50"},
		{SettingsFile, "limits.file_bytes", Live, "25 MiB", "1 MiB"},
		{SettingsFile, "limits.memory", NextStart, "0", "1 GiB"}, // none is more than any
	}
	if d := cmp.Diff(want, cut); d != "" {
		t.Error(d)
	}
	if got.Limits.Queue != 50 || got.Limits.Age != 30*time.Minute || got.Limits.Memory != 1<<30 || s.Limits.Queue != 60 {
		t.Errorf("%+v", got.Limits)
	}
	if again, cut := c.Cap(got); cut != nil || cmp.Diff(got, again) != "" {
		t.Error("capped twice")
	}
	if _, cut := (Ceilings{}).Cap(s); cut != nil {
		t.Error(cut)
	}
	if _, err := ParseCeilings("f", node(t, "reply: same\n")); err == nil || err.Error() != "f:1: reply: has no ceiling; only keys under limits have" {
		t.Error(err)
	}
	// Every limit can have one.
	for _, k := range settingsKeys {
		if strings.HasPrefix(k.path, "limits.") && k.more == nil {
			t.Errorf("%s has no order", k.path)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := tempDir(t)
	if _, err := Load(t.Context(), "x", dir+"/none", Host{AllowRoot: rootsRun}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err := Load(t.Context(), "x", dir, Host{AllowRoot: rootsRun})
	if f, ok := errors.AsType[*Fault](err); !ok || f.Try != "rcsupervisor add x --server URL" || !strings.HasSuffix(f.Error(), "has no rocketchat/channel.yaml") {
		t.Errorf("%+v", err)
	}
	makeHome(t, dir, SettingsFile, "\nagent: {kind: echo}\nenabled: false\n", SealedFile, "sealed")
	p, err := Load(t.Context(), "x", dir, Host{AllowRoot: rootsRun})
	if err != nil || p.Name != "x" || p.Home != dir || string(p.Sealed) != "sealed" || p.Lines["enabled"] != 3 || p.Owner != os.Geteuid() {
		t.Errorf("%+v, %v", p, err)
	}
	write(t, dir+"/rocketchat/channel.yaml", "agent: {kind: x}\n")
	if p, err := Load(t.Context(), "x", dir, Host{AllowRoot: rootsRun}); err == nil || p.Hashes.Settings == (Hash{}) {
		t.Error(err)
	}
}

package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a change of each key means is written down here a second time, from
// the contract's table: neither copy changes alone.
func TestClasses(t *testing.T) {
	want := map[string]Class{
		"enabled": OnOff, "agent.kind": AgentReplaced, "agent.command": AgentReplaced, "agent.secrets": AgentReplaced,
		"agent.env": AgentReplaced, "agent.idle_stop": Live, "agent.approval_timeout": Live, "reply": Live,
		"context.messages": Live, "context.chars": Live, "limits.queue": Live, "limits.age": Live,
		"limits.catch_up": Live, "limits.catch_up_messages": Live, "limits.answer_age": Live,
		"limits.answers_per_hour": Live, "limits.file_bytes": Live, "limits.download_bytes": Live,
		"limits.memory": NextStart, "health.silence": Live, "health.ping": Live, "health.check": Live,
		"tls.ca_file": NewConnection, "proxy": NewConnection,
	}
	before := DefaultSettings()
	after, err := ParseSettings("f", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Class{}
	for _, k := range settingsKeys {
		// One key at a time.
		v := DefaultSettings()
		k.copy(&v, &after)
		c := DiffSettings(before, v)
		if len(c.Keys) != 1 || c.Keys[0].Key != k.path || c.Class != c.Keys[0].Class || c.Keys[0].File != SettingsFile {
			t.Fatalf("%s: %+v", k.path, c)
		}
		got[k.path] = c.Class
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if c := DiffSettings(before, after); c.Class != Live|NewConnection|AgentReplaced|OnOff|NextStart || len(c.Keys) != len(settingsKeys) {
		t.Fatal(c.Class)
	}
}

func TestDiffOfAProfile(t *testing.T) {
	var a, b Profile
	a.Settings, a.Access = DefaultSettings(), DefaultAccess()
	b.Settings, b.Access = DefaultSettings(), DefaultAccess()
	if c := Diff(a, b); !c.Empty() || c.Class != 0 {
		t.Fatal(c)
	}
	b.Hashes.Settings[0]++ // a comment was changed
	if c := Diff(a, b); !c.Empty() {
		t.Fatal(c)
	}
	b.Hashes.Sealed[0]++
	b.Access.Approvals = "asker"
	b.Settings.Limits.Queue = 3
	want := Change{Class: Live | NewConnection, Keys: []KeyChange{
		{File: "channel.yaml", Key: "limits.queue", Class: Live, Old: "20", New: "3"},
		{File: "access.yaml", Key: "approvals", Class: Live, Old: "owner", New: "asker"},
		{File: "secrets.age", Class: NewConnection},
	}}
	if d := cmp.Diff(want, Diff(a, b)); d != "" {
		t.Fatal(d)
	}
}

func TestDiffHidesWhatMayBeSecret(t *testing.T) {
	a, b := DefaultSettings(), DefaultSettings()
	b.Agent.Env = map[string]string{"TOKEN": "hunter2"}
	b.Agent.Command = []string{"x", "--key=hunter2"}
	for _, k := range DiffSettings(a, b).Keys {
		if k.Old != "" || k.New != "" {
			t.Errorf("%s is shown: %q, %q", k.Key, k.Old, k.New)
		}
	}
}

func TestClassString(t *testing.T) {
	if got := (Live | OnOff).String(); got != "live, off or on" {
		t.Fatal(got)
	}
	if !(Live | OnOff).Has(OnOff) || Live.Has(OnOff) {
		t.Fatal("Has")
	}
}

package npmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Codex is how to run Codex, of the modules that [Modules] returns, with a
// scripted model and a home of its own: the command, and its variables. Codex
// asks for leave before each command that changes anything.
func Codex(t testing.TB, modules string) (command []string, env map[string]string, m *Model) {
	t.Helper()
	m = NewModel(t)
	home := t.TempDir()
	config := fmt.Sprintf(`model = "fake-model"
model_provider = "fake"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"

[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
`, m.URL)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{CodexProgram(t, modules)}, map[string]string{"CODEX_HOME": home, "FAKE_KEY": "x"}, m
}

// CodexProgram is Codex as an agent that speaks ACP.
func CodexProgram(t testing.TB, modules string) string {
	t.Helper()
	program := filepath.Join(modules, "@zed-industries/codex-acp-linux-x64/bin/codex-acp")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

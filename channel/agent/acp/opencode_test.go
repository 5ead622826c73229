//go:build opencode

package acp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rcsupervisor/internal/npmtest"
)

// chat is a scripted model behind OpenAI's chat completions, streamed, as
// opencode asks it. It is as [model] is.
func chat(w http.ResponseWriter, r *http.Request) {
	var a struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []json.RawMessage `json:"tools"`
	}
	if json.NewDecoder(r.Body).Decode(&a) != nil || len(a.Messages) == 0 {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	last := a.Messages[len(a.Messages)-1]
	delta, finish := object{"role": "assistant", "content": "You said: " + string(last.Content)}, "stop"
	_, command, ok := strings.Cut(string(last.Content), "RUN: ")
	switch {
	case last.Role == "tool":
		delta["content"] = "After the tool: " + string(last.Content)
	case ok && len(a.Tools) > 0: // side calls, such as for a title, have none
		command, _, _ = strings.Cut(command, `"`)
		arguments, _ := json.Marshal(object{"command": command, "description": "as it was told"})
		delta = object{"role": "assistant", "tool_calls": []object{{
			"index": 0, "id": "call_1", "type": "function", "function": object{"name": "bash", "arguments": string(arguments)},
		}}}
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []object{{"index": 0, "delta": delta}, {"index": 0, "delta": object{}, "finish_reason": finish}} {
		data, _ := json.Marshal(object{"id": "c1", "object": "chat.completion.chunk", "model": "fake-model", "choices": []object{choice}})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// TestOpenCode is the large one: 180 MB to download, 700 MB to run.
func TestOpenCode(t *testing.T) {
	dir, err := npmtest.Install(filepath.Join("testdata", "opencode"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(chat))
	defer server.Close()
	home := t.TempDir()
	config, _ := json.Marshal(object{
		"model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "share": "disabled",
		"disabled_providers": []string{"opencode"}, "permission": object{"bash": "ask", "edit": "ask", "webfetch": "ask"},
		"provider": object{"fake": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": object{"baseURL": server.URL + "/v1", "apiKey": "x"},
			"models": object{"fake-model": object{"name": "Fake", "tool_call": true, "limit": object{"context": 100000, "output": 4000}}},
		}},
	})
	program := filepath.Join(dir, "node_modules/opencode-linux-x64/bin/opencode")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	s := theirs(t, []string{program, "acp"}, map[string]string{
		"OPENCODE_CONFIG_CONTENT": string(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "XDG_CONFIG_HOME": home + "/c", "XDG_DATA_HOME": home + "/d", "XDG_CACHE_HOME": home + "/h", "XDG_STATE_HOME": home + "/s",
	})
	for _, c := range []struct{ choose, says string }{{"once", "proof-42"}, {"reject", ""}, {"", ""}} {
		o := s.ask("r/", "RUN: echo proof-$((6*7))", choose(c.choose))
		if o.done.Err != nil || !strings.Contains(o.text, c.says) || strings.Contains(o.text, "proof-42") != (c.says != "") || len(o.asked) != 1 || !strings.Contains(o.asked[0].Body, "echo proof-$((6*7))") {
			t.Errorf("%q: %+v\n%s", c.choose, o, s.log)
		}
	}
	s.close()
	s.begin()
	if o := s.ask("r/", "are you there", nil); !strings.Contains(o.text, "are you there") || strings.Contains(o.text, "proof") || len(o.notices) != 0 {
		t.Errorf("after a restart: %+v", o)
	}
	s.close()
}

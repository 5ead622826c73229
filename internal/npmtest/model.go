package npmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

type object = map[string]any

// A Model is a scripted language model behind the API that Codex asks
// (OpenAI's "responses", streamed). A question with `RUN: command` in it has
// the model call a shell with that; after a tool's result it says what it saw.
type Model struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
	fail bool
}

// NewModel returns one that listens on loopback until the test is over.
func NewModel(t testing.TB) *Model {
	m := &Model{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(m.Close)
	return m
}

// Fail has it answer nothing any more.
func (m *Model) Fail() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = true
}

// Tools are those that it was last offered, for a test that fails.
func (m *Model) Tools() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

// asked is what is read of a request.
type asked struct {
	Input []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	} `json:"input"`
	Tools []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tools"`
}

func (m *Model) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.Error(w, `{"data":[]}`, http.StatusNotFound)
		return
	}
	m.mu.Lock()
	fail := m.fail
	m.mu.Unlock()
	var a asked
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil || fail {
		http.Error(w, `{"error":{"message":"the model is out of order"}}`, http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.seen = nil
	for _, t := range a.Tools {
		m.seen = append(m.seen, t.Type+":"+t.Name)
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, body object) {
		body["type"] = kind
		data, _ := json.Marshal(body)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	event("response.created", object{"response": object{"id": "resp_1"}})
	event("response.output_item.done", object{"item": m.item(a)})
	event("response.completed", object{"response": object{
		"id":    "resp_1",
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": nil, "output_tokens_details": nil},
	}})
}

// item is what the model says next.
func (m *Model) item(a asked) object {
	last := a.Input[len(a.Input)-1]
	if strings.HasSuffix(last.Type, "_output") {
		return words("After the tool: " + string(last.Output))
	}
	text := string(last.Content)
	_, command, ok := strings.Cut(text, "RUN: ")
	if !ok {
		return words("You said: " + text)
	}
	command, _, _ = strings.Cut(command, `"`)
	for _, t := range a.Tools {
		var arguments object
		switch t.Name {
		case "exec_command":
			arguments = object{"cmd": command}
		case "shell":
			arguments = object{"command": []string{"bash", "-lc", command}}
		case "shell_command":
			arguments = object{"command": command}
		default:
			continue
		}
		data, _ := json.Marshal(arguments)
		return object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": t.Name, "arguments": string(data)}
	}
	return words("I have no shell.")
}

func words(s string) object {
	return object{"type": "message", "role": "assistant", "id": "msg_1", "content": []object{{"type": "output_text", "text": s}}}
}

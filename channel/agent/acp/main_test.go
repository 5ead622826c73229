package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// scriptVariable makes the test binary an agent that follows a script.
const scriptVariable = "ACP_SCRIPT"

func TestMain(m *testing.M) {
	if name := os.Getenv(scriptVariable); name != "" {
		scripts[name](newPeer(os.Stdin, os.Stdout))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// scripts are the agents that a test can have as a process of its own.
var scripts = map[string]func(*peer){}

// A peer is the agent's side of the wire, for scripts. Its methods may be
// called from any goroutine, save read.
type peer struct {
	in *bufio.Reader

	mu      sync.Mutex
	out     io.Writer
	last    int
	waiting map[string]chan message // our requests
}

func newPeer(in io.Reader, out io.Writer) *peer {
	return &peer{in: bufio.NewReader(in), out: out, waiting: make(map[string]chan message)}
}

// A message is anything on the wire.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func (m message) param(name string) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(m.Params, &fields)
	var s string
	_ = json.Unmarshal(fields[name], &s)
	return s
}

// prompt is the text of a session/prompt.
func (m message) prompt() string {
	var p struct {
		Prompt []block `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &p)
	var texts []string
	for _, b := range p.Prompt {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "")
}

// read returns the next message that is not the answer to one of ours.
func (p *peer) read() (message, bool) {
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			return message{}, false
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "the client wrote %q\n", line)
			os.Exit(9)
		}
		if m.Method != "" {
			return m, true
		}
		p.mu.Lock()
		wait := p.waiting[string(m.ID)]
		delete(p.waiting, string(m.ID))
		p.mu.Unlock()
		if wait != nil {
			wait <- m
		}
	}
}

func (p *peer) raw(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, s)
}

func (p *peer) send(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.raw(string(data) + "\n")
}

func (p *peer) reply(m message, result any) {
	p.send(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

func (p *peer) fail(m message, code int, text string) {
	p.send(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": code, "message": text}})
}

func (p *peer) update(session string, u object) {
	p.send(object{"jsonrpc": "2.0", "method": mUpdate, "params": object{"sessionId": session, "update": u}})
}

func (p *peer) say(session, text string) {
	p.update(session, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

// request sends a request of ours; its answer comes on the channel.
func (p *peer) request(method string, params any) <-chan message {
	p.mu.Lock()
	p.last++
	id := fmt.Sprintf("r%d", p.last)
	wait := make(chan message, 1)
	p.waiting[`"`+id+`"`] = wait
	p.mu.Unlock()
	p.send(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return wait
}

// ask requests a permission; what was chosen comes on the channel, "cancelled"
// for none.
func (p *peer) ask(session string, call object, options ...object) <-chan string {
	answer := p.request(mPermission, object{"sessionId": session, "toolCall": call, "options": options})
	chosen := make(chan string, 1)
	go func() { chosen <- choice(<-answer) }()
	return chosen
}

func choice(m message) string {
	var r struct {
		Outcome struct{ Outcome, OptionID string }
	}
	_ = json.Unmarshal(m.Result, &r)
	if r.Outcome.Outcome == "selected" {
		return r.Outcome.OptionID
	}
	if m.Error != nil {
		return "error"
	}
	return r.Outcome.Outcome
}

// usual are the options that agents offer.
func usual() []object {
	return []object{
		{"optionId": "allow", "name": "Allow", "kind": "allow_once"},
		{"optionId": "always", "name": "Always allow", "kind": "allow_always"},
		{"optionId": "deny", "name": "Reject", "kind": "reject_once"},
	}
}

// A behaviour is a well-mannered agent of which a test changes what it is about.
type behaviour struct {
	caps   object
	info   object
	method map[string]func(p *peer, m message) // instead of the usual answer
	// prompt is run on a goroutine of its own for each question; it returns the
	// reason for which the agent stops, "" when it answers the request itself.
	prompt func(p *peer, m message, cancelled <-chan struct{}) string
}

// serve plays an agent until its input ends.
func (b behaviour) serve(p *peer) {
	var mu sync.Mutex
	cancels := make(map[string]chan struct{})
	var turns sync.WaitGroup
	sessions := 0
	for {
		m, ok := p.read()
		if !ok {
			mu.Lock()
			for id, c := range cancels {
				close(c)
				delete(cancels, id)
			}
			mu.Unlock()
			turns.Wait()
			return
		}
		if f := b.method[m.Method]; f != nil {
			f(p, m)
			continue
		}
		switch m.Method {
		case mInitialize:
			p.reply(m, object{"protocolVersion": 1, "agentCapabilities": b.caps, "agentInfo": b.info})
		case mNew:
			sessions++
			p.reply(m, object{"sessionId": fmt.Sprintf("s%d-%d", os.Getpid(), sessions)})
		case mCancel:
			mu.Lock()
			if c := cancels[m.param("sessionId")]; c != nil {
				close(c)
				delete(cancels, m.param("sessionId"))
			}
			mu.Unlock()
		case mPrompt:
			session, cancelled := m.param("sessionId"), make(chan struct{})
			mu.Lock()
			cancels[session] = cancelled
			mu.Unlock()
			turns.Go(func() {
				stop := b.prompt(p, m, cancelled)
				mu.Lock()
				if cancels[session] == cancelled {
					delete(cancels, session)
				}
				mu.Unlock()
				if stop != "" {
					p.reply(m, object{"stopReason": stop})
				}
			})
		default:
			if len(m.ID) > 0 {
				p.fail(m, codeNoMethod, "no such method")
			}
		}
	}
}

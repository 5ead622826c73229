package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"rcsupervisor/channel/agent"
)

// Bounds of one turn.
const (
	maxOpen    = 16  // requests at once
	maxCalls   = 200 // tool calls that are remembered
	maxOptions = 24
	maxTitle   = 100 // characters of progress
	// describeGrace is how long a request may come before the tool call it is
	// about, without which there is nothing to show.
	describeGrace = 5 * time.Second
	// hermesWaits is how long Hermes waits for a decision, whatever it is set to
	// (permissions.py); then it goes on as if it were refused, and does not say so.
	hermesWaits = time.Minute
)

// A turn is one question at work.
type turn struct {
	feed   *agent.Feed
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	conn    *conn // the process that was given the question; nil before; guarded by mu, as all below
	session string
	dir     string
	media   agent.MediaScan
	message string             // the id of the message whose text came last
	broken  bool               // the next text begins a paragraph of its own
	newline bool               // the last text ended a line
	calls   map[string]*called // by tool call
	order   []string           // their ids, oldest first
	open    map[string]*request
	last    int // the number of the last request
	stopped bool
	refused bool // a request was
	over    bool
}

// A called is a tool call as far as it is known.
type called struct {
	toolCall
	content json.RawMessage
}

// A request for permission waits for a decision.
type request struct {
	wire    json.RawMessage // its id
	options []option
	asking  asking
	came    time.Time
	held    *time.Timer // until it can be shown; nil once it was
}

var _ agent.Turn = (*turn)(nil)

func newTurn(cancel context.CancelCauseFunc) *turn {
	return &turn{
		feed: agent.NewFeed(), cancel: cancel,
		calls: make(map[string]*called), open: make(map[string]*request),
	}
}

// Events is the turn's feed.
func (t *turn) Events() <-chan agent.Event { return t.feed.Events() }

// Cancel has the agent stop. The Done comes when it said so, or does not.
func (t *turn) Cancel() { t.cancel(errStopped) }

// given notes who was given the question. What is known of an earlier try is
// of a session that is no more.
func (t *turn) given(c *conn, session, dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn, t.session, t.dir = c, session, dir
}

// update takes one update of the agent's.
func (t *turn) update(u update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	switch u.Kind {
	case "agent_message_chunk":
		var b block
		if json.Unmarshal(u.Content, &b) == nil {
			t.say(b, u.MessageID)
		}
	case "tool_call", "tool_call_update":
		t.toolCalled(u)
	}
}

// say takes a piece of the answer. Pieces of different messages, and those
// before and after a tool call, are paragraphs.
func (t *turn) say(b block, message string) {
	switch b.Type {
	case "text":
		if message != "" && t.message != "" && message != t.message {
			t.broken = true
		}
		if message != "" {
			t.message = message
		}
		if t.broken && strings.TrimSpace(b.Text) != "" {
			t.broken = false
			if t.feed.Size() > 0 && !t.newline && !strings.HasPrefix(b.Text, "\n") {
				b.Text = "\n\n" + b.Text
			}
		}
		if b.Text != "" {
			t.newline = strings.HasSuffix(b.Text, "\n")
		}
		text, files := t.media.Write(b.Text)
		t.put(text, files)
	case "resource_link":
		if path, ok := localPath(b.URI); ok {
			t.put("", []string{path})
		}
	}
}

func (t *turn) put(text string, files []string) {
	if text != "" {
		t.feed.Put(agent.Text{Chunk: text})
	}
	for _, path := range files {
		t.feed.Put(agent.FileOut{Path: path, Dir: t.dir})
	}
}

// toolCalled notes what is known of a tool call, shows it as progress, and asks
// what waited for it.
func (t *turn) toolCalled(u update) {
	if u.ID == "" || len(u.ID) > maxID {
		return
	}
	known := t.calls[u.ID]
	if known == nil {
		if len(t.order) >= maxCalls {
			delete(t.calls, t.order[0])
			t.order = t.order[1:]
		}
		known = &called{}
		t.calls[u.ID] = known
		t.order = append(t.order, u.ID)
		t.broken = true
	}
	if u.Title != "" && u.Title != known.Title {
		t.feed.Put(agent.Progress{Title: headline(u.Title)})
	}
	known.merge(u.toolCall, u.Content)
	for id, r := range t.open {
		if r.held != nil && r.asking.Call.ID == u.ID {
			t.show(id, r)
		}
	}
}

// merge takes over what an update names.
func (k *called) merge(u toolCall, content json.RawMessage) {
	k.ID = u.ID
	if u.Title != "" {
		k.Title = u.Title
	}
	if u.Kind != "" {
		k.Kind = u.Kind
	}
	if present(u.Input) {
		k.Input = u.Input
	}
	if len(u.Locations) > 0 {
		k.Locations = u.Locations
	}
	if present(content) {
		k.content = content
	}
}

func present(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// headline is a title as progress: one line, short.
func headline(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return string(r)
}

// end is the turn's Done.
func (t *turn) end(d agent.Done) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for id, r := range t.open {
		t.settle(id, r, t.refusal(r))
	}
	t.put(t.media.End())
	t.feed.End(d)
}

// stop tells the agent to stop, and that nothing of this turn will be allowed.
func (t *turn) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if !t.conn.hermes {
		t.conn.notify(mCancel, object{"sessionId": t.session})
	}
	for id, r := range t.open {
		t.settle(id, r, t.refusal(r))
	}
	if t.conn.hermes {
		t.conn.notify(mCancel, object{"sessionId": t.session})
	}
}

func (t *turn) refusedOne() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

func number(n int) string { return strconv.Itoa(n) }

package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"rcsupervisor/channel/agent"
)

// ask takes a request for permission. It is shown when there is something to
// show, and refused when the turn is over, was stopped, or has too many.
func (t *turn) ask(wire json.RawMessage, a asking) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.open {
		if bytes.Equal(r.wire, wire) {
			t.conn.oddity("a request with the id of another")
			return // one answer is all that its id can have
		}
	}
	r := &request{wire: bytes.Clone(wire), options: usable(a.Options), asking: a, came: time.Now()}
	switch {
	case t.over || t.stopped:
		t.conn.decide(wire, t.refusal(r))
		return
	case len(r.options) == 0 || len(r.options) > maxOptions || len(t.open) >= maxOpen:
		t.refused = true
		t.conn.decide(wire, rejection(r.options))
		return
	}
	t.last++
	id := number(t.last)
	t.open[id] = r
	t.show(id, r)
}

// show asks for a decision, once it is known what about.
func (t *turn) show(id string, r *request) {
	call := called{}
	if known := t.calls[r.asking.Call.ID]; known != nil {
		call = *known
	}
	call.merge(r.asking.Call.toolCall, r.asking.Call.Content)
	asked := agent.Asked{ID: id, Plain: t.conn.hermes && plain(call.ID, r.options)}
	title, body := call.describe()
	if asked.Plain {
		body = ""
	}
	if title == "" && body == "" {
		if r.held == nil {
			r.held = time.AfterFunc(describeGrace, func() { t.giveUp(id) })
		}
		return
	}
	if r.held != nil {
		r.held.Stop()
		r.held = nil
	}
	asked.Title, asked.Body = title, body
	if t.conn.hermes {
		asked.Until = r.came.Add(hermesWaits)
	}
	for _, o := range r.options {
		asked.Options = append(asked.Options, agent.Option{ID: o.ID, Name: o.Name, Kind: o.Kind})
	}
	if !t.feed.Put(asked) {
		t.refused = true
		t.settle(id, r, rejection(r.options))
	}
}

// giveUp refuses a request of which it never became known what it is about.
func (t *turn) giveUp(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.open[id]; r != nil && r.held != nil {
		t.refused = true
		t.settle(id, r, rejection(r.options))
	}
}

// Answer decides a request: "" refuses.
func (t *turn) Answer(question, choice string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.open[question]
	if r == nil || r.held != nil {
		return agent.ErrNotAsked
	}
	if choice == "" {
		t.refused = true
		t.settle(question, r, rejection(r.options))
		return nil
	}
	for _, o := range r.options {
		if o.ID == choice {
			t.refused = t.refused || strings.HasPrefix(o.Kind, "reject")
			t.settle(question, r, choice)
			return nil
		}
	}
	return agent.ErrNoOption
}

// settle answers a request and forgets it; the caller holds t.mu.
func (t *turn) settle(id string, r *request, choice string) {
	delete(t.open, id)
	if r.held != nil {
		r.held.Stop()
	}
	t.conn.decide(r.wire, choice)
}

// refusal is how a request of a turn that is stopped or over is answered. The
// protocol has the outcome cancelled for that. To a Hermes with a gateway that
// is no refusal: others could still allow what was asked.
func (t *turn) refusal(r *request) string {
	if t.conn.hermes {
		return rejection(r.options)
	}
	return ""
}

// withdraw forgets a request that the agent takes back.
func (t *turn) withdraw(wire json.RawMessage) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, r := range t.open {
		if bytes.Equal(r.wire, wire) {
			delete(t.open, id)
			if r.held != nil {
				r.held.Stop()
			} else {
				t.feed.Put(agent.Withdrawn{ID: id})
			}
			return true
		}
	}
	return false
}

// usable are the options that can be chosen: each with an id of its own.
func usable(options []option) []option {
	seen := make(map[string]bool)
	var list []option
	for _, o := range options {
		if o.ID == "" || len(o.ID) > maxID || seen[o.ID] {
			continue
		}
		seen[o.ID] = true
		if strings.TrimSpace(o.Name) == "" {
			o.Name = o.ID
		}
		list = append(list, o)
	}
	return list
}

// plain reports whether a request of Hermes' is a question of its own, which it
// asks so where there are no forms: the choices are answers, and the last one
// skips it.
func plain(call string, options []option) bool {
	if !strings.HasPrefix(call, "clarify-") {
		return false
	}
	choices := 0
	for _, o := range options {
		switch {
		case strings.HasPrefix(o.ID, "choice-"):
			choices++
		case o.Kind != "reject_once":
			return false
		}
	}
	return choices > 0
}

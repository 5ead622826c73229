package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// read hands on what the agent writes, in its order, until its output ends. It
// never waits for anybody.
func (c *conn) read() {
	in := newLines(c.proc.Stdout(), maxLine)
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, errLong):
			c.oddity("longer than 32 MiB")
			continue
		case err != nil:
			return
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			c.oddity("not JSON-RPC")
			continue
		}
		c.take(f)
	}
}

// oddity counts a line that was not understood. What was in it is nobody's: it
// may be anything.
func (c *conn) oddity(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd[what]++
}

// take handles one message.
func (c *conn) take(f frame) {
	request := len(f.ID) > 0 && !bytes.Equal(f.ID, []byte("null"))
	switch {
	case f.Method == "" && request:
		c.answered(f)
	case f.Method == "":
		c.oddity("an answer to nothing")
	case len(f.ID) > maxID:
		c.oddity("a request with an odd id")
	case f.Method == mUpdate && !request:
		c.updated(f)
	case f.Method == mPermission && request:
		c.asked(f)
	case f.Method == mWithdraw && !request:
		c.withdrawn(f)
	case request:
		// Nothing that we advertised: file system, terminal, forms, extensions.
		c.refuse(f.ID, codeNoMethod, "not offered by this client")
	}
}

// answered hands the answer to one of our requests to whoever waits for it.
func (c *conn) answered(f frame) {
	id, err := strconv.ParseInt(string(f.ID), 10, 64)
	if err != nil {
		c.oddity("an answer to nothing")
		return
	}
	c.mu.Lock()
	then := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if then == nil {
		c.oddity("an answer to nothing")
		return
	}
	then(f)
}

// updated hands an update to the turn it belongs to. Outside of turns nothing
// is shown to anybody: such is the history that is replayed when a session is
// taken up again.
func (c *conn) updated(f frame) {
	var n notice
	if err := json.Unmarshal(f.Params, &n); err != nil {
		c.oddity("an update of another form")
		return
	}
	c.mu.Lock()
	t := c.turns[n.Session]
	if _, replaying := c.replay[n.Session]; replaying {
		c.replay[n.Session] = time.Now()
	}
	c.mu.Unlock()
	if t != nil {
		t.update(n.Update)
	}
}

// asked hands a request for permission to its turn. What nobody is there to
// decide is refused: outside of turns, which is how a Hermes whose gateway went
// on without us shows what still waits, and after a turn was cancelled.
func (c *conn) asked(f frame) {
	var a asking
	if err := json.Unmarshal(f.Params, &a); err != nil {
		c.refuse(f.ID, codeParams, "not a request for permission")
		return
	}
	c.mu.Lock()
	t := c.turns[a.Session]
	c.mu.Unlock()
	if t == nil {
		c.decide(f.ID, rejection(a.Options))
		return
	}
	t.ask(f.ID, a)
}

// withdrawn is the agent's taking back of a request.
func (c *conn) withdrawn(f frame) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(f.Params, &p); err != nil || len(p.ID) == 0 {
		return
	}
	c.mu.Lock()
	turns := make([]*turn, 0, len(c.turns))
	for _, t := range c.turns {
		turns = append(turns, t)
	}
	c.mu.Unlock()
	for _, t := range turns {
		if t.withdraw(p.ID) {
			c.refuse(p.ID, codeCancelled, "withdrawn")
			return
		}
	}
}

// decide answers a request for permission. The option "" is the protocol's
// cancelled.
func (c *conn) decide(id json.RawMessage, option string) {
	outcome := object{"outcome": "cancelled"}
	if option != "" {
		outcome = object{"outcome": "selected", "optionId": option}
	}
	c.send(frame{ID: id, Result: mustJSON(object{"outcome": outcome})})
}

func (c *conn) refuse(id json.RawMessage, code int, message string) {
	c.send(frame{ID: id, Error: &rpcError{Code: code, Message: message}})
}

// rejection is the option that refuses, "" where none does.
func rejection(options []option) string {
	for _, kind := range []string{"reject_once", "reject_always"} {
		for _, o := range options {
			if o.Kind == kind && o.ID != "" {
				return o.ID
			}
		}
	}
	return ""
}

package pretend

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// commands are the slash commands this server knows, without their slash.
var commands = map[string]func(c *call, r *room, params string) (string, bool){
	"me":    func(_ *call, _ *room, p string) (string, bool) { return "_" + p + "_", true },
	"shrug": func(_ *call, _ *room, p string) (string, bool) { return strings.TrimSpace(p + ` ¯\\_(ツ)_/¯`), true },
	"topic": func(c *call, r *room, p string) (string, bool) {
		r.topic = p
		c.s.systemLocked(r, "room_changed_topic", p, c.user, nil)
		return "", false
	},
	"leave": func(c *call, r *room, _ string) (string, bool) {
		c.s.leaveLocked(r, c.user, nil)
		return "", false
	},
}

// runCommand takes the command without its slash: "/me" is none.
func (c *call) runCommand() (doc, *refusal) {
	var b struct {
		Command string `json:"command"`
		Params  string `json:"params"`
		RoomID  string `json:"roomId"`
		Thread  string `json:"tmid"`
		Trigger string `json:"triggerId"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	run, ok := commands[b.Command]
	if !ok {
		return nil, plain("The command provided does not exist (or is disabled).")
	}
	r := c.s.rooms[b.RoomID]
	if r == nil || !c.s.canAccess(c.user, r) {
		return nil, c.s.notMember()
	}
	if text, say := run(c, r, b.Params); say {
		if no := c.s.mayPost(c.user, r, text); no != nil {
			return nil, no
		}
		if _, no := c.s.postLocked(c.user, r, draft{Text: text, Thread: b.Thread}, time.Time{}); no != nil {
			return nil, no
		}
	}
	return doc{{"result", nil}}, nil
}

func (c *call) listCommands() (doc, *refusal) {
	var names []string
	for n := range commands {
		names = append(names, n)
	}
	slices.Sort(names)
	list := make([]doc, len(names))
	for i, n := range names {
		list[i] = doc{{"command", n}, {"clientOnly", false}}
	}
	return c.paged("commands", list), nil
}

// callMethod is a method of the realtime API over REST: message holds a DDP
// frame as a string, and so does the answer.
func (c *call) callMethod() (doc, *refusal) {
	var b struct {
		Message string `json:"message"`
	}
	if no := c.into(&b); no != nil {
		return nil, no
	}
	p, ok := parsePacket([]byte(b.Message))
	if !ok || len(c.args) != 1 || p.Method != c.args[0] {
		return nil, bad("error-invalid-params", "Invalid method call")
	}
	m, known := methods[p.Method]
	var result any
	var fault *ddpError
	switch {
	case !known || p.Method == "login" || p.Method == "logout" || !c.s.v.methods:
		fault = ddpErr(404, "Method '"+p.Method+"' not found")
	default:
		ghost := &session{server: c.s}
		ghost.user.Store(c.user)
		result, fault = m.run(ghost, p.Params)
	}
	d := doc{{"msg", "result"}, {"id", p.ID}}
	if fault != nil {
		d = d.with("error", fault.doc())
	} else {
		d = d.with("result", result)
	}
	return doc{{"message", json.RawMessage(appendString(nil, string(encode(nil, d, onSocket))))}}, nil
}

package pretend

import "encoding/json"

// A method of the realtime API. It runs with the server's lock held.
type method struct {
	run func(c *session, p []json.RawMessage) (any, *ddpError)
	old bool // gone from 9.0, which keeps login and streams
}

// methods is the realtime API; init breaks the cycle with its own functions.
var methods map[string]method

func init() {
	methods = map[string]method{
		"login":                            {run: (*session).login},
		"logout":                           {run: (*session).logout},
		"stream-notify-room":               {run: (*session).notifyRoom},
		"stream-notify-user":               {run: nothing},
		"UserPresence:online":              {run: nothing},
		"UserPresence:away":                {run: nothing},
		"UserPresence:setDefaultStatus":    {run: nothing},
		"setUserStatus":                    {run: nothing},
		"sendMessage":                      {run: (*session).methodSend, old: true},
		"updateMessage":                    {run: (*session).methodUpdate, old: true},
		"deleteMessage":                    {run: (*session).methodDelete, old: true},
		"setReaction":                      {run: (*session).methodReact, old: true},
		"loadHistory":                      {run: (*session).methodHistory, old: true},
		"joinRoom":                         {run: (*session).methodJoin, old: true},
		"leaveRoom":                        {run: (*session).methodLeave, old: true},
		"createDirectMessage":              {run: (*session).methodDirect, old: true},
		"getRoomIdByNameOrId":              {run: (*session).methodRoomID, old: true},
		"getRoomNameById":                  {run: (*session).methodRoomName, old: true},
		"rooms/get":                        {run: (*session).methodRooms, old: true},
		"subscriptions/get":                {run: (*session).methodSubscriptions, old: true},
		"public-settings/get":              {run: nothing, old: true},
		"getSingleMessage":                 {run: (*session).methodMessage, old: true},
		"readMessages":                     {run: (*session).methodRead, old: true},
		"getUserRoles":                     {run: nothing, old: true},
		"personalAccessTokens:removeToken": {run: (*session).methodRemoveToken, old: true},
	}
}

func nothing(*session, []json.RawMessage) (any, *ddpError) { return nil, nil }

// call runs a method and answers: result, then updated; on an error Meteor
// sends updated first.
func (c *session) call(p packet) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changedLocked()
	m, known := methods[p.Method]
	if m.old && !s.v.methods {
		known = false
	}
	name := p.Method
	if !known {
		name = "unknown"
	}
	s.count.add(c.user.Load(), "method "+name)
	var result any
	var bad *ddpError
	if wait, ok := c.allow("method", name); !ok {
		bad = tooMany(wait)
	} else if !known {
		bad = ddpErr(404, "Method '"+p.Method+"' not found")
	} else {
		result, bad = m.run(c, p.Params)
	}
	c.answer(p, result, bad)
}

func (c *session) answer(p packet, result any, bad *ddpError) {
	k := kindOther
	if p.Method == "login" {
		k = kindLogin
	}
	d := doc{{"msg", "result"}, {"id", p.ID}}
	switch {
	case bad != nil:
		d = d.with("error", bad.doc())
	case result != nil:
		d = d.with("result", result)
	}
	frames := [][]byte{
		encode(nil, d, onSocket),
		encode(nil, doc{{"msg", "updated"}, {"methods", []string{p.ID}}}, onSocket),
	}
	kinds := []kind{k, kindOther}
	if bad != nil && !c.server.v.streamer {
		frames[0], frames[1] = frames[1], frames[0]
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	for i := range frames {
		c.send(kinds[i], frames[i])
	}
}

// read decodes a method's parameters into as many targets; what is missing or
// of another type stays as it was.
func read(params []json.RawMessage, targets ...any) {
	for i, t := range targets {
		if i < len(params) {
			_ = json.Unmarshal(params[i], t)
		}
	}
}

// parameter reads the first parameter as a string.
func parameter(p []json.RawMessage) string { return firstString(p) }

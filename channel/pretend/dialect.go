package pretend

import (
	"encoding/json"
	"slices"

	"github.com/gorilla/websocket"
)

// An ending is how a server closes a socket. Code 1006 is no code: the
// connection is cut without a close frame.
type ending struct {
	code int
	text string
}

var (
	closeNormal   = ending{websocket.CloseNormalClosure, "Normal closure"}
	closeProtocol = ending{websocket.CloseProtocolError, ""}
	closeData     = ending{websocket.CloseInvalidFramePayloadData, ""}
	closeTimeout  = ending{4000, "TIMEOUT"}
	closeAbrupt   = ending{code: websocket.CloseAbnormalClosure}
)

// A packet is a frame from a client.
type packet struct {
	Msg     string            `json:"msg"`
	ID      string            `json:"id"`
	Version string            `json:"version"`
	Support []string          `json:"support"`
	Method  string            `json:"method"`
	Name    string            `json:"name"`
	Params  []json.RawMessage `json:"params"`
	raw     []byte
}

// parsePacket reads a frame. A frame that isn't an object of this shape is an
// error; fields of other types make it one too.
func parsePacket(b []byte) (packet, bool) {
	p := packet{raw: b}
	if json.Unmarshal(b, &p) != nil {
		return packet{}, false
	}
	for _, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		}
		return p, c == '{'
	}
	return packet{}, false
}

// hello is what the server sends before the client says connect.
func (v *personality) hello() []byte {
	if v.streamer {
		return []byte(`{"msg":"server_id","server_id":"0"}`)
	}
	return []byte(`{"server_id":"0"}`) // no msg at all
}

// unreadable answers what isn't JSON, or is binary: Meteor says so and goes
// on, the streamer closes.
func (c *session) unreadable() {
	if c.server.v.streamer {
		c.end(closeData)
		return
	}
	c.send(kindOther, []byte(`{"msg":"error","reason":"Bad request"}`))
}

func (c *session) protest(reason string, p packet) {
	if c.server.v.streamer {
		c.end(closeProtocol)
		return
	}
	b := append([]byte(`{"msg":"error","reason":`), appendString(nil, reason)...)
	b = append(append(b, `,"offendingMessage":`...), p.raw...)
	c.send(kindOther, append(b, '}'))
}

// handle does what one frame asks for. It runs on the reading goroutine and
// never waits.
func (c *session) handle(p packet) {
	if !c.connected {
		c.connect(p)
		return
	}
	switch p.Msg {
	case "connect":
		if !c.server.v.streamer {
			c.protest("Already connected", p)
		}
	case "ping":
		c.pong(p.ID)
	case "pong": // it was a sign of life, which is all
	case "method":
		if p.ID == "" || p.Method == "" {
			c.malformed(p)
			return
		}
		c.call(p)
	case "sub":
		if p.ID == "" || p.Name == "" {
			c.malformed(p)
			return
		}
		c.subscribe(p)
	case "unsub":
		c.unsubscribe(p.ID)
	default:
		if !c.server.v.streamer {
			c.protest("Bad request", p)
		}
	}
}

// malformed: a method without id or name, a sub without. Meteor answers
// "Malformed …", the streamer closes with 1002.
func (c *session) malformed(p packet) {
	what := "subscription"
	if p.Msg == "method" {
		what = "method invocation"
	}
	c.protest("Malformed "+what, p)
}

// meteorVersions are the protocol's versions that Meteor's server speaks, best
// first. js.SDK still asks for pre2.
var meteorVersions = []string{"1", "pre2", "pre1"}

// agree is the best version that the client supports too.
func (p *packet) agree() string {
	for _, v := range p.Support {
		if slices.Contains(meteorVersions, v) {
			return v
		}
	}
	return meteorVersions[0]
}

// connect handles the first frame. Meteor agrees on a version or answers
// failed; the streamer takes any.
func (c *session) connect(p packet) {
	s := c.server
	switch {
	case p.Msg != "connect":
		c.protest("Must connect first", p)
	case s.faults.use(Failed, nil, "") || (!s.v.streamer && p.Version != p.agree()):
		c.send(kindOther, encode(nil, doc{{"msg", "failed"}, {"version", p.agree()}}, onSocket))
		c.end(closeNormal)
	default:
		c.connected = true
		c.send(kindConnected, encode(nil, doc{{"msg", "connected"}, {"session", c.id}}, onSocket))
		if !s.v.streamer && p.Version != "pre1" { // which knows no pings
			c.beat.start()
		}
	}
}

// pong answers a client's ping with its own id, or without one.
func (c *session) pong(id string) {
	u := c.user.Load()
	if c.server.faults.use(NoPong, u, "") {
		return
	}
	if c.server.faults.use(StalePong, u, "") {
		id = "stale-" + id
	}
	d := doc{{"msg", "pong"}}
	c.send(kindPong, encode(nil, d.text("id", id), onSocket))
}

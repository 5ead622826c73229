package pretend

import (
	"time"

	"github.com/gorilla/websocket"
)

// kind is what a frame is to a fault.
type kind int

const (
	kindOther kind = iota
	kindHello
	kindConnected
	kindPing
	kindPong
	kindLogin // a login's result
	kindReady
	kindEvent
)

// send queues a frame; faults may have it otherwise.
func (c *session) send(k kind, frame []byte) {
	c.sendItem(k, item{op: websocket.TextMessage, data: frame})
}

func (c *session) ping() { c.send(kindPing, []byte(`{"msg":"ping"}`)) }

func (c *session) sendItem(k kind, it item) {
	f := &c.server.faults
	if f.none() {
		c.enqueue(it)
		return
	}
	if c.mute() {
		return
	}
	u := c.user.Load()
	for _, h := range holds {
		if h.kind == k && f.use(h.fault, u, "") {
			c.out.hold(h.fault, it)
			return
		}
	}
	if d, ok := f.find(Delay, u, ""); ok {
		it.due = time.Now().Add(time.Duration(d.Delay))
	}
	c.enqueue(it)
}

// holds is which fault keeps which frame back.
var holds = []struct {
	kind  kind
	fault Kind
}{{kindConnected, HoldConnected}, {kindLogin, HoldLogin}, {kindReady, HoldReady}}

func (c *session) enqueue(it item) {
	if !c.out.push(it) {
		c.cut() // the client reads nothing: see maxOutbox
	}
}

// event sends one event of a stream, bent by what faults there are.
func (c *session) event(e *event) {
	f := &c.server.faults
	if f.none() {
		c.enqueue(item{op: websocket.TextMessage, data: e.bytes()})
		return
	}
	u := c.user.Load()
	if f.use(Deaf, u, "") {
		return
	}
	frame := e.bytes()
	if e.stream == roomMessages {
		switch {
		case f.use(NestedArgs, u, ""):
			frame = changedFrame(e.topic, "["+string(e.first)+string(e.rest)+"]")
		case f.use(NoContext, u, ""):
			frame = changedFrame(e.topic, string(e.first))
		}
	}
	c.send(kindEvent, frame)
	if f.use(Duplicate, u, "") {
		c.send(kindEvent, frame)
	}
}

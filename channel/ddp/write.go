package ddp

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/healthcheck"
)

const (
	queueBound = 64               // frames waiting to be written; one more means that nothing is being written
	callBound  = 32               // of those, how many may wait before calls are dropped
	writeWait  = 10 * time.Second // for one frame, once online
	lateRead   = time.Second      // for what the server said before writing to it failed
)

// An outgoing is one frame to be written.
type outgoing struct {
	data []byte
	must bool // the connection ends rather than dropping it
	pong bool // WebSocket's own, not DDP's
	wipe bool // once written: the login holds the token
}

// put queues a frame for the writing goroutine and reports whether it will be
// written. It never waits. c.mu is held.
func (c *Conn) put(o outgoing) bool {
	if c.closed || c.end != nil || c.unsent != nil {
		return false
	}
	if !c.out.Put(o) {
		if o.must {
			c.failLocked(c.stuck(fmt.Sprintf("%d frames wait to be written", queueBound)))
		}
		return false
	}
	return true
}

// stuck is the End of a connection whose other side reads nothing. c.mu is held.
func (c *Conn) stuck(text string) *End {
	c.numb = true
	reason := healthcheck.Dropped
	if c.phase == connecting {
		reason = healthcheck.Unreachable
	}
	return ended(reason, "the server takes nothing: "+text)
}

// write runs on the writing goroutine, of which there is one at a time.
func (c *Conn) write(batch []outgoing) {
	for _, o := range batch {
		deadline, ok := c.writeDeadline()
		if !ok {
			return
		}
		var err error
		if o.pong {
			err = c.ws.WriteControl(websocket.PongMessage, o.data, deadline)
		} else {
			c.ws.SetWriteDeadline(deadline)
			err = c.ws.WriteMessage(websocket.TextMessage, o.data)
		}
		if o.wipe {
			clear(o.data)
		}
		if err != nil {
			c.notWritten(err, deadline)
			return
		}
	}
}

// writeDeadline is the absolute one until the connection is online. It reports
// false when nothing is to be written any more.
func (c *Conn) writeDeadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.end != nil || c.unsent != nil {
		return time.Time{}, false
	}
	if c.phase != online {
		return c.deadline, true
	}
	return time.Now().Add(writeWait), true
}

// notWritten ends a connection whose server takes nothing. Where it has hung up
// instead, the reading goroutine finds out why: a close frame, or a nosub, may
// have come before.
func (c *Conn) notWritten(err error, deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() && !time.Now().Before(deadline) {
		if c.phase == online {
			c.failLocked(c.stuck(fmt.Sprintf("a frame was not written within %s", writeWait)))
		}
		return // else the reading goroutine has the same deadline
	}
	if c.end == nil && c.unsent == nil && !c.closed {
		c.unsent = err
		c.ws.SetReadDeadline(time.Now().Add(lateRead))
	}
}

// send queues a frame that the connection can't do without.
func (c *Conn) send(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(outgoing{data: data, must: true, wipe: c.phase != online})
}

// wsPing answers a ping of the WebSocket's own, which is no sign of life. Under
// a flood of them some go unanswered, as RFC 6455 §5.5.3 allows.
func (c *Conn) wsPing(payload string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.Len() < callBound {
		c.put(outgoing{data: []byte(payload), pong: true})
	}
	return nil
}

package pretend

import (
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// An item is one thing to be written to a socket.
type item struct {
	op   int // a WebSocket opcode
	data []byte
	due  time.Time // not before; zero: at once
	end  *ending   // the last item: the socket is closed
}

// maxOutbox bounds what waits for a client that doesn't read. A real server
// would buffer on until it died; this one drops the socket.
const maxOutbox = 64 << 20

// An outbox is what waits to be written to one socket: anybody may push, only
// the session's writer takes. Pushing never waits, so that a slow reader
// stalls nobody but itself.
type outbox struct {
	mu    sync.Mutex
	items []item
	bytes int
	shut  bool
	held  []heldItem
	wake  chan struct{} // holds one token while there may be something to take
}

// heldItem is a frame that a fault keeps back.
type heldItem struct {
	by Kind
	it item
}

// push reports whether there was room.
func (o *outbox) push(it item) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return true
	}
	o.items = append(o.items, it)
	o.bytes += len(it.data)
	o.shut = it.end != nil
	o.signal()
	return o.bytes <= maxOutbox
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) take(into []item) []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	into, o.items = o.items, into[:0]
	o.bytes = 0
	return into
}

func (o *outbox) hold(k Kind, it item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, heldItem{k, it})
}

// release pushes what k had kept back.
func (o *outbox) release(k Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.held[:0]
	for _, h := range o.held {
		switch {
		case h.by != k:
			kept = append(kept, h)
		case !o.shut:
			o.items = append(o.items, h.it)
		}
	}
	o.held = kept
	o.signal()
}

// write is the session's writer. It returns when the last item was written,
// the socket failed or the session is over.
func (c *session) write() {
	var batch []item
	for {
		batch = c.out.take(batch)
		for i := range batch {
			if !c.wait(batch[i].due) || !c.writeItem(&batch[i]) {
				return
			}
			batch[i] = item{}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.out.wake:
		case <-c.over:
			c.flush()
			return
		}
	}
}

// flush writes what is left when the client has closed: most of all the answer
// to its close frame.
func (c *session) flush() {
	for _, it := range c.out.take(nil) {
		if !it.due.IsZero() || !c.writeItem(&it) {
			return
		}
	}
}

// wait returns false if the session was over before due.
func (c *session) wait(due time.Time) bool {
	d := time.Until(due)
	if due.IsZero() || d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.over:
		return false
	}
}

func (c *session) writeItem(it *item) bool {
	if it.end != nil {
		c.finish(*it.end)
		return false
	}
	var err error
	switch it.op {
	case websocket.PingMessage, websocket.PongMessage:
		err = c.conn.WriteControl(it.op, it.data, time.Now().Add(writeWait))
	default:
		data := it.data
		if c.sockJS && it.op == websocket.TextMessage {
			data = sockFrame(data)
		}
		err = c.conn.WriteMessage(it.op, data)
	}
	if err != nil {
		c.conn.Close()
		return false
	}
	return true
}

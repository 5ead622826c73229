package ddp

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"rcsupervisor/internal/lane"
)

// A Conn is one socket. Its exported methods may be called from any goroutine,
// also after its end.
type Conn struct {
	cfg   Config
	ws    *websocket.Conn
	wire  *wire
	pings string         // what the ids of this socket's own pings begin with
	work  sync.WaitGroup // the writing goroutine and the ping timer
	out   lane.Lane[outgoing]

	frames, malformed, calls atomic.Uint64

	mu            sync.Mutex // over all below, and over the read deadline
	silence, ping time.Duration
	deadline      time.Time // of `ready`
	phase         phase
	closed        bool
	numb          bool      // the other side reads nothing, or is not there
	last          time.Time // sign of life
	asked         bool      // whether we pinged since
	awaited       string    // the id of the last ping, until its pong came
	pinged        uint64
	timer         *time.Timer // of the next ping; nil until online
	end           *End        // decided on this side: nothing more is read
	unsent        error       // a write failed: what came before it may still be read
}

func newConn(cfg Config, ws *websocket.Conn, w *wire, deadline time.Time) *Conn {
	c := &Conn{
		cfg: cfg, ws: ws, wire: w, pings: "p-" + rand.Text()[:8] + "-",
		silence: cfg.Silence, ping: cfg.Ping, deadline: deadline,
	}
	c.out = lane.Lane[outgoing]{Do: c.write, Group: &c.work, Bound: queueBound}
	ws.SetReadLimit(cfg.MaxFrame)
	ws.SetReadDeadline(deadline)
	ws.SetCloseHandler(func(int, string) error { return nil }) // answered in close
	ws.SetPingHandler(c.wsPing)
	return c
}

// LastFrame returns when the last sign of life came: any DDP frame but a pong
// that was not waited for. It is zero before the first.
func (c *Conn) LastFrame() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Frames counts what was received, Malformed those of it that were not DDP:
// binary, not JSON, not an object.
func (c *Conn) Frames() uint64    { return c.frames.Load() }
func (c *Conn) Malformed() uint64 { return c.malformed.Load() }

// replyTime is what a sign of life that is asked for may take, at least, before
// a silence that was made shorter ends the connection.
const replyTime = 5 * time.Second

// SetHealth changes after which silence the connection ends, and after which it
// asks for a sign of life. Both are counted from the last one, so that the
// change holds at once; but no connection ends by it that was not asked first.
// See [Config] for their bounds.
func (c *Conn) SetHealth(silence, ping time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence, c.ping = health(silence, ping)
	c.watch(time.Now().Add(min(c.silence, replyTime)))
	if c.timer != nil && c.timer.Stop() {
		c.timer.Reset(time.Until(c.last.Add(c.ping)))
	}
}

// callBytes bounds a method call: they are for typing.
const callBytes = 8 << 10

// Call sends a method call whose result nobody waits for. It never blocks: it
// reports false, and the call is dropped, when the connection is not online or
// calls are still waiting to be written.
func (c *Conn) Call(method string, params ...any) bool {
	if params == nil {
		params = []any{}
	}
	b, err := json.Marshal(struct {
		Msg    string `json:"msg"`
		Method string `json:"method"`
		ID     string `json:"id"`
		Params []any  `json:"params"`
	}{"method", method, fmt.Sprintf("call-%d", c.calls.Add(1)), params})
	if err != nil || len(b) > callBytes {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == online && c.out.Len() < callBound && c.put(outgoing{data: b})
}

// fail ends the connection from this side, for the first reason given, and wakes
// the reading goroutine.
func (c *Conn) fail(e *End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(e)
}

func (c *Conn) failLocked(e *End) {
	if c.end == nil && !c.closed {
		c.end = e
		c.ws.SetReadDeadline(time.Unix(1, 0))
	}
}

// heard takes note of a DDP frame and reports whether to go on. A pong is a
// sign of life only when it answers this socket's last ping, and once: anything
// else may be the echo of another time (js.SDK#368, RC.ReactNative#7549).
func (c *Conn) heard(f *frame) bool {
	now := time.Now()
	pong := is(f.msg, "pong")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return false
	}
	if pong {
		if c.awaited == "" || !is(f.id, c.awaited) {
			return true
		}
		c.awaited = ""
	}
	c.last, c.asked = now, false
	c.watch(c.last)
	return true
}

// watch sets the read deadline by which silence is found, and not before least.
// Until the connection is online the one of `ready` stands.
func (c *Conn) watch(least time.Time) {
	if c.phase == online && c.end == nil && c.unsent == nil && !c.closed {
		deadline := c.last.Add(c.silence)
		if deadline.Before(least) {
			deadline = least
		}
		c.ws.SetReadDeadline(deadline)
	}
}

// reached notes how far the connection has come. Online, silence is watched
// for.
func (c *Conn) reached(p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = p
	if p == online {
		c.watch(c.last)
		c.work.Add(1)
		c.timer = time.AfterFunc(time.Until(c.last.Add(c.ping)), c.tick)
	}
}

// tick asks for a sign of life when none came for c.ping, once until one comes.
// The timer is not moved by every frame but looks, when it fires, how long it
// still has to wait.
func (c *Conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.work.Done()
		return
	}
	left := time.Until(c.last.Add(c.ping))
	if left <= 0 {
		left = c.ping
		if !c.asked {
			c.pinged++
			c.asked, c.awaited = true, fmt.Sprintf("%s%d", c.pings, c.pinged)
			c.put(outgoing{data: fmt.Appendf(nil, `{"msg":"ping","id":%q}`, c.awaited), must: true})
		}
	}
	c.timer.Reset(left)
}

// closeWait bounds the goodbye to a server that does not read (js.SDK#272).
const closeWait = time.Second

// close says goodbye where somebody may hear it, closes the socket, and waits
// for what the connection had started.
func (c *Conn) close(e *End) {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.work.Done()
	}
	numb := c.numb
	c.mu.Unlock()
	if !numb && e != nil {
		code := websocket.CloseNormalClosure
		if e.CloseCode > 0 {
			code = e.CloseCode
		}
		goodbye := websocket.FormatCloseMessage(code, "")
		if c.ws.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(closeWait)) == nil {
			c.ws.Close()
		}
	}
	c.wire.abort()
	c.work.Wait()
}
